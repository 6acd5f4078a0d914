#include "weft/text/token_table.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/utf8.h"
#include "weft/text/characters.h"

namespace weft::text {
namespace {

constexpr std::size_t most_tokens = 4'194'304, most_merges = 8'388'608, longest_token = 64 * 1024;

void check_limit(const char* what, std::size_t value, std::size_t limit) {
  if (value > limit)
    fail(ErrorKind::out_of_memory, "LimitExceeded", "vocabulary", "{} {}, the limit is {}", value, what, limit);
}

void check_limits(const Vocabulary& vocabulary) {
  check_limit("tokens", vocabulary.entries.size(), most_tokens);
  check_limit("merges", vocabulary.merges.size(), most_merges);
  for (const VocabularyEntry& entry : vocabulary.entries)
    check_limit("bytes in one token", entry.text.size(), longest_token);
  for (const auto& [left, right] : vocabulary.merges)
    check_limit("bytes in one merge", std::max(left.size(), right.size()), longest_token);
}

bool is_one_character(std::string_view text) { return !text.empty() && character_length(text[0]) == text.size(); }

// The kind that each token is handled as, by index. The configured beginning, end, unknown and padding tokens are
// control tokens whatever their stored kind, so that plain text cannot spell them; only where such an id is a
// piece of ordinary text as well (a single character, or what a merge makes) it stays one.
std::vector<TokenKind> effective_kinds(const Vocabulary& vocabulary, const std::vector<std::uint32_t>& order) {
  std::unordered_set<std::int32_t> configured(vocabulary.eos.begin(), vocabulary.eos.end());
  for (const auto& id : {vocabulary.bos, vocabulary.unk, vocabulary.pad})
    if (id) configured.insert(*id);
  std::vector<TokenKind> kinds;
  kinds.reserve(order.size());
  std::unordered_set<std::string_view> undecided;
  for (const std::uint32_t at : order) {
    const VocabularyEntry& entry = vocabulary.entries[at];
    TokenKind kind = entry.kind;
    if (kind == TokenKind::normal && vocabulary.byte_fallback && byte_of_token(entry.text)) kind = TokenKind::byte;
    if (configured.count(entry.id) != 0) {
      if (kind == TokenKind::user_defined || kind == TokenKind::unused) kind = TokenKind::control;
      if (kind == TokenKind::normal && !is_one_character(entry.text)) undecided.insert(entry.text);
    }
    kinds.push_back(kind);
  }
  if (undecided.empty()) return kinds;
  std::string joined;
  for (const auto& [left, right] : vocabulary.merges) {
    joined.assign(left).append(right);
    undecided.erase(joined);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const VocabularyEntry& entry = vocabulary.entries[order[i]];
    if (kinds[i] == TokenKind::normal && configured.count(entry.id) != 0 && undecided.count(entry.text) != 0)
      kinds[i] = TokenKind::control;
  }
  return kinds;
}

struct Piece {
  std::string bytes;
  bool from_text = false;  // whether plain text may become this token
};

// The first piece of a word with the space that separates it from the word before, later pieces bare.
std::string word_piece(const std::string& text, const std::string& continuation) {
  if (!continuation.empty())
    return text.starts_with(continuation) && text.size() > continuation.size() ? text.substr(continuation.size())
                                                                               : " " + text;
  return text.starts_with(spm_space) ? " " + text.substr(spm_space.size()) : text;
}

Piece piece_of(const VocabularyEntry& entry, TokenKind kind, const Vocabulary& vocabulary) {
  const TokenizerType type = vocabulary.type;
  const bool control = kind == TokenKind::control || kind == TokenKind::unknown;
  if (kind == TokenKind::byte) return {std::string(1, static_cast<char>(*byte_of_token(entry.text))), false};
  if (control || type == TokenizerType::none) return {entry.text, false};
  const bool produced = kind != TokenKind::unused && !entry.text.empty();
  if (type == TokenizerType::wordpiece && kind != TokenKind::user_defined)
    return {word_piece(entry.text, vocabulary.continuation_prefix), produced};
  if (is_sentencepiece(type)) {
    // A stored space is not what a space in the text becomes; only a user-defined token is matched with one.
    return {replace_all(entry.text, spm_space, " "), produced && entry.text.find(' ') == std::string::npos};
  }
  // User-defined tokens of byte-level vocabularies are written in plain text, and cut out before any merging.
  if (kind == TokenKind::user_defined) return {entry.text, false};
  if (std::optional<std::string> bytes = from_alphabet(entry.text)) return {std::move(*bytes), produced};
  return {entry.text, false};
}

}  // namespace

TokenTable::TokenTable(const Vocabulary& vocabulary) {
  check_limits(vocabulary);
  byte_tokens_.fill(-1);
  std::vector<std::uint32_t> order(vocabulary.entries.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return vocabulary.entries[a].id < vocabulary.entries[b].id;
  });
  const std::vector<TokenKind> kinds = effective_kinds(vocabulary, order);
  tokens_.reserve(order.size());
  texts.reserve(order.size());
  symbols.reserve(order.size() + 256);
  for (std::size_t i = 0; i < order.size(); ++i) add(vocabulary.entries[order[i]], kinds[i], vocabulary);
  index_ids();
}

