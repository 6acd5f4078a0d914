# Warnings are errors. The sanitizers' build shows none: its compiler is another one, and their extra code leads it to
# false ones.
function(weft_warnings target)
  if(WEFT_SANITIZE)
    target_compile_options(${target} PRIVATE -w)
    return()
  endif()
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough
                         # GCC 12 warns wrongly about string concatenation (PR 105329), and takes the sources that a
                         # unity build includes for headers.
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-subobject-linkage> -Werror)
endfunction()
