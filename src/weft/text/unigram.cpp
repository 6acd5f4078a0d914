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

Unigram::Unigram(const TokenTable& tokens) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const Token& token : tokens.tokens()) {
    if (tokens.encoded_as(token.piece) != token.id) continue;
    const std::string_view bytes = tokens.symbols[token.piece];
    if (bytes.size() > longest_piece)
      fail(ErrorKind::bad_file, "LimitExceeded", fmt::format("vocabulary token {}", token.id),
           "{} bytes, a piece of a unigram vocabulary has {} at most", bytes.size(), longest_piece);
    const double score = std::isfinite(token.score) ? static_cast<double>(token.score) : -1e30;
    lowest = std::min(lowest, score);
    pieces_.push_back({bytes, token.id, score});
  }
  if (!pieces_.empty()) unknown_score_ = lowest - unknown_penalty;
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
  struct Best {
    double score = -std::numeric_limits<double>::infinity();  // of the text from here to its end
    std::uint32_t length = 0;                                 // of the first piece
    std::int32_t id = -1;
  };
  std::vector<Best> best(text.size() + 1);
  best.back().score = 0;
  for (std::size_t at = text.size(); at-- > 0;) {
    if ((byte_at(text, at) & 0xC0) == 0x80) continue;
    const std::size_t character = std::min(character_length(text[at]), text.size() - at);
    best[at] = {best[at + character].score + unknown_score_, static_cast<std::uint32_t>(character), -1};
    each_prefix(text.substr(at), [&](const Piece& piece) {
      const Best& rest = best[at + piece.bytes.size()];
      const double score = rest.score + piece.score;
      // A piece that ends inside a character leads nowhere.
      if (rest.length == 0 && at + piece.bytes.size() != text.size()) return;
      if (score >= best[at].score) best[at] = {score, static_cast<std::uint32_t>(piece.bytes.size()), piece.id};
    });
  }
  for (std::size_t at = 0; at < text.size(); at += best[at].length)
    visit(text.substr(at, best[at].length), best[at].id);
}

}  // namespace weft::text
