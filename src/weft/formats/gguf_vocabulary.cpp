#include "weft/formats/gguf_vocabulary.h"

#include <algorithm>
#include <string>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/utf8.h"
#include "weft/formats/vocabulary_defaults.h"
#include "weft/text/charsmap.h"
#include "weft/text/pre_tokenizer.h"
#include "weft/text/word_piece.h"

namespace weft {
namespace {

constexpr std::string_view model_key = "tokenizer.ggml.model", pre_key = "tokenizer.ggml.pre",
                           tokens_key = "tokenizer.ggml.tokens", scores_key = "tokenizer.ggml.scores",
                           kinds_key = "tokenizer.ggml.token_type", merges_key = "tokenizer.ggml.merges",
                           charsmap_key = "tokenizer.ggml.precompiled_charsmap";

class VocabularyReader {
 public:
  VocabularyReader(const GgufFile& file, const VocabularyLimits& limits) : file_(file), limits_(limits) {}

  Vocabulary read() {
    const auto model = file_.find_string(model_key);
    if (!model) return std::move(vocabulary_);
    if (*model == "llama")
      vocabulary_.type = TokenizerType::spm_bpe;
    else if (*model == "gpt2")
      vocabulary_.type = TokenizerType::byte_level_bpe;
    else if (*model == "bert")
      vocabulary_.type = TokenizerType::wordpiece;
    else if (*model == "t5")
      vocabulary_.type = TokenizerType::unigram;
    else
      fail(ErrorKind::unsupported, "UnsupportedTokenizer", file_.where(model_key),
           "tokenizer model \"{}\" is not supported; weft reads \"llama\" (SentencePiece BPE), \"gpt2\" (byte-level "
           "BPE), \"bert\" (WordPiece) and \"t5\" (SentencePiece Unigram)",
           *model);
    read_entries();
    read_scores();
    read_kinds();
    read_merges();
    if (spm() && !vocabulary_.has_scores && vocabulary_.merges.empty())
      fail(ErrorKind::bad_file, "MissingField", file_.where(model_key),
           "a SentencePiece vocabulary needs {} or {}, and the file has neither", scores_key, merges_key);
    if (unigram() && !vocabulary_.has_scores)
      fail(ErrorKind::bad_file, "MissingField", file_.where(model_key),
           "a Unigram vocabulary needs {}, and the file has none", scores_key);
    if (unigram()) read_charsmap();
    // Only byte-level BPE cuts its text by a pattern; "none" is the pattern that cuts nothing.
    vocabulary_.pre = byte_level() ? pre_tokenizer() : "none";
    read_special_ids();
    read_settings();
    return std::move(vocabulary_);
  }

 private:
  bool spm() const { return vocabulary_.type == TokenizerType::spm_bpe; }
  bool unigram() const { return vocabulary_.type == TokenizerType::unigram; }
  bool byte_level() const { return vocabulary_.type == TokenizerType::byte_level_bpe; }

  [[noreturn]] void bad_token(std::string_view key, std::size_t id, std::string_view reason) const {
    fail(ErrorKind::bad_file, "BadVocab", file_.where(key), "token {}: {}", id, reason);
  }

  void expect_count(std::string_view key, std::size_t count) const {
    if (count != vocabulary_.entries.size())
      fail(ErrorKind::bad_file, "BadVocab", file_.where(key), "{} holds {} values for {} tokens", key, count,
           vocabulary_.entries.size());
  }

  void expect_within(std::string_view key, std::size_t count, std::size_t limit) const {
    if (count > limit)
      fail(ErrorKind::bad_file, "LimitExceeded", file_.where(key), "{} values, more than the limit of {}", count,
           limit);
  }

  void read_entries() {
    const auto& tokens = file_.get_strings(tokens_key);
    expect_within(tokens_key, tokens.size(), limits_.tokens);
    vocabulary_.entries.reserve(tokens.size());
    for (std::size_t id = 0; id < tokens.size(); ++id) {
      if (tokens[id].size() > limits_.token_bytes)
        bad_token(tokens_key, id, fmt::format("it is longer than {} bytes", limits_.token_bytes));
      if (find_invalid_utf8(tokens[id])) bad_token(tokens_key, id, "it is not valid UTF-8");
      vocabulary_.entries.push_back({static_cast<std::int32_t>(id), std::string(tokens[id])});
    }
  }

  void read_scores() {
    const auto scores = file_.find_numbers(scores_key);
    if (!scores) return;
    expect_count(scores_key, scores->size());
    vocabulary_.has_scores = true;
    for (std::size_t id = 0; id < scores->size(); ++id) {
      const auto score = static_cast<float>((*scores)[id]);
      if (score != score) bad_token(scores_key, id, "its score is NaN");
      vocabulary_.entries[id].score = score;
    }
  }

  void read_kinds() {
    const auto kinds = file_.find_ints(kinds_key);
    if (!kinds) return;
    expect_count(kinds_key, kinds->size());
    for (std::size_t id = 0; id < kinds->size(); ++id) {
      const std::int64_t kind = (*kinds)[id];
      if (kind < 0 || kind > 6) bad_token(kinds_key, id, fmt::format("its type is {}; types are 1 to 6", kind));
      // 0 says that the converter knew nothing about the token.
      vocabulary_.entries[id].kind = kind == 0 ? TokenKind::normal : static_cast<TokenKind>(kind);
    }
  }

