#include "weft/formats/model_vocabulary.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/utf8.h"
#include "weft/formats/base64.h"
#include "weft/formats/model_vocabulary_settings.h"
#include "weft/formats/toml_text.h"
#include "weft/formats/vocabulary_defaults.h"

namespace weft {
namespace {

// The lists of [special] and the kinds they stand for.
constexpr std::array<std::pair<std::string_view, TokenKind>, 5> kind_lists{{{"ids", TokenKind::control},
                                                                            {"user_defined", TokenKind::user_defined},
                                                                            {"unknown", TokenKind::unknown},
                                                                            {"unused", TokenKind::unused},
                                                                            {"byte", TokenKind::byte}}};

class VocabularyReader {
 public:
  VocabularyReader(std::string_view text, TomlSource source, const VocabularyLimits& limits)
      : where_(source.file + ", section vocab"),
        reader_(text, std::move(source), {.nesting = 32, .values = limits.tokens}),
        limits_(limits),
        settings_(where_) {}

  Vocabulary read(const ConfigTable& config, std::vector<Warning>& warnings) {
    read_items();
    sort_entries();
    sort_merges();
    apply_scores();
    apply_kinds();
    check_size(warnings);
    read_tokenizer_settings(config, settings_, explicit_, vocabulary_, warnings);
    return std::move(vocabulary_);
  }

 private:
  enum class Table { root, tokens, merges, scores, special, tokenizer, other };

  static Table table_named(const std::string& name) {
    if (name == "tokens") return Table::tokens;
    if (name == "merges") return Table::merges;
    if (name == "scores") return Table::scores;
    if (name == "special") return Table::special;
    if (name == "tokenizer") return Table::tokenizer;
    return Table::other;
  }

  void read_items() {
    Table table = Table::root;
    for (;;) {
      const TomlReader::Item item = reader_.next();
      if (item == TomlReader::Item::end) return;
      const std::vector<std::string>& path = reader_.path();
      if (item == TomlReader::Item::key) {
        read_key(table, path);
        continue;
      }
      table = path.size() == 1 ? table_named(path[0]) : Table::other;
      if (table != Table::other) open(table, item == TomlReader::Item::table_array);
    }
  }

  void open(Table table, bool as_array) {
    bool& opened = opened_[static_cast<std::size_t>(table)];
    if (opened || as_array) reader_.refuse("a table of the vocabulary occurs once");
    opened = true;
    if (table == Table::scores) vocabulary_.has_scores = true;
  }

  void read_key(Table table, const std::vector<std::string>& path) {
    if (path.size() == 1 && table == Table::tokens) return add_token(path[0]);
    if (path.size() == 1 && table == Table::merges) return add_merge(path[0]);
    const std::vector<std::string> keys = path;  // reading a value may reuse the path
    const TomlValue value = reader_.read_value();
    if (table != Table::root) {
      if (keys.size() > 1 && table != Table::other) reader_.refuse("a key of this table has one part");
      return add(table, keys.back(), value);
    }
    // At the root: "tokens = { 0 = ... }", "tokens.0 = ..." or a setting.
    const Table named = table_named(keys[0]);
    const auto* members = value.get<TomlTable>();
    if (named == Table::other) {
      if (keys.size() == 1) add_root_setting(keys[0], value);
    } else if (keys.size() == 2) {
      if (named == Table::scores) vocabulary_.has_scores = true;
      add(named, keys[1], value);
    } else if (keys.size() == 1 && members != nullptr) {
      open(named, false);
      for (const TomlMember& member : *members) add(named, member.key, member.value);
    } else {
      reader_.refuse(fmt::format("\"{}\" must be a table", keys[0]));
    }
  }

  void add(Table table, const std::string& key, const TomlValue& value) {
    switch (table) {
      case Table::tokens: {
        const auto* text = value.get<std::string>();
        if (text == nullptr) reader_.refuse("a token must be a string");
        return store_token(key, *text);
      }
      case Table::merges: return store_merge(key, value);
      case Table::scores: return add_score(key, value);
      case Table::special: return add_special(key, value);
      case Table::tokenizer: return add_setting(key, value);
      case Table::root:
      case Table::other: return;
    }
  }

