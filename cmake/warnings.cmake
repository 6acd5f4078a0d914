# Warnings are errors, but not where the sanitizers' extra code leads the compiler to false ones.
function(weft_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>) # GCC 12 warns wrongly about string concatenation (PR 105329)
  if(NOT WEFT_SANITIZE AND NOT WEFT_FUZZ)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
