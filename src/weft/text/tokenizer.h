// Text to token ids and back, by the rules of one model's vocabulary. WordPiece does not give every text back: white
// space is lost, and where the vocabulary is uncased capitals and accents too.
// A Tokenizer is immutable: shared freely, used by any number of threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"
#include "weft/text/vocabulary.h"

namespace weft {

struct EncodeOptions {
  // Whether the text may spell control tokens ("<|im_end|>"). Leave it off for text from outside: there they are
  // plain text. User-defined tokens are always matched whole; with SentencePiece's normalizer they stay in the text and
  // win by their scores, which a vocabulary from outside may spoil.
  bool parse_special = false;
  // Unset: as the vocabulary says. A BOS that the text already starts with is not doubled.
  std::optional<bool> add_bos = std::nullopt, add_eos = std::nullopt;
  // What Tokenizer::guard_control() put into the text; taken out of it once control tokens are found.
  std::string guard = {};
};

// SentencePiece vocabularies may put a space before a text (Vocabulary::add_space_prefix), WordPiece has one before
// each word. Decoding a whole text drops that space again; what continues an earlier text keeps it, there it separates
// two words.
enum class DecodeFrom { start_of_text, continuation };

struct DecodeOptions {
  DecodeFrom from = DecodeFrom::start_of_text;
  bool skip_special = true;  // control and unknown tokens are left out instead of written
};

class WEFT_API Tokenizer {
 public:
  // Errors: BadVocab, LimitExceeded, UnsupportedPreTokenizer.
  static std::shared_ptr<const Tokenizer> create(Vocabulary vocabulary);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Errors: InvalidUtf8 with the offset of the first bad byte; UnencodableSymbol for a character that the vocabulary
  // has no token for, no bytes and no unknown token either; LimitExceeded; UnknownSpecialToken if a BOS or EOS is
  // asked for that the vocabulary lacks; MissingTokenizer for a vocabulary of type none.
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;
  // `text` with `guard`, a character that does not occur in it, inside everything that spells a control token. So a
  // text from outside may become part of one whose control tokens count.
  std::string guard_control(std::string_view text, std::string_view guard) const;
  // Well-formed UTF-8: bytes that form no character become U+FFFD. UnknownId for an id without a token.
  // Streams decode with StreamDecoder.
  std::string decode(std::span<const std::int32_t> ids, const DecodeOptions& options = {}) const;

  std::size_t vocab_size() const;  // tokens; ids may have gaps
  std::int64_t id_limit() const;   // the highest id plus one
  bool has_token(std::int32_t id) const;
  // The views live as long as the tokenizer. UnknownId for an id without a token.
  std::string_view token_text(std::int32_t id) const;   // as stored in the vocabulary
  std::string_view token_bytes(std::int32_t id) const;  // what it adds to a text, possibly a part of a character
  std::optional<std::int32_t> find_token(std::string_view stored_text) const;  // the lowest id with this text

  TokenizerType type() const;
  TokenKind kind(std::int32_t id) const;   // as handled: a configured BOS, EOS, padding or unknown token is control
  bool is_control(std::int32_t id) const;  // of kind control or unknown; false for an id without a token
  bool is_eos(std::int32_t id) const;      // any of the ids that end a text
  // Only ids that have a token.
  std::optional<std::int32_t> bos() const;
  std::optional<std::int32_t> pad() const;
  std::optional<std::int32_t> unk() const;
  std::span<const std::int32_t> eos() const;
  bool adds_bos() const;
  bool adds_eos() const;
  // Whether a text that is decoded whole loses a space in front: WordPiece, and SentencePiece as the vocabulary says.
  bool adds_space_prefix() const;
  bool removes_extra_spaces() const;  // ExtraSpaces::remove: then every space in front is lost
  TextNormalizer normalizer() const;

 private:
  explicit Tokenizer(const Vocabulary& vocabulary);
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace weft
