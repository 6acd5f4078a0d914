#include "weft/formats/hex_text.h"

#include <algorithm>

#include "weft/base/fail.h"

namespace weft {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

std::string hex_text(std::span<const std::byte> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size() + 1);
  for (const std::byte b : bytes) {
    text += digits[std::to_integer<unsigned>(b) >> 4];
    text += digits[std::to_integer<unsigned>(b) & 15];
  }
  text += '\n';
  return text;
}

std::vector<std::byte> bytes_from_hex(std::string_view text, const std::string& where) {
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  int high = -1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_space(text[i])) continue;
    const int digit = digit_of(text[i]);
    if (digit < 0)
      fail(ErrorKind::bad_file, "BadGraphSection", where, "byte {} of the section is no hexadecimal digit", i);
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::byte>(high << 4 | digit));
      high = -1;
    }
  }
  if (high >= 0)
    fail(ErrorKind::bad_file, "BadGraphSection", where,
         "the section ends in the middle of a byte: an odd number of digits");
  return bytes;
}

bool is_hex_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_space(c) || digit_of(c) >= 0; });
}

}  // namespace weft