  // A key that is a number: digits without leading zeros, so that equal numbers are equal keys.
  std::int64_t number_of(const std::string& key, std::string_view what) const {
    std::int64_t number = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
    if (error != std::errc() || end != key.data() + key.size() || number < 0 ||
        number > std::numeric_limits<std::int32_t>::max() || (key.size() > 1 && key[0] == '0'))
      fail(ErrorKind::bad_file, "BadVocab", reader_.where(), "\"{}\" is no {}; these are 0 to 2147483647", key, what);
    return number;
  }

  void add_token(const std::string& key) {
    if (!reader_.read_string(text_)) reader_.refuse("a token must be a string");
    store_token(key, text_);
  }

  void store_token(const std::string& key, const std::string& text) {
    const auto id = static_cast<std::int32_t>(number_of(key, "token id"));
    if (text.size() > limits_.token_bytes)
      fail(ErrorKind::bad_file, "LimitExceeded", reader_.where(), "token {} is longer than {} bytes", id,
           limits_.token_bytes);
    if (vocabulary_.entries.size() == limits_.tokens)
      fail(ErrorKind::bad_file, "LimitExceeded", reader_.where(), "more than {} tokens", limits_.tokens);
    vocabulary_.entries.push_back({id, text, 0, TokenKind::normal});
  }

  void add_merge(const std::string& key) {
    std::array<std::string, 2> pair;
    if (!reader_.read_strings(pair.data(), 2)) reader_.refuse("a merge must be an array of 2 strings");
    push_merge(key, std::move(pair[0]), std::move(pair[1]));
  }

  void store_merge(const std::string& key, const TomlValue& value) {
    const auto* array = value.get<TomlArray>();
    const auto* left = array != nullptr && array->size() == 2 ? (*array)[0].get<std::string>() : nullptr;
    const auto* right = left != nullptr ? (*array)[1].get<std::string>() : nullptr;
    if (right == nullptr) reader_.refuse("a merge must be an array of 2 strings");
    push_merge(key, *left, *right);
  }

  void push_merge(const std::string& key, std::string left, std::string right) {
    if (vocabulary_.merges.size() == limits_.merges)
      fail(ErrorKind::bad_file, "LimitExceeded", reader_.where(), "more than {} merges", limits_.merges);
    ranks_.push_back(number_of(key, "rank of a merge"));
    vocabulary_.merges.emplace_back(std::move(left), std::move(right));
  }

  void add_score(const std::string& key, const TomlValue& value) {
    const auto* number = value.get<double>();
    const auto* whole = value.get<std::int64_t>();
    if ((number == nullptr && whole == nullptr) || (number != nullptr && std::isnan(*number)))
      reader_.refuse("a score must be a number");
    scores_.emplace_back(number_of(key, "token id"),
                         static_cast<float>(number != nullptr ? *number : static_cast<double>(*whole)));
  }

  void add_special(const std::string& key, const TomlValue& value) {
    if (key == "explicit") {
      const auto* flag = value.get<bool>();
      if (flag == nullptr) reader_.refuse("\"special.explicit\" must be a bool");
      explicit_ = *flag;
      return;
    }
    for (const auto& [name, kind] : kind_lists) {
      if (name != key) continue;
      const auto* list = value.get<TomlArray>();
      if (list == nullptr) reader_.refuse(fmt::format("\"special.{}\" must be a list of token ids", key));
      has_special_ = true;
      for (const TomlValue& item : *list) {
        const auto* id = item.get<std::int64_t>();
        if (id == nullptr) reader_.refuse(fmt::format("\"special.{}\" must be a list of token ids", key));
        kinds_.emplace_back(*id, kind);
      }
    }
  }

  void add_root_setting(const std::string& key, const TomlValue& value) {
    if (key == "vocab_size")
      vocab_size_ = value.get<std::int64_t>() != nullptr ? std::optional(*value.get<std::int64_t>()) : std::nullopt;
    else
      add_setting(key, value);
  }

