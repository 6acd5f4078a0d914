// The tokens of a vocabulary: ids, kinds, what each is written as and which bytes it stands for, and which pieces of
// text may become which token. Checks the vocabulary (BadVocab, LimitExceeded). Immutable once a tokenizer is built.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/text/special_matcher.h"
#include "weft/text/string_table.h"
#include "weft/text/vocabulary.h"

namespace weft::text {

struct Token {
  std::int32_t id = 0;
  TokenKind kind = TokenKind::normal;
  float score = 0;
  std::uint32_t text = 0;   // as stored, a number of TokenTable::texts
  std::uint32_t piece = 0;  // the bytes it stands for, a number of TokenTable::symbols
};

class TokenTable {
 public:
  explicit TokenTable(const Vocabulary& vocabulary);

  const std::vector<Token>& tokens() const { return tokens_; }  // ascending ids
  const Token* find_id(std::int32_t id) const;                  // nullptr: no such token
  const Token* find_text(std::string_view text) const;          // the lowest id that is stored as `text`

  StringTable texts;
  // Byte strings that take part in tokenizing. SentencePiece's U+2581 is a space here, byte-level BPE's alphabet is
  // the bytes it stands for.
  StringTable symbols;
  // The token that text equal to a symbol becomes; -1 for none. Control, unknown, byte and unused tokens are never
  // the result of plain text. Symbols interned later have no token.
  std::int32_t encoded_as(std::uint32_t symbol) const { return symbol < encoded_as_.size() ? encoded_as_[symbol] : -1; }
  std::int32_t byte_token(std::uint8_t byte) const { return byte_tokens_[byte]; }  // the id of <0xNN>, or -1

  // What is cut out of a text whole: user-defined tokens always, control and unknown tokens on request.
  std::vector<SpecialMatcher::Entry> special_entries(bool with_control) const;

 private:
  void add(const VocabularyEntry& entry, TokenKind kind, const Vocabulary& vocabulary);
  void index_ids();

  std::vector<Token> tokens_;
  std::vector<std::uint32_t> dense_;  // id to index for ids below 4 * count, StringTable::none where there is none
  std::unordered_map<std::int32_t, std::uint32_t> sparse_;  // the ids above
  std::vector<std::uint32_t> first_with_text_;              // by number of the text
  std::vector<std::int32_t> encoded_as_;
  std::array<std::int32_t, 256> byte_tokens_{};
};

}  // namespace weft::text
