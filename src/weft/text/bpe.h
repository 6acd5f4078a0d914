// Byte-pair encoding proper: cuts a piece of text into symbols and merges them, the best pair first, leftmost on
// ties. O(n log n) in the length of the piece. Immutable; a Scratch belongs to one call at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/text/merge_table.h"
#include "weft/text/token_table.h"
#include "weft/text/vocabulary.h"

namespace weft::text {

class Bpe {
 public:
  struct Node {
    std::uint32_t begin = 0, length = 0;  // bytes of the piece; length 0 once merged into the node before
    std::uint32_t next = 0, previous = 0;
    std::uint32_t symbol = 0;  // StringTable::none for a character that occurs in no token and no merge
  };
  // Two neighbors that may be merged. They are still the same two while their lengths still sum to `length`.
  struct Candidate {
    std::uint64_t order = 0;  // rank above the number of the left node: the lowest is merged first
    std::uint32_t length = 0, symbol = 0;
    std::uint32_t left() const { return static_cast<std::uint32_t>(order); }
  };
  struct Scratch {
    std::vector<Node> nodes;
    std::vector<Candidate> initial;  // of the pairs that the piece starts with, sorted
    std::vector<Candidate> heap;     // of those that merging brought about
  };

  // Interns what the merges name in `tokens`, which must outlive this. Byte-level starts from single bytes,
  // SentencePiece from characters. Without merges the scores rank: a pair merges if its joined text is a token.
  Bpe(TokenTable& tokens, const Vocabulary& vocabulary);

  // Leaves the symbols of `piece` in scratch.nodes, linked by `next` from node 0; the end is StringTable::none.
  // `piece` is not empty and shorter than 2^31 bytes.
  void merge(std::string_view piece, Scratch& scratch) const;

 private:
  void add_merges(TokenTable& tokens, const Vocabulary& vocabulary);
  void rank_by_score();
  std::optional<Candidate> candidate(std::string_view piece, std::uint32_t left, const std::vector<Node>& nodes) const;
  void split(std::string_view piece, std::vector<Node>& nodes) const;

  const TokenTable& tokens_;
  bool from_bytes_;
  bool by_score_;
  std::array<std::uint32_t, 256> byte_symbol_{};
  MergeTable merges_;
  std::vector<std::uint32_t> score_rank_;  // by symbol
  std::size_t longest_ = 0;                // bytes of the longest token that text can become
};

}  // namespace weft::text
