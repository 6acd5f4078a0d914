#include "weft/base/utf8.h"

#include <algorithm>

namespace weft {
namespace {

struct Sequence {
  std::size_t length = 0;                 // 0: the lead byte cannot start a character
  unsigned char low = 0x80, high = 0xBF;  // range of the second byte
};

Sequence sequence_of(unsigned char lead) {
  if (lead < 0x80) return {1};
  if (lead < 0xC2) return {};
  if (lead < 0xE0) return {2};
  if (lead < 0xF0)
    return {3, static_cast<unsigned char>(lead == 0xE0 ? 0xA0 : 0x80),
            static_cast<unsigned char>(lead == 0xED ? 0x9F : 0xBF)};
  if (lead < 0xF5)
    return {4, static_cast<unsigned char>(lead == 0xF0 ? 0x90 : 0x80),
            static_cast<unsigned char>(lead == 0xF4 ? 0x8F : 0xBF)};
  return {};
}

// How many bytes at the start of `text` fit the character that its first byte announces.
std::size_t matching(std::string_view text, const Sequence& sequence) {
  std::size_t n = 1;
  while (n < sequence.length && n < text.size()) {
    const auto byte = static_cast<unsigned char>(text[n]);
    const bool fits = n == 1 ? byte >= sequence.low && byte <= sequence.high : byte >= 0x80 && byte <= 0xBF;
    if (!fits) break;
    ++n;
  }
  return n;
}

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Sequence sequence = sequence_of(static_cast<unsigned char>(text[at]));
    if (sequence.length == 0 || matching(text.substr(at), sequence) < sequence.length) return at;
    at += sequence.length;
  }
  return std::nullopt;
}

std::size_t complete_utf8_prefix(std::string_view text) {
  const std::size_t from = text.size() - std::min<std::size_t>(text.size(), 3);
  for (std::size_t at = from; at < text.size(); ++at) {
    const Sequence sequence = sequence_of(static_cast<unsigned char>(text[at]));
    if (sequence.length <= text.size() - at) continue;
    if (matching(text.substr(at), sequence) == text.size() - at) return at;
  }
  return text.size();
}

}  // namespace weft
