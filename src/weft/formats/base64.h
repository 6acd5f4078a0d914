// The base64 spelling of bytes in a text file (RFC 4648, section 4: the standard alphabet, with padding).
#pragma once

#include <string>
#include <string_view>

#include "weft/base/export.h"

namespace weft {

// Bad64Digit, Bad64Length: what RFC 4648 does not allow, white space included; `where` stands in errors, positions
// count bytes of `text`.
WEFT_API std::string base64_decode(std::string_view text, const std::string& where);
WEFT_API std::string base64_encode(std::string_view bytes);

}  // namespace weft
