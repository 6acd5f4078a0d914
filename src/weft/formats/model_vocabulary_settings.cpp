#include "weft/formats/model_vocabulary_settings.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/base/fail.h"
#include "weft/formats/base64.h"
#include "weft/formats/vocabulary_defaults.h"
#include "weft/text/charsmap.h"
#include "weft/text/word_piece.h"

namespace weft {
namespace {

constexpr std::array<std::pair<TextNormalizer, std::string_view>, 5> normalizers{
    {{TextNormalizer::none, "none"},
     {TextNormalizer::nfc, "nfc"},
     {TextNormalizer::nfkc, "nfkc"},
     {TextNormalizer::sentencepiece, "sentencepiece"},
     {TextNormalizer::precompiled, "precompiled"}}};

constexpr std::array<std::pair<ExtraSpaces, std::string_view>, 5> space_rules{
    {{ExtraSpaces::keep, "keep"},
     {ExtraSpaces::remove, "remove"},
     {ExtraSpaces::merge, "merge"},
     {ExtraSpaces::merge_and_strip, "merge_and_strip"},
     {ExtraSpaces::words, "words"}}};

constexpr std::array<std::pair<TokenizerType, std::string_view>, 5> types{
    {{TokenizerType::none, "none"},
     {TokenizerType::byte_level_bpe, "byte_level_bpe"},
     {TokenizerType::spm_bpe, "spm_bpe"},
     {TokenizerType::unigram, "unigram"},
     {TokenizerType::wordpiece, "wordpiece"}}};

class SettingsReader {
 public:
  SettingsReader(const ConfigTable& config, const ConfigTable& inline_settings, Vocabulary& vocabulary)
      : config_(config), inline_(inline_settings), vocabulary_(vocabulary) {}

  void read(bool complete) {
    vocabulary_.type = type();
    const bool spm = is_sentencepiece(vocabulary_.type), wordpiece = vocabulary_.type == TokenizerType::wordpiece;
    vocabulary_.pre = string("pre").value_or(vocabulary_.type == TokenizerType::byte_level_bpe ? "gpt2" : "none");
    vocabulary_.normalizer = normalizer();
    vocabulary_.charsmap = charsmap();
    vocabulary_.extra_spaces = extra_spaces();
    vocabulary_.bos = id("bos_token_id", "bos_id", "bos_token");
    vocabulary_.unk = id("unk_token_id", "unk_id", "unk_token");
    vocabulary_.pad = id("pad_token_id", "pad_id", "pad_token");
    read_eos();
    if (!complete) add_turn_ends(vocabulary_);
    vocabulary_.byte_fallback = boolean("byte_fallback").value_or(spm && has_token(vocabulary_, "<0x0A>"));
    vocabulary_.add_bos =
        boolean("add_bos_token").value_or(vocabulary_.bos.has_value() && adds_bos_by_default(vocabulary_));
    vocabulary_.add_eos =
        boolean("add_eos_token").value_or(!vocabulary_.eos.empty() && adds_eos_by_default(vocabulary_));
    vocabulary_.add_space_prefix = boolean("add_prefix_space").value_or(spm);
    vocabulary_.lower_case = boolean("lowercase").value_or(wordpiece && text::is_uncased(vocabulary_));
    vocabulary_.continuation_prefix =
        string("continuing_subword_prefix").value_or(wordpiece ? continuation_prefix_by_default(vocabulary_) : "");
  }

 private:
  static std::string full(std::string_view key) { return fmt::format("tokenizer.{}", key); }

  // The table that decides a key: the configuration, where it has it.
  const ConfigTable& table_of(std::string_view key) const { return config_.has(full(key)) ? config_ : inline_; }
  std::optional<std::string> string(std::string_view key) const { return table_of(key).find_string(full(key)); }
  std::optional<bool> boolean(std::string_view key) const { return table_of(key).find_bool(full(key)); }

  [[noreturn]] void refuse(std::string_view key, std::string_view reason) const {
    fail(ErrorKind::bad_file, "BadVocab", table_of(key).source(), "\"{}\": {}", full(key), reason);
  }

  TokenizerType type() const {
    const std::string name = string("type").value_or("none");
    for (const auto& [type, known] : types)
      if (known == name) return type;
    if (name != "bpe")
      fail(ErrorKind::unsupported, "UnsupportedTokenizer", table_of("type").source(),
           "tokenizer type \"{}\" is not supported; weft reads bpe, byte_level_bpe, spm_bpe, unigram, wordpiece and "
           "none",
           name);
    // "bpe" is also written for SentencePiece, which shows in its spaces: U+2581 in place of U+0120.
    const auto any = [&](auto&& test) {
      return std::any_of(vocabulary_.entries.begin(), vocabulary_.entries.end(), test);
    };
    const bool sentencepiece = any([](const VocabularyEntry& entry) { return entry.text.starts_with("\u2581"); });
    const bool byte_level =
        any([](const VocabularyEntry& entry) { return entry.text.find("\u0120") != std::string::npos; });
    return sentencepiece && !byte_level ? TokenizerType::spm_bpe : TokenizerType::byte_level_bpe;
  }

