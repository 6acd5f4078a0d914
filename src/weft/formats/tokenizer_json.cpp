#include "weft/formats/tokenizer_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "weft/base/fail.h"
#include "weft/base/mapped_file.h"
#include "weft/formats/base64.h"
#include "weft/formats/vocabulary_defaults.h"
#include "weft/text/characters.h"
#include "weft/text/charsmap.h"
#include "weft/text/pre_tokenizer.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_bytes = std::size_t{128} << 20;

class Reader {
 public:
  Reader(const Json& file, const std::string& where, const VocabularyLimits& limits)
      : file_(file), where_(where), limits_(limits) {}

  Vocabulary read() {
    const Json& model = get(file_, "model", "the file");
    // Files from before models were typed have BPE.
    const std::string type = model.contains("type") ? text(model, "type", "model") : "BPE";
    vocabulary_.pre = "none";
    vocabulary_.add_space_prefix = false;
    if (type == "BPE")
      read_bpe(model);
    else if (type == "Unigram")
      read_unigram(model);
    else if (type == "WordPiece")
      read_word_piece(model);
    else
      fail(ErrorKind::unsupported, "UnsupportedTokenizer", where_,
           "tokenizer model \"{}\" is not supported; weft reads BPE, Unigram and WordPiece", type);
    read_added_tokens();
    finish_entries();
    read_post_processor();
    add_turn_ends(vocabulary_);
    return std::move(vocabulary_);
  }

 private:
  [[noreturn]] void invalid(std::string_view what, std::string_view expected) const {
    fail(ErrorKind::bad_file, "InvalidField", where_, "\"{}\" must be {}", what, expected);
  }
  const Json& get(const Json& object, const char* key, std::string_view of) const {
    if (!object.is_object() || !object.contains(key))
      fail(ErrorKind::bad_file, "MissingField", where_, "{} has no \"{}\"", of, key);
    return object[key];
  }
  // The member, nullptr where it is absent or null.
  static const Json* find(const Json& object, const char* key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
  std::string text(const Json& object, const char* key, std::string_view of) const {
    const Json& value = get(object, key, of);
    if (!value.is_string()) invalid(key, "a string");
    return value.get<std::string>();
  }
  std::optional<std::string> find_text(const Json& object, const char* key) const {
    const Json* value = find(object, key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) invalid(key, "a string");
    return value->get<std::string>();
  }
  bool flag(const Json& object, const char* key, bool otherwise = false) const {
    const Json* value = find(object, key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) invalid(key, "true or false");
    return value->get<bool>();
  }
  std::int32_t id(const Json& value) const {
    if (!value.is_number_integer() || value.get<double>() < 0 || value.get<double>() > 2147483647.0)
      invalid("id", "an integer from 0 to 2147483647");
    return value.get<std::int32_t>();
  }
  [[noreturn]] void unsupported(const char* code, std::string_view what, const Json& found) const {
    std::string shown = found.dump();
    if (shown.size() > 200) shown = shown.substr(0, 200) + "...";
    fail(ErrorKind::unsupported, code, where_, "{} {} is not supported", what, shown);
  }

  // A step by its type, or all of a Sequence of them.
  std::vector<const Json*> steps(const char* key) const {
    const Json* step = find(file_, key);
    if (step == nullptr) return {};
    if (text(*step, "type", key) != "Sequence") return {step};
    const char* list = std::string_view(key) == "normalizer" ? "normalizers" : "pretokenizers";
    const Json& parts = get(*step, list, key);
    if (!parts.is_array()) invalid(list, "a list");
    std::vector<const Json*> all;
    for (const Json& part : parts) all.push_back(&part);
    return all;
  }

  void add(std::int32_t token, const std::string& token_text, float score = 0) {
    if (token_text.size() > limits_.token_bytes || entries_.size() == limits_.tokens)
      fail(ErrorKind::bad_file, "LimitExceeded", where_, "token {}: too long, or one of too many", token);
    if (!entries_.emplace(token, VocabularyEntry{token, token_text, score}).second)
      fail(ErrorKind::bad_file, "BadVocab", where_, "the id {} occurs twice", token);
    ids_.emplace(token_text, token);
  }
  void read_vocab(const Json& model) {
    const Json& vocab = get(model, "vocab", "model");
    if (!vocab.is_object()) invalid("vocab", "an object");
    for (const auto& [token, number] : vocab.items()) add(id(number), token);
  }
  std::optional<std::int32_t> id_of(const std::optional<std::string>& token) const {
    if (!token) return std::nullopt;
    const auto found = ids_.find(*token);
    if (found == ids_.end())
      fail(ErrorKind::bad_file, "BadVocab", where_, "\"{}\" is named as a special token but has no id", *token);
    return found->second;
  }

  void read_bpe(const Json& model) {
    read_vocab(model);
    unknown_ = find_text(model, "unk_token");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (find_text(model, key).value_or("") != "") unsupported("UnsupportedTokenizer", key, model[key]);
    read_merges(get(model, "merges", "model"));
    vocabulary_.byte_fallback = flag(model, "byte_fallback");
    const auto parts = steps("pre_tokenizer");
    const bool byte_level = std::any_of(parts.begin(), parts.end(), [&](const Json* part) {
      return text(*part, "type", "pre_tokenizer") == "ByteLevel";
    });
    if (!byte_level) {
      vocabulary_.type = TokenizerType::spm_bpe;
      return read_sentencepiece_steps();
    }
    vocabulary_.type = TokenizerType::byte_level_bpe;
    read_byte_level_steps(parts, flag(model, "ignore_merges"));
    for (const Json* step : steps("normalizer")) {
      const std::string type = text(*step, "type", "normalizer");
      if (type != "NFC" && type != "NFKC") unsupported("UnsupportedNormalizer", "the normalizer", *step);
      vocabulary_.normalizer = type == "NFC" ? TextNormalizer::nfc : TextNormalizer::nfkc;
    }
  }

  void read_merges(const Json& merges) {
    if (!merges.is_array()) invalid("merges", "a list");
    if (merges.size() > limits_.merges)
      fail(ErrorKind::bad_file, "LimitExceeded", where_, "{} merges are too many", merges.size());
    for (const Json& merge : merges) {
      if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        vocabulary_.merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
        continue;
      }
      const std::string pair = merge.is_string() ? merge.get<std::string>() : "";
      const std::size_t space = pair.find(' ');
      if (space == std::string::npos || space == 0 || space + 1 == pair.size())
        invalid("merges", "a list of pairs of texts");
      vocabulary_.merges.emplace_back(pair.substr(0, space), pair.substr(space + 1));
    }
  }

