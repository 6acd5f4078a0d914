#include "weft/text/unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/fail.h"
#include "weft/text/characters.h"

namespace weft::text {
namespace {

constexpr std::size_t longest_piece = 1024;
constexpr double unknown_penalty = 10;

unsigned char byte_at(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

}  // namespace

Unigram::Unigram(const TokenTable& tokens, Arithmetic arithmetic) : arithmetic_(arithmetic) {
  const bool sentencepiece = arithmetic == Arithmetic::sentencepiece;
  double lowest = std::numeric_limits<double>::infinity();
  // Scores are logarithms of probabilities; SentencePiece's highest is never below the least positive float.
  float highest = std::numeric_limits<float>::min();
  for (const Token& token : tokens.tokens()) {
    if (tokens.encoded_as(token.piece) != token.id) continue;
    const std::string_view bytes = tokens.symbols[token.piece];
    if (bytes.size() > longest_piece)
      fail(ErrorKind::bad_file, "LimitExceeded", fmt::format("vocabulary token {}", token.id),
           "{} bytes, a piece of a unigram vocabulary has {} at most", bytes.size(), longest_piece);
    const double score = std::isfinite(token.score) ? static_cast<double>(token.score) : -1e30;
    if (!sentencepiece || token.kind == TokenKind::normal) {
      lowest = std::min(lowest, score);
      highest = std::max(highest, static_cast<float>(score));
    }
    pieces_.push_back({bytes, token.id, score});
  }
  if (lowest != std::numeric_limits<double>::infinity()) unknown_score_ = lowest - unknown_penalty;
  for (Piece& piece : pieces_) {
    const Token& token = *tokens.find_id(piece.id);
    if (sentencepiece && token.kind == TokenKind::user_defined)
      piece.score = static_cast<double>(static_cast<float>(tokens.texts[token.text].size()) * highest) - 0.1;
  }
  std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) { return a.bytes < b.bytes; });
  first_.assign(257, 0);
  for (const Piece& piece : pieces_) ++first_[byte_at(piece.bytes, 0) + 1u];
  for (std::size_t byte = 0; byte < 256; ++byte) first_[byte + 1] += first_[byte];
}

template <class Visit>
void Unigram::each_prefix(std::string_view text, Visit visit) const {
  auto begin = pieces_.begin() + first_[byte_at(text, 0)], end = pieces_.begin() + first_[byte_at(text, 0) + 1u];
  for (std::size_t length = 1; begin != end; ++length) {
    if (begin->bytes.size() == length) visit(*begin++);
    if (length == text.size()) return;
    const unsigned char next = byte_at(text, length);
    const auto before = [length](const Piece& piece, unsigned char byte) {
      return byte_at(piece.bytes, length) < byte;
    };
    const auto after = [length](unsigned char byte, const Piece& piece) { return byte < byte_at(piece.bytes, length); };
    begin = std::lower_bound(begin, end, next, before);
    end = std::upper_bound(begin, end, next, after);
  }
}

void Unigram::cut(std::string_view text, const std::function<void(std::string_view, std::int32_t)>& visit) const {
  constexpr std::uint32_t nowhere = 0xFFFFFFFF;
  struct Best {
    double score = 0;               // of the text up to here
    std::uint32_t begin = nowhere;  // of the last piece
    std::int32_t id = -1;
  };
  const bool rounded = arithmetic_ == Arithmetic::sentencepiece;
  const auto kept = [rounded](double sum) { return rounded ? static_cast<double>(static_cast<float>(sum)) : sum; };
  std::vector<Best> best(text.size() + 1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t character = std::min(character_length(text[at]), text.size() - at);
    const double before = best[at].score;
    // A sum is compared before it is rounded, as SentencePiece does it.
    const auto offer = [&](std::size_t length, double score, std::int32_t id) {
      Best& end = best[at + length];
      if (end.begin == nowhere || score > end.score) end = {kept(score), static_cast<std::uint32_t>(at), id};
    };
    bool covered = false;
    each_prefix(text.substr(at), [&](const Piece& piece) {
      offer(piece.bytes.size(), before + piece.score, piece.id);
      covered = covered || piece.bytes.size() == character;
    });
    if (!covered) offer(character, kept(before + kept(unknown_score_)), -1);
    at += character;
  }
  std::vector<std::uint32_t> ends;
  for (std::size_t end = text.size(); end > 0; end = best[end].begin) ends.push_back(static_cast<std::uint32_t>(end));
  for (auto end = ends.rbegin(); end != ends.rend(); ++end)
    visit(text.substr(best[*end].begin, *end - best[*end].begin), best[*end].id);
}

}  // namespace weft::text