  void read_merges() {
    const auto* merges = file_.find_strings(merges_key);
    if (merges == nullptr) {
      if (byte_level()) file_.get_strings(merges_key);  // cannot do without
      return;
    }
    expect_within(merges_key, merges->size(), limits_.merges);
    vocabulary_.merges.reserve(merges->size());
    for (std::size_t rank = 0; rank < merges->size(); ++rank) {
      const std::string_view merge = (*merges)[rank];
      const std::size_t space = merge.find(' ', 1);
      if (space == std::string_view::npos || space + 1 == merge.size() || find_invalid_utf8(merge))
        fail(ErrorKind::bad_file, "BadVocab", file_.where(merges_key),
             "merge {} is not two pieces of UTF-8 text with a space between them", rank);
      vocabulary_.merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
    }
  }

  void read_charsmap() {
    vocabulary_.normalizer = TextNormalizer::sentencepiece;
    const auto bytes = file_.find_ints(charsmap_key);
    if (!bytes) return;
    expect_within(charsmap_key, bytes->size(), text::Charsmap::most_bytes);
    vocabulary_.charsmap.reserve(bytes->size());
    for (std::size_t at = 0; at < bytes->size(); ++at) {
      const std::int64_t byte = (*bytes)[at];
      if (byte < -128 || byte > 255)
        fail(ErrorKind::bad_file, "BadCharsmap", file_.where(charsmap_key), "{} holds bytes, but its element {} is {}",
             charsmap_key, at, byte);
      vocabulary_.charsmap += static_cast<char>(byte);
    }
    const text::Charsmap checked(vocabulary_.charsmap, fmt::format("{} {}", file_.where(charsmap_key), charsmap_key));
  }

  std::string pre_tokenizer() const {
    const auto name = file_.find_string(pre_key);
    try {
      return pre_tokenizer_from_gguf(name.value_or(""));
    } catch (const Error& error) {
      throw Error(error.kind(), error.code(), file_.where(name ? pre_key : model_key),
                  (name ? "" : "tokenizer.ggml.pre is missing: ") + error.message());
    }
  }

  std::optional<std::int32_t> find_id(std::string_view key) const {
    const auto id = file_.find_int(key);
    if (!id) return std::nullopt;
    if (*id < 0 || *id >= static_cast<std::int64_t>(vocabulary_.entries.size()))
      fail(ErrorKind::bad_file, "BadVocab", file_.where(key), "{} is {}, but the vocabulary has the ids 0 to {}", key,
           *id, static_cast<std::int64_t>(vocabulary_.entries.size()) - 1);
    return static_cast<std::int32_t>(*id);
  }

  void read_special_ids() {
    vocabulary_.bos = find_id("tokenizer.ggml.bos_token_id");
    if (vocabulary_.type == TokenizerType::wordpiece) {
      if (const auto cls = find_id("tokenizer.ggml.cls_token_id")) vocabulary_.bos = cls;
      // GGUF spells it like this.
      if (const auto sep = find_id("tokenizer.ggml.seperator_token_id")) add_eos(vocabulary_, *sep);
    }
    vocabulary_.unk = find_id("tokenizer.ggml.unknown_token_id");
    // The one token of this type is named by its type as well.
    for (const VocabularyEntry& entry : vocabulary_.entries)
      if (unigram() && !vocabulary_.unk && entry.kind == TokenKind::unknown) vocabulary_.unk = entry.id;
    vocabulary_.pad = find_id("tokenizer.ggml.padding_token_id");
    if (const auto eos = find_id("tokenizer.ggml.eos_token_id")) add_eos(vocabulary_, *eos);
    if (const auto eot = find_id("tokenizer.ggml.eot_token_id")) add_eos(vocabulary_, *eot);
    add_turn_ends(vocabulary_);
  }

  bool setting(std::string_view key, bool otherwise, bool possible) const {
    const auto value = file_.find_bool(key);
    if (value.value_or(false) && !possible)
      fail(ErrorKind::bad_file, "BadVocab", file_.where(key), "{} is true, but the file names no such token", key);
    return value.value_or(otherwise && possible);
  }

  void read_settings() {
    const bool sentencepiece = is_sentencepiece(vocabulary_.type);
    vocabulary_.byte_fallback =
        sentencepiece && std::any_of(vocabulary_.entries.begin(), vocabulary_.entries.end(),
                                     [](const VocabularyEntry& entry) { return entry.kind == TokenKind::byte; });
    vocabulary_.byte_fallback = vocabulary_.byte_fallback || (sentencepiece && has_token(vocabulary_, "<0x0A>"));
    vocabulary_.add_bos = setting("tokenizer.ggml.add_bos_token", !unigram() && adds_bos_by_default(vocabulary_),
                                  vocabulary_.bos.has_value());
    vocabulary_.add_eos = setting("tokenizer.ggml.add_eos_token", unigram() || adds_eos_by_default(vocabulary_),
                                  !vocabulary_.eos.empty());
    if (vocabulary_.type == TokenizerType::wordpiece) {
      vocabulary_.lower_case = text::is_uncased(vocabulary_);
      vocabulary_.continuation_prefix = continuation_prefix_by_default(vocabulary_);
    }
    vocabulary_.add_space_prefix = file_.find_bool("tokenizer.ggml.add_space_prefix").value_or(spm());
    if (unigram() && file_.find_bool("tokenizer.ggml.remove_extra_whitespaces").value_or(false))
      vocabulary_.extra_spaces = ExtraSpaces::remove;
  }

  const GgufFile& file_;
  const VocabularyLimits& limits_;
  Vocabulary vocabulary_;
};

}  // namespace

Vocabulary read_gguf_vocabulary(const GgufFile& file, const VocabularyLimits& limits) {
  return VocabularyReader(file, limits).read();
}

}  // namespace weft
