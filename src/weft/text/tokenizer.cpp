#include "weft/text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/utf8.h"
#include "weft/text/bpe.h"
#include "weft/text/characters.h"
#include "weft/text/normalizer.h"
#include "weft/text/pre_tokenizer.h"
#include "weft/text/special_matcher.h"
#include "weft/text/stream_decoder.h"
#include "weft/text/token_table.h"
#include "weft/text/unigram.h"
#include "weft/text/word_piece.h"

namespace weft {
namespace {

using text::StringTable;

constexpr std::size_t longest_text = 0x7FFFFFFF;

// SentencePiece's normalizer looks for these texts as they are stored, with U+2581 for a space.
std::vector<text::SpecialMatcher::Entry> stored_user_defined(const text::TokenTable& tokens) {
  std::vector<text::SpecialMatcher::Entry> entries;
  for (const text::Token& token : tokens.tokens())
    if (const std::string_view stored = tokens.texts[token.text];
        token.kind == TokenKind::user_defined && !stored.empty() && !find_invalid_utf8(stored))
      entries.push_back({std::string(stored), token.id});
  return entries;
}

bool is_control_kind(TokenKind kind) { return kind == TokenKind::control || kind == TokenKind::unknown; }

}  // namespace

struct Tokenizer::State {
  explicit State(const Vocabulary& vocabulary);

  std::optional<std::int32_t> known(const std::optional<std::int32_t>& id) const {
    return id && tokens.find_id(*id) != nullptr ? id : std::nullopt;
  }
  const text::Token& token(std::int32_t id) const;
  // SentencePiece leaves user-defined tokens in the text: their spaces count, and they compete by their scores.
  bool whole_texts() const { return normalizer == TextNormalizer::sentencepiece; }

  void encode_segment(std::string_view segment, bool at_start, text::Bpe::Scratch& scratch,
                      std::vector<std::int32_t>& ids) const;
  void encode_sentencepiece(std::string_view segment, bool at_start, text::Bpe::Scratch& scratch,
                            std::vector<std::int32_t>& ids) const;
  void encode_unigram(std::string_view segment, std::vector<std::int32_t>& ids) const;
  void encode_piece(std::string_view piece, text::Bpe::Scratch& scratch, std::vector<std::int32_t>& ids) const;
  void encode_character(std::string_view character, std::vector<std::int32_t>& ids) const;

