# Warnings are errors, but not where the sanitizers' extra code leads GCC to false ones.
function(weft_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough
                         -Wno-restrict) # GCC 12 warns wrongly about string concatenation (PR 105329)
  if(NOT WEFT_SANITIZE)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
