#include "weft/text/characters.h"

#include <array>

#include "weft/base/utf8.h"

namespace weft::text {
namespace {

constexpr bool writes_itself(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

constexpr int alphabet_size = 0x144;

struct Alphabet {
  std::array<std::uint16_t, 256> code_point{};
  std::array<std::int16_t, alphabet_size> byte{};  // -1: no character of the alphabet
};

constexpr Alphabet alphabet = [] {
  Alphabet a;
  a.byte.fill(-1);
  std::uint16_t moved = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const auto code_point = writes_itself(byte) ? static_cast<std::uint16_t>(byte) : moved++;
    a.code_point[static_cast<std::size_t>(byte)] = code_point;
    a.byte[code_point] = static_cast<std::int16_t>(byte);
  }
  return a;
}();
static_assert(alphabet.code_point[' '] == 0x120 && alphabet.code_point['\n'] == 0x10A &&
              alphabet.code_point[173] == 0x143);

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0;;) {
    const std::size_t found = text.find(from, at);
    out += text.substr(at, found - at);
    if (found == std::string_view::npos) return out;
    out += to;
    at = found + from.size();
  }
}

void append_repaired(std::string& out, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::optional<std::size_t> bad = find_invalid_utf8(bytes);
    out += bytes.substr(0, bad.value_or(bytes.size()));
    if (!bad) return;
    bytes.remove_prefix(*bad);
    std::size_t length = 1;
    for (std::size_t n = 1; n <= 3 && n <= bytes.size(); ++n)
      if (complete_utf8_prefix(bytes.substr(0, n)) == 0) length = n;
    out += "\xEF\xBF\xBD";
    bytes.remove_prefix(length);
  }
}

void append_alphabet_character(std::string& out, std::uint8_t byte) {
  const std::uint16_t code_point = alphabet.code_point[byte];
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else {
    out += static_cast<char>(0xC0 | code_point >> 6);
    out += static_cast<char>(0x80 | (code_point & 0x3F));
  }
}

std::string to_alphabet(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) append_alphabet_character(out, static_cast<std::uint8_t>(byte));
  return out;
}

std::optional<std::string> from_alphabet(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t code_point = static_cast<unsigned char>(text[at++]);
    if (code_point >= 0x80) {
      // The whole alphabet lies below U+0800: two bytes a character.
      if (code_point < 0xC2 || code_point > 0xDF || at == text.size()) return std::nullopt;
      const auto second = static_cast<unsigned char>(text[at++]);
      if ((second & 0xC0) != 0x80) return std::nullopt;
      code_point = (code_point & 0x1F) << 6 | (second & 0x3F);
    }
    if (code_point >= alphabet_size || alphabet.byte[code_point] < 0) return std::nullopt;
    out += static_cast<char>(alphabet.byte[code_point]);
  }
  return out;
}

std::optional<std::uint8_t> byte_of_token(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return std::nullopt;
  const int high = hex_digit(text[3]), low = hex_digit(text[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<std::uint8_t>(high << 4 | low);
}

}  // namespace weft::text
