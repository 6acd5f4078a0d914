// SentencePiece's unigram model: of all ways to cut a text into pieces, the one with the highest sum of scores.
// Immutable; safe to share between threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "weft/text/token_table.h"
#include "weft/text/vocabulary.h"

namespace weft::text {

class Unigram {
 public:
  // How sums are kept, which decides between cuts that are equal or nearly so, and what the scores are.
  enum class Arithmetic {
    exact,          // f64, the scores as stored: the tokenizers library
    sentencepiece,  // sums rounded to f32; a user-defined piece scores 0.1 below its bytes times the highest score
  };

  // `tokens` must outlive this. LimitExceeded for a piece of more than 1,024 bytes.
  explicit Unigram(const TokenTable& tokens, Arithmetic arithmetic = Arithmetic::exact);

  // Visits the pieces of `text`, which is well-formed UTF-8, in order with their ids; a character that no piece covers
  // with the id -1. It counts as a piece with 10 less than the lowest score. Of equal sums the one with the longer last
  // piece is taken.
  void cut(std::string_view text, const std::function<void(std::string_view piece, std::int32_t id)>& visit) const;

 private:
  struct Piece {
    std::string_view bytes;
    std::int32_t id;
    double score;
  };
  // Calls `visit` with each piece that `text` starts with, the shortest first.
  template <class Visit>
  void each_prefix(std::string_view text, Visit visit) const;

  std::vector<Piece> pieces_;  // sorted by bytes
  std::vector<std::uint32_t> first_;
  double unknown_score_ = -10;
  Arithmetic arithmetic_;
};

}  // namespace weft::text