  void add_setting(const std::string& key, const TomlValue& value) {
    const std::string full = "tokenizer." + key;
    if (const auto* text = value.get<std::string>()) settings_.set(full, *text);
    if (const auto* number = value.get<std::int64_t>()) settings_.set(full, *number);
    if (const auto* flag = value.get<bool>()) settings_.set(full, *flag);
    if (const auto* list = value.get<TomlArray>()) {
      std::vector<std::int64_t> ids;
      for (const TomlValue& item : *list)
        if (const auto* id = item.get<std::int64_t>()) ids.push_back(*id);
      if (ids.size() == list->size()) settings_.set(full, std::move(ids));
    }
  }

  VocabularyEntry* find_entry(std::int64_t id) {
    auto& entries = vocabulary_.entries;
    const auto found =
        std::lower_bound(entries.begin(), entries.end(), id,
                         [](const VocabularyEntry& entry, std::int64_t wanted) { return entry.id < wanted; });
    return found != entries.end() && found->id == id ? &*found : nullptr;
  }

  [[noreturn]] void bad_id(std::int64_t id, std::string_view reason) const {
    fail(ErrorKind::bad_file, "BadVocab", where_, "token {}: {}", id, reason);
  }

  void sort_entries() {
    auto& entries = vocabulary_.entries;
    const auto before = [](const VocabularyEntry& a, const VocabularyEntry& b) { return a.id < b.id; };
    if (!std::is_sorted(entries.begin(), entries.end(), before)) std::sort(entries.begin(), entries.end(), before);
    for (std::size_t i = 1; i < entries.size(); ++i)
      if (entries[i].id == entries[i - 1].id) bad_id(entries[i].id, "the id occurs twice");
  }

  void sort_merges() {
    if (!std::is_sorted(ranks_.begin(), ranks_.end())) {
      std::vector<std::size_t> order(ranks_.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ranks_[a] < ranks_[b]; });
      std::vector<std::pair<std::string, std::string>> sorted;
      sorted.reserve(order.size());
      for (const std::size_t at : order) sorted.push_back(std::move(vocabulary_.merges[at]));
      vocabulary_.merges = std::move(sorted);
      std::sort(ranks_.begin(), ranks_.end());
    }
    const auto twice = std::adjacent_find(ranks_.begin(), ranks_.end());
    if (twice != ranks_.end()) fail(ErrorKind::bad_file, "BadVocab", where_, "two merges have the rank {}", *twice);
  }

  void apply_scores() {
    std::sort(scores_.begin(), scores_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      const auto& [id, score] = scores_[i];
      VocabularyEntry* entry = find_entry(id);
      if (entry == nullptr) bad_id(id, "it has a score, but there is no such token");
      if (i > 0 && scores_[i - 1].first == id) bad_id(id, "it has two scores");
      entry->score = score;
    }
  }

  void apply_kinds() {
    for (const auto& [id, kind] : kinds_) {
      VocabularyEntry* entry = find_entry(id);
      if (entry == nullptr) bad_id(id, "it is listed under [special], but there is no such token");
      if (entry->kind != TokenKind::normal) bad_id(id, "it is listed under [special] twice");
      entry->kind = kind;
    }
    if (has_special_ || explicit_) return;
    for (VocabularyEntry& entry : vocabulary_.entries)
      if (entry.text.size() > 4 && entry.text.starts_with("<|") && entry.text.ends_with("|>"))
        entry.kind = TokenKind::control;
  }

  void check_size(std::vector<Warning>& warnings) const {
    if (vocab_size_ && *vocab_size_ != static_cast<std::int64_t>(vocabulary_.entries.size()))
      warnings.push_back(
          {"VocabSizeMismatch", where_,
           fmt::format("vocab_size is {}, but there are {} tokens", *vocab_size_, vocabulary_.entries.size())});
  }

