// Small vocabularies for the tests of this room.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/text/characters.h"
#include "weft/text/vocabulary.h"

namespace weft::text {

// One token for each byte (its value is its id), then one for what each merge makes.
inline Vocabulary byte_level_vocabulary(std::vector<std::pair<std::string, std::string>> merges = {},
                                        std::string pre = "gpt2") {
  Vocabulary vocabulary;
  vocabulary.type = TokenizerType::byte_level_bpe;
  vocabulary.pre = std::move(pre);
  std::int32_t id = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    vocabulary.entries.push_back({id++, to_alphabet({&c, 1})});
  }
  for (const auto& [left, right] : merges) vocabulary.entries.push_back({id++, left + right});
  vocabulary.merges = std::move(merges);
  return vocabulary;
}

// <unk> 0, <s> 1, </s> 2, the bytes from 3 if wanted, then the pieces, each scored below the one before.
inline Vocabulary spm_vocabulary(const std::vector<std::string>& pieces, bool bytes = true) {
  Vocabulary vocabulary;
  vocabulary.type = TokenizerType::spm_bpe;
  vocabulary.has_scores = true;
  vocabulary.byte_fallback = bytes;
  vocabulary.bos = 1;
  vocabulary.eos = {2};
  vocabulary.unk = 0;
  vocabulary.add_bos = true;
  vocabulary.entries = {
      {0, "<unk>", 0, TokenKind::unknown}, {1, "<s>", 0, TokenKind::control}, {2, "</s>", 0, TokenKind::control}};
  std::int32_t id = 3;
  for (std::size_t byte = 0; bytes && byte < 256; ++byte) {
    static constexpr std::string_view digits = "0123456789ABCDEF";
    const std::string text = {'<', '0', 'x', digits[byte / 16], digits[byte % 16], '>'};
    vocabulary.entries.push_back({id++, text, 0, TokenKind::byte});
  }
  float score = 0;
  for (const std::string& piece : pieces) vocabulary.entries.push_back({id++, piece, --score});
  return vocabulary;
}

inline std::string random_utf8(std::mt19937& random, std::size_t characters) {
  std::string out;
  for (std::size_t i = 0; i < characters; ++i) {
    static constexpr std::uint32_t limits[] = {0x80, 0x800, 0x10000, 0x110000};
    std::uint32_t c = random() % limits[random() % 4];
    if (c >= 0xD800 && c < 0xE000) c = ' ';
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3F)); };
    if (c < 0x80)
      out += static_cast<char>(c);
    else if (c < 0x800)
      out += {static_cast<char>(0xC0 | c >> 6), tail(0)};
    else if (c < 0x10000)
      out += {static_cast<char>(0xE0 | c >> 12), tail(6), tail(0)};
    else
      out += {static_cast<char>(0xF0 | c >> 18), tail(12), tail(6), tail(0)};
  }
  return out;
}

// A whole one that is small: ids with a gap, a merge, a control token that ends texts.
inline Vocabulary four_token_vocabulary() {
  Vocabulary vocabulary;
  vocabulary.type = TokenizerType::byte_level_bpe;
  vocabulary.pre = "gpt2";
  vocabulary.entries = {{0, "a"}, {1, "b"}, {2, "ab"}, {5, "<|im_end|>", 0, TokenKind::control}};
  vocabulary.merges = {{"a", "b"}};
  vocabulary.eos = {5};
  return vocabulary;
}

// The code of the error that `action` throws, "" for none.
inline std::string error_code(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

}  // namespace weft::text
