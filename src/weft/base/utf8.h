// UTF-8 checks shared by file readers and tokenizers.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "weft/base/export.h"

namespace weft {

// Offset of the first byte that is not part of well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms,
// at most U+10FFFF); nothing when all of it is.
WEFT_API std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// Length of the longest prefix that does not end inside a character. A tail that cannot become a character
// any more counts as complete.
WEFT_API std::size_t complete_utf8_prefix(std::string_view text);

}  // namespace weft
