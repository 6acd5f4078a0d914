// Small questions about the characters of UTF-8 text and of byte-level BPE's alphabet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::text {

inline constexpr std::string_view spm_space = "\xE2\x96\x81";  // U+2581, SentencePiece's visible space

// Bytes of the character that starts with `lead`, in well-formed UTF-8.
inline std::size_t character_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

// Appends `bytes` as well-formed UTF-8. Each longest piece that starts a character without completing it, and each
// byte that starts none, becomes one U+FFFD (Unicode 15, section 3.9, "maximal subparts").
void append_repaired(std::string& out, std::string_view bytes);

// Byte-level BPE writes each byte as a printable character: 33-126, 161-172 and 174-255 as the code point of the
// same number, the other 68, ascending, as U+0100 to U+0143.
void append_alphabet_character(std::string& out, std::uint8_t byte);
std::string to_alphabet(std::string_view bytes);
// The bytes that `text` writes; nothing if it holds anything but characters of the alphabet.
std::optional<std::string> from_alphabet(std::string_view text);

// The byte that a `<0xNN>` token stands for.
std::optional<std::uint8_t> byte_of_token(std::string_view text);

}  // namespace weft::text
