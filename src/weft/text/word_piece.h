// WordPiece, BERT's tokenizer: words are told apart by white space, punctuation and CJK characters, then each is cut
// into the longest pieces from the left. Immutable; safe to share between threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/text/token_table.h"
#include "weft/text/vocabulary.h"

namespace weft::text {

class WordPiece {
 public:
  // `tokens` must outlive this. Its symbols hold the first piece of a word behind a space, later ones bare.
  WordPiece(const TokenTable& tokens, const Vocabulary& vocabulary);

  // Appends the ids of `text`, well-formed UTF-8. A word that no pieces make up is one unknown token;
  // UnencodableSymbol where the vocabulary has none.
  void encode(std::string_view text, std::optional<std::int32_t> unknown, std::vector<std::int32_t>& ids) const;

 private:
  std::u32string cleaned(std::string_view text) const;
  bool encode_word(std::u32string_view word, std::vector<std::int32_t>& ids) const;

  const TokenTable& tokens_;
  bool lower_case_;
};

// Whether the vocabulary knows no capital letters: its texts are written without capitals and accents first.
bool is_uncased(const Vocabulary& vocabulary);

}  // namespace weft::text
