// Bytes as hexadecimal text, two digits each: how a text section carries a binary blob.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Lower case, on one line that ends in LF.
std::string hex_text(std::span<const std::byte> bytes);

// Either case, ASCII white space anywhere. BadGraphSection with the offset of what is no digit, or for an odd count.
std::vector<std::byte> bytes_from_hex(std::string_view text, const std::string& where);

// Whether there is nothing but digits and white space in the text.
bool is_hex_text(std::string_view text);

}  // namespace weft