  TokenizerType type;
  TextNormalizer normalizer;
  text::Charsmap charsmap;
  ExtraSpaces extra_spaces;
  text::TokenTable tokens;
  std::optional<text::Bpe> bpe;                     // byte-level and SentencePiece BPE
  std::optional<text::PreTokenizer> pre_tokenizer;  // byte-level only
  std::optional<text::Unigram> unigram;
  std::optional<text::WordPiece> word_piece;
  text::SpecialMatcher user_defined, all_special;
  bool byte_fallback, add_bos, add_eos, add_space_prefix;
  std::optional<std::int32_t> bos, unk, pad;
  std::vector<std::int32_t> eos;
};

Tokenizer::State::State(const Vocabulary& vocabulary)
    : type(vocabulary.type),
      normalizer(vocabulary.normalizer),
      charsmap(vocabulary.charsmap, "vocabulary"),
      extra_spaces(vocabulary.extra_spaces),
      tokens(vocabulary),
      user_defined(tokens.special_entries(false)),
      all_special(tokens.special_entries(true)),
      byte_fallback(vocabulary.byte_fallback),
      add_bos(vocabulary.add_bos),
      add_eos(vocabulary.add_eos),
      add_space_prefix((vocabulary.add_space_prefix && is_sentencepiece(vocabulary.type)) ||
                       vocabulary.type == TokenizerType::wordpiece),
      bos(known(vocabulary.bos)),
      unk(known(vocabulary.unk)),
      pad(known(vocabulary.pad)) {
  for (const std::int32_t id : vocabulary.eos)
    if (tokens.find_id(id) != nullptr) eos.push_back(id);
  if (whole_texts()) user_defined = text::SpecialMatcher(stored_user_defined(tokens));
  if (type == TokenizerType::byte_level_bpe) pre_tokenizer.emplace(vocabulary.pre);
  const bool lacks_scores = !vocabulary.has_scores && !vocabulary.entries.empty();
  if (type == TokenizerType::spm_bpe && vocabulary.merges.empty() && lacks_scores)
    fail(ErrorKind::bad_file, "BadVocab", "vocabulary", "a SentencePiece vocabulary needs merges or scores");
  if (type == TokenizerType::unigram && lacks_scores)
    fail(ErrorKind::bad_file, "BadVocab", "vocabulary", "a unigram vocabulary needs scores");
  if (type == TokenizerType::byte_level_bpe || type == TokenizerType::spm_bpe) bpe.emplace(tokens, vocabulary);
  if (normalizer == TextNormalizer::sentencepiece && type != TokenizerType::unigram)
    fail(ErrorKind::bad_file, "BadVocab", "vocabulary", "SentencePiece's normalizer is known for unigram models only");
  if (whole_texts() ? extra_spaces > ExtraSpaces::remove : extra_spaces == ExtraSpaces::remove)
    fail(ErrorKind::bad_file, "BadVocab", "vocabulary",
         "SentencePiece's normalizer keeps or removes extra spaces, no other one removes them");
  if (type == TokenizerType::unigram)
    unigram.emplace(tokens,
                    whole_texts() ? text::Unigram::Arithmetic::sentencepiece : text::Unigram::Arithmetic::exact);
  if (type == TokenizerType::wordpiece) word_piece.emplace(tokens, vocabulary);
}

const text::Token& Tokenizer::State::token(std::int32_t id) const {
  const text::Token* found = tokens.find_id(id);
  if (found == nullptr)
    fail(ErrorKind::out_of_range, "UnknownId", "tokenizer", "the vocabulary has no token with id {}", id);
  return *found;
}

void Tokenizer::State::encode_segment(std::string_view segment, bool at_start, text::Bpe::Scratch& scratch,
                                      std::vector<std::int32_t>& ids) const {
  if (segment.empty()) return;
  if (whole_texts())
    return encode_unigram(
        text::normalize_sentencepiece(segment, charsmap, extra_spaces, add_space_prefix, user_defined), ids);
  std::string changed;
  if (normalizer == TextNormalizer::precompiled)
    segment = changed = text::normalize_precompiled(segment, charsmap);
  else if (normalizer != TextNormalizer::none)
    segment = changed = text::normalize(segment, normalizer);
  if (extra_spaces != ExtraSpaces::keep) segment = changed = text::reduce_spaces(segment, extra_spaces);
  if (segment.empty()) return;
  if (is_sentencepiece(type)) return encode_sentencepiece(segment, at_start, scratch, ids);
  if (word_piece) return word_piece->encode(segment, unk, ids);
  const bool whole_first = pre_tokenizer->whole_pieces_first();
  pre_tokenizer->split(segment, [&](std::string_view piece) {
    const std::uint32_t symbol = whole_first ? tokens.symbols.find(piece) : StringTable::none;
    const std::int32_t whole = symbol == StringTable::none ? -1 : tokens.encoded_as(symbol);
    if (whole >= 0)
      ids.push_back(whole);
    else
      encode_piece(piece, scratch, ids);
  });
}

void Tokenizer::State::encode_sentencepiece(std::string_view segment, bool at_start, text::Bpe::Scratch& scratch,
                                            std::vector<std::int32_t>& ids) const {
  std::string spaced;
  const bool visible = segment.find(text::spm_space) != std::string_view::npos;
  // The step of a tokenizer.json that puts spaces before unigram texts takes one that is there for it.
  const bool has_space = unigram && (segment.starts_with(' ') || segment.starts_with(text::spm_space));
  const bool add_space = add_space_prefix && at_start && !has_space;
  if (visible || add_space) {
    spaced.assign(add_space ? 1 : 0, ' ');
    spaced += visible ? text::replace_all(segment, text::spm_space, " ") : std::string(segment);
    segment = spaced;
  }
  if (unigram)
    encode_unigram(segment, ids);
  else
    encode_piece(segment, scratch, ids);
}

void Tokenizer::State::encode_unigram(std::string_view segment, std::vector<std::int32_t>& ids) const {
  // Neighbors that are unknown make one unknown token.
  std::size_t unknown_end = 0;
  unigram->cut(segment, [&](std::string_view piece, std::int32_t id) {
    if (id >= 0) {
      ids.push_back(id);
      return;
    }
    const std::size_t before = ids.size();
    encode_character(piece, ids);
    const bool is_unknown = unk && ids.back() == *unk;
    if (is_unknown && before != 0 && before == unknown_end) ids.pop_back();
    unknown_end = is_unknown ? ids.size() : 0;
  });
}

void Tokenizer::State::encode_piece(std::string_view piece, text::Bpe::Scratch& scratch,
                                    std::vector<std::int32_t>& ids) const {
  if (piece.size() > longest_text)
    fail(ErrorKind::out_of_memory, "LimitExceeded", "text", "{} bytes, the limit is {}", piece.size(), longest_text);
  bpe->merge(piece, scratch);
  for (std::uint32_t at = 0; at != StringTable::none; at = scratch.nodes[at].next) {
    const text::Bpe::Node& node = scratch.nodes[at];
    const std::int32_t id = node.symbol == StringTable::none ? -1 : tokens.encoded_as(node.symbol);
    if (id >= 0) {
      ids.push_back(id);
      continue;
    }
    // The merges led to something that is no token: back to its characters.
    const std::string_view symbol = piece.substr(node.begin, node.length);
    for (std::size_t from = 0; from < symbol.size();) {
      const std::size_t length = type == TokenizerType::byte_level_bpe ? 1 : text::character_length(symbol[from]);
      encode_character(symbol.substr(from, length), ids);
      from += length;
    }
  }
}

void Tokenizer::State::encode_character(std::string_view character, std::vector<std::int32_t>& ids) const {
  if (const std::uint32_t symbol = tokens.symbols.find(character); symbol != StringTable::none)
    if (const std::int32_t id = tokens.encoded_as(symbol); id >= 0) return ids.push_back(id);
  const bool space = is_sentencepiece(type) && character == " ";
  const std::string_view bytes = space ? text::spm_space : character;
  const auto token_of = [&](char byte) { return tokens.byte_token(static_cast<std::uint8_t>(byte)); };
  if (byte_fallback && std::all_of(bytes.begin(), bytes.end(), [&](char byte) { return token_of(byte) >= 0; })) {
    for (const char byte : bytes) ids.push_back(token_of(byte));
    return;
  }
  if (unk) return ids.push_back(*unk);
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02X}", static_cast<std::uint8_t>(byte));
  fail(ErrorKind::invalid_argument, "UnencodableSymbol", "text",
       "the vocabulary has no token for \"{}\" (bytes {}), no byte tokens for it and no unknown token",
       type == TokenizerType::byte_level_bpe ? text::to_alphabet(bytes) : std::string(bytes), hex);
}