  TextNormalizer normalizer() const {
    const std::string name = string("normalizer").value_or("none");
    for (const auto& [value, known] : normalizers)
      if (known == name) return value;
    refuse("normalizer", fmt::format("\"{}\" is none of none, nfc, nfkc, sentencepiece and precompiled", name));
  }

  ExtraSpaces extra_spaces() const {
    const std::string name = string("extra_spaces").value_or("keep");
    for (const auto& [value, known] : space_rules)
      if (known == name) return value;
    refuse("extra_spaces", fmt::format("\"{}\" is none of keep, remove, merge, merge_and_strip and words", name));
  }

  std::string charsmap() const {
    constexpr std::string_view key = "precompiled_charsmap";
    const auto text = string(key);
    if (!text) return {};
    const std::string where = fmt::format("{} {}", table_of(key).source(), full(key));
    std::string bytes = base64_decode(*text, where);
    const text::Charsmap checked(bytes, where);
    return bytes;
  }

  std::int32_t known_id(std::string_view key, std::int64_t value) const {
    const auto found =
        std::lower_bound(vocabulary_.entries.begin(), vocabulary_.entries.end(), value,
                         [](const VocabularyEntry& entry, std::int64_t wanted) { return entry.id < wanted; });
    if (found == vocabulary_.entries.end() || found->id != value)
      refuse(key, fmt::format("the vocabulary has no token {}", value));
    return found->id;
  }

  std::optional<std::int32_t> id_of_text(std::string_view key) const {
    const auto text = string(key);
    if (!text || text->empty()) return std::nullopt;
    for (const VocabularyEntry& entry : vocabulary_.entries)
      if (entry.text == *text) return entry.id;
    refuse(key, fmt::format("the vocabulary has no token \"{}\"", *text));
  }

  std::optional<std::int32_t> id(std::string_view key, std::string_view older, std::string_view text_key) const {
    for (const std::string_view spelling : {key, older})
      if (const auto value = table_of(spelling).find_int(full(spelling))) return known_id(spelling, *value);
    return id_of_text(text_key);
  }

  void read_eos() {
    for (const std::string_view key : {"eos_token_ids", "eos_token_id", "eos_id"}) {
      const ConfigTable& table = table_of(key);
      const ConfigValue* value = table.find(full(key));
      if (value == nullptr) continue;
      // A list, or one id alone.
      const std::vector<std::int64_t> ids = std::holds_alternative<std::int64_t>(*value)
                                                ? std::vector{std::get<std::int64_t>(*value)}
                                                : table.find_ints(full(key)).value();
      for (const std::int64_t each : ids) add_eos(vocabulary_, known_id(key, each));
      break;
    }
    if (const auto id = id_of_text("eos_token")) add_eos(vocabulary_, *id);
  }

  const ConfigTable &config_, &inline_;
  Vocabulary& vocabulary_;
};

}  // namespace

void read_tokenizer_settings(const ConfigTable& config, const ConfigTable& inline_settings, bool complete,
                             Vocabulary& vocabulary, std::vector<Warning>& warnings) {
  for (const auto& [key, value] : inline_settings.entries()) {
    const ConfigValue* decided = config.find(key);
    if (decided != nullptr && *decided != value)
      warnings.push_back({"Contradiction", inline_settings.source(),
                          fmt::format("\"{}\" contradicts the configuration, which wins", key)});
  }
  SettingsReader(config, inline_settings, vocabulary).read(complete);
}

void write_tokenizer_settings(const Vocabulary& vocabulary, ConfigTable& config) {
  const auto set = [&](std::string_view key, ConfigValue value) {
    config.set(fmt::format("tokenizer.{}", key), std::move(value));
  };
  const auto set_id = [&](std::string_view key, const std::optional<std::int32_t>& id) {
    if (id) set(key, std::int64_t{*id});
  };
  for (const auto& [type, name] : types)
    if (type == vocabulary.type) set("type", std::string(name));
  set("pre", vocabulary.pre);
  for (const auto& [value, name] : normalizers)
    if (value == vocabulary.normalizer) set("normalizer", std::string(name));
  set("byte_fallback", vocabulary.byte_fallback);
  set("add_bos_token", vocabulary.add_bos);
  set("add_eos_token", vocabulary.add_eos);
  set("add_prefix_space", vocabulary.add_space_prefix);
  for (const auto& [value, name] : space_rules)
    if (value == vocabulary.extra_spaces && value != ExtraSpaces::keep) set("extra_spaces", std::string(name));
  if (vocabulary.type == TokenizerType::wordpiece) {
    set("lowercase", vocabulary.lower_case);
    set("continuing_subword_prefix", vocabulary.continuation_prefix);
  }
  set_id("bos_token_id", vocabulary.bos);
  set("eos_token_ids", std::vector<std::int64_t>(vocabulary.eos.begin(), vocabulary.eos.end()));
  set_id("unk_token_id", vocabulary.unk);
  set_id("pad_token_id", vocabulary.pad);
}

}  // namespace weft
