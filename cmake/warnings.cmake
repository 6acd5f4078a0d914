# Warnings are errors, but not where the sanitizers' extra code leads the compiler to false ones.
function(weft_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough
                         # GCC 12 warns wrongly about string concatenation (PR 105329), and takes the sources that a
                         # unity build includes for headers.
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-subobject-linkage>)
  if(NOT WEFT_SANITIZE)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