std::shared_ptr<const Tokenizer> Tokenizer::create(Vocabulary vocabulary) {
  return std::shared_ptr<const Tokenizer>(new Tokenizer(vocabulary));
}

Tokenizer::Tokenizer(const Vocabulary& vocabulary) : state_(std::make_unique<State>(vocabulary)) {}
Tokenizer::~Tokenizer() = default;

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const State& s = *state_;
  if (s.type == TokenizerType::none)
    fail(ErrorKind::unsupported, "MissingTokenizer", "tokenizer", "this model comes without one; pass token ids");
  if (text.size() > longest_text)
    fail(ErrorKind::out_of_memory, "LimitExceeded", "text", "{} bytes, the limit is {}", text.size(), longest_text);
  if (const auto bad = find_invalid_utf8(text))
    fail(ErrorKind::invalid_argument, "InvalidUtf8", fmt::format("text@{}", *bad),
         "byte {:#04x} at offset {} does not belong to a character; the text must be UTF-8",
         static_cast<unsigned char>(text[*bad]), *bad);
  const bool add_bos = options.add_bos.value_or(adds_bos());
  const bool add_eos = options.add_eos.value_or(adds_eos());
  if ((add_bos && !s.bos) || (add_eos && s.eos.empty()))
    fail(ErrorKind::invalid_argument, "UnknownSpecialToken", "tokenizer", "the vocabulary has no {} token to add",
         add_bos && !s.bos ? "BOS" : "EOS");

  std::vector<std::int32_t> ids;
  text::Bpe::Scratch scratch;
  const text::SpecialMatcher& matcher = options.parse_special ? s.all_special : s.user_defined;
  bool at_start = true;
  for (std::size_t at = 0; at < text.size();) {
    auto match = matcher.find(text, at);
    while (match && s.whole_texts() && s.token(match->id).kind == TokenKind::user_defined)
      match = matcher.find(text, match->end);
    const std::size_t end = match ? match->begin : text.size();
    const std::string_view segment = text.substr(at, end - at);
    if (options.guard.empty() || segment.find(options.guard) == std::string_view::npos)
      s.encode_segment(segment, at_start, scratch, ids);
    else
      s.encode_segment(text::replace_all(segment, options.guard, ""), at_start, scratch, ids);
    if (!match) break;
    ids.push_back(match->id);
    // After a BOS that opens the text it still starts, just as after one that is added.
    at_start = match->begin == 0 && match->id == s.bos;
    at = match->end;
  }
  if (add_bos && (ids.empty() || ids.front() != *s.bos)) ids.insert(ids.begin(), *s.bos);
  if (add_eos) ids.push_back(s.eos.front());
  return ids;
}

