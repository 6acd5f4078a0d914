// The hexadecimal spelling of a blob in a text section.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"

namespace weft {

// Either case; ASCII white space anywhere is skipped. HexBadDigit, HexOddLength; positions count bytes of `text`.
WEFT_API std::vector<std::byte> hex_decode(std::string_view text, const std::string& source = "graph");
// Lower case, on one line without an end of line.
WEFT_API std::string hex_encode(std::span<const std::byte> bytes);
// Whether there is nothing but digits and white space in the text.
bool is_hex(std::string_view text);

}  // namespace weft