  void read_byte_level_steps(const std::vector<const Json*>& parts, bool ignore_merges) {
    std::optional<std::string> regex;
    for (const Json* part : parts) {
      const std::string type = text(*part, "type", "pre_tokenizer");
      if (type == "ByteLevel") {
        if (flag(*part, "add_prefix_space")) unsupported("UnsupportedPreTokenizer", "add_prefix_space of", *part);
        vocabulary_.pre = flag(*part, "use_regex", true) ? "gpt2" : "none";
      } else if (type == "Split" && !regex && find_text(*part, "behavior").value_or("") == "Isolated") {
        regex = text(get(*part, "pattern", "Split"), "Regex", "pattern");
      } else {
        unsupported("UnsupportedPreTokenizer", "the pre-tokenizer", *part);
      }
    }
    if (!regex) return;
    if (vocabulary_.pre != "none") unsupported("UnsupportedPreTokenizer", "Split with a regex of", *parts.back());
    vocabulary_.pre = pre_tokenizer_from_regex(*regex, ignore_merges);
  }

  // What SentencePiece's models do to spaces, in the spellings of this format.
  void read_sentencepiece_steps() {
    bool first = true, strips = false, replaced = false;
    for (const Json* step : steps("normalizer")) {
      const std::string type = text(*step, "type", "normalizer");
      const std::string space(text::spm_space);
      const bool replaces = type == "Replace" && find_text(*step, "content").value_or("") == space &&
                            find_text(get(*step, "pattern", "Replace"), "String").value_or("") == " ";
      if (type == "Prepend" && find_text(*step, "prepend").value_or("") == space)
        vocabulary_.add_space_prefix = true;
      else if ((type == "NFKC" || type == "NFC") && vocabulary_.normalizer == TextNormalizer::none)
        vocabulary_.normalizer = type == "NFC" ? TextNormalizer::nfc : TextNormalizer::nfkc;
      else if (type == "Precompiled" && first)
        read_charsmap(*step);
      else if (type == "Strip" && !strips && vocabulary_.extra_spaces == ExtraSpaces::keep &&
               !flag(*step, "strip_left", true) && flag(*step, "strip_right", true))
        strips = true;
      else if (merges_spaces(*step, type) && !replaced)
        vocabulary_.extra_spaces = strips ? ExtraSpaces::merge_and_strip : ExtraSpaces::merge;
      else if (!replaces)
        unsupported("UnsupportedNormalizer", "the normalizer", *step);
      first = false;
      replaced = replaced || replaces;
    }
    if (strips && vocabulary_.extra_spaces != ExtraSpaces::merge_and_strip)
      unsupported("UnsupportedNormalizer", "Strip without a step that merges spaces, in", *find(file_, "normalizer"));
    bool words = false, always = false;
    for (const Json* step : steps("pre_tokenizer")) {
      const std::string type = text(*step, "type", "pre_tokenizer");
      const bool splits_nothing = type == "Split" &&
                                  find_text(*step, "behavior").value_or("") == "MergedWithPrevious" &&
                                  find_text(get(*step, "pattern", "Split"), "String").value_or("") == " ";
      if (type == "Metaspace") {
        const std::string scheme =
            find_text(*step, "prepend_scheme").value_or(flag(*step, "add_prefix_space", true) ? "always" : "never");
        vocabulary_.add_space_prefix = scheme != "never";
        always = scheme == "always";
      } else if (type == "WhitespaceSplit" && !words && !vocabulary_.add_space_prefix) {
        words = true;
      } else if (!splits_nothing) {  // spaces are gone by then
        unsupported("UnsupportedPreTokenizer", "the pre-tokenizer", *step);
      }
    }
    if (words && !always)
      unsupported("UnsupportedPreTokenizer", "WhitespaceSplit without a Metaspace that marks all words, in",
                  *find(file_, "pre_tokenizer"));
    if (words) vocabulary_.extra_spaces = ExtraSpaces::words;
  }