std::string Tokenizer::guard_control(std::string_view text, std::string_view guard) const {
  std::string guarded;
  std::size_t done = 0;
  for (auto match = state_->all_special.find(text, 0); match; match = state_->all_special.find(text, done)) {
    const std::size_t character = match->begin + text::character_length(text[match->begin]);
    guarded += text.substr(done, character - done);
    if (is_control(match->id)) guarded += guard;
    done = character;
  }
  return guarded += text.substr(done);
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, const DecodeOptions& options) const {
  StreamDecoder decoder(*this, options);
  std::string text;
  for (const std::int32_t id : ids) text += decoder.push(id);
  return text + decoder.finish();
}

std::size_t Tokenizer::vocab_size() const { return state_->tokens.tokens().size(); }
std::int64_t Tokenizer::id_limit() const {
  const auto& tokens = state_->tokens.tokens();
  return tokens.empty() ? 0 : std::int64_t{tokens.back().id} + 1;
}
bool Tokenizer::has_token(std::int32_t id) const { return state_->tokens.find_id(id) != nullptr; }
std::string_view Tokenizer::token_text(std::int32_t id) const { return state_->tokens.texts[state_->token(id).text]; }
std::string_view Tokenizer::token_bytes(std::int32_t id) const {
  return state_->tokens.symbols[state_->token(id).piece];
}
std::optional<std::int32_t> Tokenizer::find_token(std::string_view stored_text) const {
  const text::Token* found = state_->tokens.find_text(stored_text);
  return found == nullptr ? std::nullopt : std::optional(found->id);
}
TokenizerType Tokenizer::type() const { return state_->type; }
TokenKind Tokenizer::kind(std::int32_t id) const { return state_->token(id).kind; }
bool Tokenizer::is_control(std::int32_t id) const {
  const text::Token* found = state_->tokens.find_id(id);
  return found != nullptr && is_control_kind(found->kind);
}
bool Tokenizer::is_eos(std::int32_t id) const {
  return std::find(state_->eos.begin(), state_->eos.end(), id) != state_->eos.end();
}
std::optional<std::int32_t> Tokenizer::bos() const { return state_->bos; }
std::optional<std::int32_t> Tokenizer::pad() const { return state_->pad; }
std::optional<std::int32_t> Tokenizer::unk() const { return state_->unk; }
std::span<const std::int32_t> Tokenizer::eos() const { return state_->eos; }
bool Tokenizer::adds_bos() const { return state_->add_bos && state_->bos; }
bool Tokenizer::adds_eos() const { return state_->add_eos && !state_->eos.empty(); }
bool Tokenizer::adds_space_prefix() const { return state_->add_space_prefix || removes_extra_spaces(); }
bool Tokenizer::removes_extra_spaces() const { return state_->extra_spaces == ExtraSpaces::remove; }
TextNormalizer Tokenizer::normalizer() const { return state_->normalizer; }

}  // namespace weft