  std::string where_;
  TomlReader reader_;
  const VocabularyLimits& limits_;
  ConfigTable settings_;
  Vocabulary vocabulary_;
  std::string text_;
  std::vector<std::int64_t> ranks_;
  std::vector<std::pair<std::int64_t, float>> scores_;
  std::vector<std::pair<std::int64_t, TokenKind>> kinds_;
  std::optional<std::int64_t> vocab_size_;
  std::array<bool, 7> opened_{};
  bool has_special_ = false, explicit_ = false;
};

void check_writable(const Vocabulary& vocabulary) {
  const VocabularyLimits limits;
  const auto refuse = [](std::int64_t id, std::string_view reason) {
    fail(ErrorKind::invalid_argument, "BadVocab", fmt::format("token {}", id), "{}", reason);
  };
  std::int64_t last = -1;
  for (const VocabularyEntry& entry : vocabulary.entries) {
    if (entry.id <= last) refuse(entry.id, "ids must ascend from 0");
    last = entry.id;
    if (find_invalid_utf8(entry.text)) refuse(entry.id, "its text is not valid UTF-8");
    if (entry.text.size() > limits.token_bytes) refuse(entry.id, "its text is too long");
    if (std::isnan(entry.score) || (!vocabulary.has_scores && entry.score != 0))
      refuse(entry.id, "its score is NaN, or the vocabulary has no scores");
    if (entry.kind < TokenKind::normal || entry.kind > TokenKind::byte) refuse(entry.id, "its kind is none of 1 to 6");
  }
  for (const auto& [left, right] : vocabulary.merges)
    if (find_invalid_utf8(left) || find_invalid_utf8(right))
      fail(ErrorKind::invalid_argument, "BadVocab", "merges", "a merge is not valid UTF-8");
  if (vocabulary.entries.size() > limits.tokens || vocabulary.merges.size() > limits.merges)
    fail(ErrorKind::invalid_argument, "LimitExceeded", "vocabulary",
         "{} tokens and {} merges are more than a file holds", vocabulary.entries.size(), vocabulary.merges.size());
}

std::string kinds_text(const Vocabulary& vocabulary) {
  std::string text = "[special]\nexplicit = true\n";
  for (const auto& [name, kind] : kind_lists) {
    std::vector<std::int32_t> ids;
    for (const VocabularyEntry& entry : vocabulary.entries)
      if (entry.kind == kind) ids.push_back(entry.id);
    if (!ids.empty() || kind == TokenKind::control) text += fmt::format("{} = [{}]\n", name, fmt::join(ids, ", "));
  }
  return text;
}

}  // namespace

Vocabulary read_model_vocabulary(std::string_view text, TomlSource source, const ConfigTable& config,
                                 std::vector<Warning>& warnings, const VocabularyLimits& limits) {
  return VocabularyReader(text, std::move(source), limits).read(config, warnings);
}

std::string write_model_vocabulary(const Vocabulary& vocabulary, ConfigTable& config) {
  check_writable(vocabulary);
  write_tokenizer_settings(vocabulary, config);
  std::string text = fmt::format("vocab_size = {}\n", vocabulary.entries.size());
  if (!vocabulary.charsmap.empty())
    text += fmt::format("precompiled_charsmap = \"{}\"\n", base64_encode(vocabulary.charsmap));
  text += '\n' + kinds_text(vocabulary);
  text += "\n[tokens]\n";
  for (const VocabularyEntry& entry : vocabulary.entries)
    text += fmt::format("{} = {}\n", entry.id, toml_quoted(entry.text));
  if (vocabulary.has_scores) {
    text += "\n[scores]\n";
    for (const VocabularyEntry& entry : vocabulary.entries)
      if (entry.score != 0) text += fmt::format("{} = {}\n", entry.id, toml_number(entry.score));
  }
  if (!vocabulary.merges.empty()) text += "\n[merges]\n";
  for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank)
    text += fmt::format("{} = [{}, {}]\n", rank, toml_quoted(vocabulary.merges[rank].first),
                        toml_quoted(vocabulary.merges[rank].second));
  return text;
}

}  // namespace weft
