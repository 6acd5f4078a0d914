#include "weft/text/word_piece.h"

#include <algorithm>
#include <string>

#include "weft/base/fail.h"
#include "weft/text/code_points.h"

namespace weft::text {
namespace {

constexpr std::size_t longest_word = 100;  // characters; a longer one is unknown, as in BERT's own tokenizer

bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

// BERT counts all of ASCII's symbols.
bool separates(char32_t c) {
  return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126) ||
         is_punctuation(c);
}

}  // namespace

WordPiece::WordPiece(const TokenTable& tokens, const Vocabulary& vocabulary)
    : tokens_(tokens), lower_case_(vocabulary.lower_case) {}

std::u32string WordPiece::cleaned(std::string_view text) const {
  std::u32string out;
  for (const char32_t c : to_code_points(text)) {
    if (is_white_space(c) && (c <= '\r' || c >= ' ')) {
      out += U' ';
    } else if (c == 0xFFFD || is_other(c)) {
      continue;
    } else if (is_ideograph(c)) {
      ((out += U' ') += c) += U' ';
    } else {
      out += c;
    }
  }
  if (!lower_case_) return out;
  // The order of the marks does not matter: they go.
  std::u32string bare, parts;
  for (const char32_t c : out) {
    parts.clear();
    append_decomposed(parts, c);
    for (const char32_t part : parts)
      if (!is_nonspacing_mark(part)) bare += lower(part);
  }
  return bare;
}

void WordPiece::encode(std::string_view text, std::optional<std::int32_t> unknown,
                       std::vector<std::int32_t>& ids) const {
  const std::u32string all = cleaned(text);
  const auto take = [&](std::size_t begin, std::size_t end) {
    if (begin == end) return;
    const std::u32string_view word = std::u32string_view(all).substr(begin, end - begin);
    if (encode_word(word, ids)) return;
    if (!unknown)
      fail(ErrorKind::invalid_argument, "UnencodableSymbol", "text",
           "the vocabulary has no tokens for the word \"{}\" and no unknown token", to_utf8(word.substr(0, 100)));
    ids.push_back(*unknown);
  };
  std::size_t begin = 0;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const bool alone = separates(all[at]);
    if (!alone && all[at] != U' ') continue;
    take(begin, at);
    if (alone) take(at, at + 1);
    begin = at + 1;
  }
  take(begin, all.size());
}

bool WordPiece::encode_word(std::u32string_view word, std::vector<std::int32_t>& ids) const {
  if (word.size() > longest_word) return false;
  const std::size_t before = ids.size();
  for (std::size_t begin = 0; begin < word.size();) {
    std::size_t end = word.size();
    std::int32_t id = -1;
    for (; end > begin && id < 0; --end) {
      const std::string piece = (begin == 0 ? " " : "") + to_utf8(word.substr(begin, end - begin));
      if (const std::uint32_t symbol = tokens_.symbols.find(piece); symbol != StringTable::none)
        id = tokens_.encoded_as(symbol);
    }
    if (id < 0) {
      ids.resize(before);
      return false;
    }
    ids.push_back(id);
    begin = end + 1;
  }
  return true;
}

bool is_uncased(const Vocabulary& vocabulary) {
  return std::none_of(vocabulary.entries.begin(), vocabulary.entries.end(), [](const VocabularyEntry& entry) {
    // Names in brackets ("[CLS]", "[unused0]") are no words.
    if (entry.kind != TokenKind::normal || entry.text.starts_with('[')) return false;
    const std::u32string text = to_code_points(entry.text);
    return std::any_of(text.begin(), text.end(), [](char32_t c) { return lower(c) != c; });
  });
}

}  // namespace weft::text
