#include "weft/formats/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/base/fail.h"

namespace weft {
namespace {

constexpr std::string_view base64_alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> base64_values = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < base64_alphabet.size(); ++i)
    values[static_cast<unsigned char>(base64_alphabet[i])] = static_cast<std::int8_t>(i);
  return values;
}();

}  // namespace

std::string base64_decode(std::string_view text, const std::string& where) {
  if (text.size() % 4 != 0)
    fail(ErrorKind::bad_file, "Bad64Length", where, "base64 comes in groups of 4 characters, found {} characters",
         text.size());
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool padded = at >= text.size() - padding;
    const int value = padded ? 0 : base64_values[static_cast<unsigned char>(text[at])];
    if (value < 0)
      fail(ErrorKind::bad_file, "Bad64Digit", fmt::format("{}@{:#x}", where, at),
           "expected a base64 digit, found the byte {:#04x}", static_cast<unsigned char>(text[at]));
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (at % 4 != 3) continue;
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(bits >> shift & 0xFF);
    bits = 0;
  }
  const std::size_t size = bytes.size() - padding;
  for (std::size_t at = size; at < bytes.size(); ++at)
    if (bytes[at] != '\0')
      fail(ErrorKind::bad_file, "Bad64Digit", fmt::format("{}@{:#x}", where, text.size() - padding - 1),
           "the last digit has bits that belong to no byte; they must be 0");
  bytes.resize(size);
  return bytes;
}

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i)
      text += at + i > bytes.size() ? '=' : base64_alphabet[bits >> (18 - 6 * i) & 0x3F];
  }
  return text;
}

}  // namespace weft
