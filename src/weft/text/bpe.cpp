#include "weft/text/bpe.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "weft/text/characters.h"

namespace weft::text {
namespace {

constexpr std::uint32_t none = StringTable::none;

bool earlier(const Bpe::Candidate& a, const Bpe::Candidate& b) { return a.order < b.order; }
bool later(const Bpe::Candidate& a, const Bpe::Candidate& b) { return a.order > b.order; }
std::uint64_t order_of(std::uint32_t rank, std::uint32_t left) { return std::uint64_t{rank} << 32 | left; }

}  // namespace

Bpe::Bpe(TokenTable& tokens, const Vocabulary& vocabulary)
    : tokens_(tokens),
      from_bytes_(vocabulary.type == TokenizerType::byte_level_bpe),
      by_score_(!from_bytes_ && vocabulary.merges.empty()) {
  for (std::size_t byte = 0; byte < byte_symbol_.size(); ++byte) {
    const char c = static_cast<char>(byte);
    byte_symbol_[byte] = tokens.symbols.intern({&c, 1});
  }
  if (by_score_)
    rank_by_score();
  else
    add_merges(tokens, vocabulary);
}

void Bpe::add_merges(TokenTable& tokens, const Vocabulary& vocabulary) {
  // In the form of TokenTable::symbols. Nothing for a string that no text can ever lead to.
  const auto surface = [&](const std::string& text) -> std::optional<std::string> {
    if (text.empty()) return std::nullopt;
    if (from_bytes_) return from_alphabet(text);
    if (text.find(' ') != std::string::npos) return std::nullopt;
    return replace_all(text, spm_space, " ");
  };
  merges_.reserve(vocabulary.merges.size());
  std::uint32_t rank = 0;
  for (const auto& [left_text, right_text] : vocabulary.merges) {
    const std::optional<std::string> left = surface(left_text), right = surface(right_text);
    const std::uint32_t this_rank = rank++;
    if (!left || !right) continue;
    const std::uint32_t l = tokens.symbols.intern(*left), r = tokens.symbols.intern(*right);
    merges_.add(l, r, {this_rank, tokens.symbols.intern(*left + *right)});
  }
}

void Bpe::rank_by_score() {
  // Equal scores share a rank; a score that is no number comes last.
  const auto score_of = [](const Token& token) {
    return std::isnan(token.score) ? -std::numeric_limits<float>::infinity() : token.score;
  };
  std::vector<float> scores;
  const auto each_encodable = [&](const auto& visit) {
    for (const Token& token : tokens_.tokens())
      if (tokens_.encoded_as(token.piece) == token.id) visit(token);
  };
  each_encodable([&](const Token& token) {
    scores.push_back(score_of(token));
    longest_ = std::max(longest_, tokens_.symbols[token.piece].size());
  });
  std::sort(scores.begin(), scores.end(), std::greater<>());
  score_rank_.resize(tokens_.symbols.size());
  each_encodable([&](const Token& token) {
    const auto at = std::lower_bound(scores.begin(), scores.end(), score_of(token), std::greater<>());
    score_rank_[token.piece] = static_cast<std::uint32_t>(at - scores.begin());
  });
}

// The merge of node `left` and its neighbor, if there is one.
std::optional<Bpe::Candidate> Bpe::candidate(std::string_view piece, std::uint32_t left,
                                             const std::vector<Node>& nodes) const {
  const Node& a = nodes[left];
  if (a.next == none) return std::nullopt;
  const Node& b = nodes[a.next];
  const std::uint32_t length = a.length + b.length;
  if (by_score_) {
    if (length > longest_) return std::nullopt;
    const std::uint32_t symbol = tokens_.symbols.find(piece.substr(a.begin, length));
    if (symbol == none || tokens_.encoded_as(symbol) < 0) return std::nullopt;
    return Candidate{order_of(score_rank_[symbol], left), length, symbol};
  }
  if (a.symbol == none || b.symbol == none) return std::nullopt;
  const MergeTable::Merge* merge = merges_.find(a.symbol, b.symbol);
  if (merge == nullptr) return std::nullopt;
  return Candidate{order_of(merge->rank, left), length, merge->symbol};
}

void Bpe::split(std::string_view piece, std::vector<Node>& nodes) const {
  nodes.clear();
  for (std::uint32_t at = 0; at < piece.size();) {
    const auto number = static_cast<std::uint32_t>(nodes.size());
    Node node{at, 1, number + 1, number - 1, none};  // 0 - 1 is none
    if (from_bytes_) {
      node.symbol = byte_symbol_[static_cast<unsigned char>(piece[at])];
    } else {
      node.length = static_cast<std::uint32_t>(std::min(character_length(piece[at]), piece.size() - at));
      node.symbol = tokens_.symbols.find(piece.substr(at, node.length));
    }
    at += node.length;
    nodes.push_back(node);
  }
  nodes.back().next = none;
}

void Bpe::merge(std::string_view piece, Scratch& scratch) const {
  auto& [nodes, initial, heap] = scratch;
  split(piece, nodes);
  initial.clear();
  heap.clear();
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    if (const auto found = candidate(piece, i, nodes)) initial.push_back(*found);
  if (!std::is_sorted(initial.begin(), initial.end(), earlier)) std::sort(initial.begin(), initial.end(), earlier);
  const auto consider = [&](std::uint32_t left) {
    const auto found = candidate(piece, left, nodes);
    if (!found) return;
    heap.push_back(*found);
    std::push_heap(heap.begin(), heap.end(), later);
  };
  for (auto next = initial.cbegin(); next != initial.cend() || !heap.empty();) {
    Candidate best;
    if (heap.empty() || (next != initial.cend() && next->order < heap.front().order)) {
      best = *next++;
    } else {
      std::pop_heap(heap.begin(), heap.end(), later);
      best = heap.back();
      heap.pop_back();
    }
    Node& left = nodes[best.left()];
    // Nodes only grow, so an unchanged sum of lengths means an unchanged pair.
    if (left.length == 0 || left.next == none || left.length + nodes[left.next].length != best.length) continue;
    Node& right = nodes[left.next];
    left.length = best.length;
    left.symbol = best.symbol;
    left.next = right.next;
    right.length = 0;
    if (left.next != none) nodes[left.next].previous = best.left();
    if (left.previous != none) consider(left.previous);
    consider(best.left());
  }
}

}  // namespace weft::text
