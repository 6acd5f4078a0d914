# Warnings are errors; the sanitizers are one option for every target.
function(weft_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough -Werror
                         -Wno-restrict) # GCC 12 warns wrongly about string concatenation (PR 105329)
endfunction()

if(WEFT_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