  void read_charsmap(const Json& step) {
    const std::string where = where_ + " normalizer.precompiled_charsmap";
    vocabulary_.normalizer = TextNormalizer::precompiled;
    vocabulary_.charsmap = base64_decode(find_text(step, "precompiled_charsmap").value_or(""), where);
    const text::Charsmap checked(vocabulary_.charsmap, where);
  }
  // One space, in either spelling, for two or more.
  bool merges_spaces(const Json& step, std::string_view type) const {
    if (type != "Replace") return false;
    const std::string content = find_text(step, "content").value_or("");
    const Json* pattern = find(step, "pattern");
    return (content == " " || content == text::spm_space) && pattern != nullptr &&
           find_text(*pattern, "Regex").value_or("") == " {2,}";
  }

  void read_unigram(const Json& model) {
    vocabulary_.type = TokenizerType::unigram;
    vocabulary_.has_scores = true;
    vocabulary_.byte_fallback = flag(model, "byte_fallback");
    const Json& vocab = get(model, "vocab", "model");
    if (!vocab.is_array()) invalid("vocab", "a list");
    for (const Json& piece : vocab) {
      if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() || !piece[1].is_number() ||
          !std::isfinite(piece[1].get<float>()))
        invalid("vocab", "a list of texts with scores");
      add(static_cast<std::int32_t>(entries_.size()), piece[0].get<std::string>(), piece[1].get<float>());
    }
    if (const Json* unknown = find(model, "unk_id")) {
      const auto found = entries_.find(id(*unknown));
      if (found == entries_.end()) invalid("unk_id", "an id of the vocabulary");
      unknown_ = found->second.text;
    }
    read_sentencepiece_steps();
  }

  void read_word_piece(const Json& model) {
    vocabulary_.type = TokenizerType::wordpiece;
    read_vocab(model);
    unknown_ = find_text(model, "unk_token");
    vocabulary_.continuation_prefix = find_text(model, "continuing_subword_prefix").value_or("##");
    for (const Json* step : steps("normalizer")) {
      const bool lowers = flag(*step, "lowercase", true);
      if (text(*step, "type", "normalizer") != "BertNormalizer" || !flag(*step, "clean_text", true) ||
          !flag(*step, "handle_chinese_chars", true) || flag(*step, "strip_accents", lowers) != lowers)
        unsupported("UnsupportedNormalizer", "the normalizer", *step);
      vocabulary_.lower_case = lowers;
    }
    for (const Json* step : steps("pre_tokenizer"))
      if (text(*step, "type", "pre_tokenizer") != "BertPreTokenizer")
        unsupported("UnsupportedPreTokenizer", "the pre-tokenizer", *step);
  }

  void read_added_tokens() {
    const Json* added = find(file_, "added_tokens");
    if (added == nullptr) return;
    if (!added->is_array()) invalid("added_tokens", "a list");
    for (const Json& token : *added) {
      const std::int32_t number = id(get(token, "id", "an added token"));
      const std::string content = text(token, "content", "an added token");
      if (const auto known = entries_.find(number); known == entries_.end())
        add(number, content);
      else if (known->second.text != content)
        fail(ErrorKind::bad_file, "BadVocab", where_, "token {} is \"{}\" and \"{}\"", number, known->second.text,
             content);
      entries_[number].kind = flag(token, "special") ? TokenKind::control : TokenKind::user_defined;
    }
  }

  void finish_entries() {
    vocabulary_.unk = id_of(unknown_);
    for (auto& [number, entry] : entries_) {
      if (vocabulary_.byte_fallback && entry.kind == TokenKind::normal && text::byte_of_token(entry.text))
        entry.kind = TokenKind::byte;
      vocabulary_.entries.push_back(std::move(entry));
    }
    if (vocabulary_.unk)
      for (VocabularyEntry& entry : vocabulary_.entries)
        if (entry.id == *vocabulary_.unk) entry.kind = TokenKind::unknown;
  }

  // The special tokens before and behind a single text.
  void read_post_processor() {
    const Json* post = find(file_, "post_processor");
    if (post == nullptr) return;
    std::vector<const Json*> parts{post};
    if (find_text(*post, "type").value_or("") == "Sequence") {
      parts.clear();
      const Json& list = get(*post, "processors", "post_processor");
      if (!list.is_array()) invalid("processors", "a list");
      for (const Json& part : list) parts.push_back(&part);
    }
    for (const Json* part : parts) {
      const std::string type = text(*part, "type", "post_processor");
      if (type == "TemplateProcessing")
        read_template(get(*part, "single", type));
      else if (type == "BertProcessing" || type == "RobertaProcessing")
        read_pair(get(*part, "cls", type), get(*part, "sep", type));
      else if (type != "ByteLevel")
        unsupported("UnsupportedTokenizer", "the post-processor", *part);
    }
  }
  void read_template(const Json& single) {
    if (!single.is_array()) invalid("single", "a list");
    bool behind = false;
    for (const Json& piece : single) {
      if (find(piece, "Sequence") != nullptr) {
        behind = true;
        continue;
      }
      const auto token = id_of(text(get(piece, "SpecialToken", "single"), "id", "SpecialToken"));
      if (behind ? vocabulary_.add_eos : vocabulary_.add_bos)
        unsupported("UnsupportedTokenizer", "more than one special token in", single);
      behind ? set_eos(*token) : set_bos(*token);
    }
  }
  void read_pair(const Json& cls, const Json& sep) {
    const auto of = [&](const Json& pair) {
      if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string()) invalid("cls", "a text and an id");
      return *id_of(pair[0].get<std::string>());
    };
    set_bos(of(cls));
    set_eos(of(sep));
  }
  void set_bos(std::int32_t token) {
    vocabulary_.bos = token;
    vocabulary_.add_bos = true;
  }
  void set_eos(std::int32_t token) {
    add_eos(vocabulary_, token);
    vocabulary_.add_eos = true;
  }

  const Json& file_;
  const std::string& where_;
  const VocabularyLimits& limits_;
  Vocabulary vocabulary_;
  std::map<std::int32_t, VocabularyEntry> entries_;
  std::map<std::string, std::int32_t> ids_;
  std::optional<std::string> unknown_;
};

}  // namespace

Vocabulary read_tokenizer_json(std::string_view json, const std::string& where, const VocabularyLimits& limits) {
  if (json.size() > most_bytes)
    fail(ErrorKind::bad_file, "LimitExceeded", where, "{} bytes, the limit is {}", json.size(), most_bytes);
  try {
    const Json file = Json::parse(json);
    return Reader(file, where, limits).read();
  } catch (const Json::exception& error) {
    std::string message = error.what();
    if (const std::size_t start = message.find("] "); start != std::string::npos) message.erase(0, start + 2);
    throw Error(ErrorKind::bad_file, "BadJson", where, std::move(message));
  }
}

Vocabulary open_tokenizer_json(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return read_tokenizer_json({reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()},
                             path.string());
}

}  // namespace weft