void TokenTable::add(const VocabularyEntry& entry, TokenKind kind, const Vocabulary& vocabulary) {
  const auto where = [&] { return fmt::format("vocabulary token {}", entry.id); };
  if (entry.id < 0) fail(ErrorKind::bad_file, "BadVocab", where(), "token ids are 0 to 2147483647");
  if (!tokens_.empty() && tokens_.back().id == entry.id)
    fail(ErrorKind::bad_file, "BadVocab", where(), "the id occurs twice");
  if (kind < TokenKind::normal || kind > TokenKind::byte)
    fail(ErrorKind::bad_file, "BadVocab", where(), "token kind {} is not one of 1 to 6", static_cast<int>(kind));
  if (kind == TokenKind::byte && !byte_of_token(entry.text))
    fail(ErrorKind::bad_file, "BadVocab", where(), "a byte token is written <0xNN>, this one is \"{}\"", entry.text);
  const Piece piece = piece_of(entry, kind, vocabulary);
  const Token token{entry.id, kind, entry.score, texts.intern(entry.text), symbols.intern(piece.bytes)};
  if (token.text == first_with_text_.size()) first_with_text_.push_back(static_cast<std::uint32_t>(tokens_.size()));
  encoded_as_.resize(symbols.size(), -1);
  if (piece.from_text && encoded_as_[token.piece] < 0) encoded_as_[token.piece] = entry.id;
  if (kind == TokenKind::byte) {
    std::int32_t& id = byte_tokens_[static_cast<unsigned char>(piece.bytes[0])];
    if (id < 0) id = entry.id;
  }
  tokens_.push_back(token);
}

void TokenTable::index_ids() {
  if (tokens_.empty()) return;
  const std::size_t dense_limit = 4 * tokens_.size();
  for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
    const auto id = static_cast<std::size_t>(tokens_[i].id);
    if (id < dense_limit) {
      dense_.resize(id + 1, StringTable::none);
      dense_[id] = i;
    } else {
      sparse_.emplace(tokens_[i].id, i);
    }
  }
}

const Token* TokenTable::find_id(std::int32_t id) const {
  if (id < 0) return nullptr;
  if (const auto at = static_cast<std::size_t>(id); at < dense_.size())
    return dense_[at] == StringTable::none ? nullptr : &tokens_[dense_[at]];
  const auto found = sparse_.find(id);
  return found == sparse_.end() ? nullptr : &tokens_[found->second];
}

const Token* TokenTable::find_text(std::string_view text) const {
  const std::uint32_t number = texts.find(text);
  return number == StringTable::none ? nullptr : &tokens_[first_with_text_[number]];
}

std::vector<SpecialMatcher::Entry> TokenTable::special_entries(bool with_control) const {
  std::vector<SpecialMatcher::Entry> entries;
  for (const Token& token : tokens_) {
    const bool control = token.kind == TokenKind::control || token.kind == TokenKind::unknown;
    if (token.kind != TokenKind::user_defined && !(control && with_control)) continue;
    // A token that is no text of its own could only match across the bytes of other characters.
    const std::string_view bytes = symbols[token.piece];
    if (!bytes.empty() && !find_invalid_utf8(bytes)) entries.push_back({std::string(bytes), token.id});
  }
  return entries;
}

}  // namespace weft::text
