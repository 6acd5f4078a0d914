#include "weft/formats/hex.h"

#include <algorithm>

#include "weft/base/fail.h"

namespace weft {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::vector<std::byte> hex_decode(std::string_view text, const std::string& source) {
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  int high = -1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_space(text[at])) continue;
    const int value = digit(text[at]);
    if (value < 0)
      fail(ErrorKind::bad_file, "HexBadDigit", fmt::format("{}@{:#x}", source, at),
           "expected hexadecimal digits and white space, found the byte {:#04x}", static_cast<unsigned char>(text[at]));
    if (high < 0) {
      high = value;
    } else {
      bytes.push_back(static_cast<std::byte>(high * 16 + value));
      high = -1;
    }
  }
  if (high >= 0)
    fail(ErrorKind::bad_file, "HexOddLength", source, "a byte takes two hexadecimal digits; {} digits are an odd count",
         bytes.size() * 2 + 1);
  return bytes;
}

std::string hex_encode(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += digits[std::to_integer<unsigned>(byte) >> 4];
    text += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_space(c) || digit(c) >= 0; });
}

}  // namespace weft
