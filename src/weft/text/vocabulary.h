// What a tokenizer is made of, as plain data: every file format fills one of these, Tokenizer::create reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft {

enum class TokenizerType { none, byte_level_bpe, spm_bpe, unigram, wordpiece };
// Whether its tokens show a space as U+2581.
constexpr bool is_sentencepiece(TokenizerType type) {
  return type == TokenizerType::spm_bpe || type == TokenizerType::unigram;
}

enum class TextNormalizer {
  none,
  nfc,
  nfkc,
  sentencepiece,  // all that SentencePiece does to a text: the charsmap, then spaces
  precompiled,    // the charsmap as the tokenizers library applies it: to one grapheme cluster after the other
};

// What becomes of spaces beyond the one between two words.
enum class ExtraSpaces {
  keep,
  remove,           // of several in a row one stays, none at the ends of a text: SentencePiece's normalizer
  merge,            // of several in a row one stays
  merge_and_strip,  // that, once white space at the end of a text is gone
  words,            // only what white space separates counts, with one space before each
};

// The kinds that GGUF's tokenizer.ggml.token_type counts, under the same numbers.
enum class TokenKind : std::uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct VocabularyEntry {
  std::int32_t id = 0;
  std::string text;  // as stored: byte-level BPE in its mapped alphabet, SentencePiece with U+2581 for a space
  float score = 0;
  TokenKind kind = TokenKind::normal;
};

struct Vocabulary {
  TokenizerType type = TokenizerType::none;
  std::string pre;  // byte-level BPE: gpt2, llama3, qwen2, qwen35 or none; never empty
  TextNormalizer normalizer = TextNormalizer::none;
  std::vector<VocabularyEntry> entries;                     // ascending ids, gaps allowed
  std::vector<std::pair<std::string, std::string>> merges;  // by rank, the first merges first
  bool has_scores = false;
  bool byte_fallback = false;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = true;  // SentencePiece: a space is put before the text
  ExtraSpaces extra_spaces = ExtraSpaces::keep;
  std::string charsmap;     // SentencePiece's precompiled character map, as stored; empty: no replacements
  bool lower_case = false;  // WordPiece: texts lose their capitals and accents
  // WordPiece: what the later pieces of a word begin with ("##"). Empty: the first pieces begin with U+2581 instead.
  std::string continuation_prefix;
  std::optional<std::int32_t> bos, unk, pad;
  std::vector<std::int32_t> eos;  // any of these ends a text; the first is the one that add_eos appends
};

}  // namespace weft
