#include "weft/formats/config_toml.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "weft/base/fail.h"
#include "weft/formats/toml_document.h"
#include "weft/formats/toml_text.h"

namespace weft {
namespace {

template <class T>
std::optional<std::vector<T>> list_of(const TomlArray& array) {
  std::vector<T> list;
  list.reserve(array.size());
  for (const TomlValue& item : array) {
    const T* value = item.get<T>();
    if (value == nullptr) return std::nullopt;
    list.push_back(*value);
  }
  return list;
}

// Integers among fractions are numbers too.
std::optional<std::vector<double>> list_of_numbers(const TomlArray& array) {
  std::vector<double> list;
  for (const TomlValue& item : array) {
    if (const auto* number = item.get<double>())
      list.push_back(*number);
    else if (const auto* whole = item.get<std::int64_t>())
      list.push_back(static_cast<double>(*whole));
    else
      return std::nullopt;
  }
  return list;
}

std::optional<ConfigValue> value_of(const TomlValue& value) {
  if (const auto* x = value.get<std::string>()) return *x;
  if (const auto* x = value.get<std::int64_t>()) return *x;
  if (const auto* x = value.get<double>()) return *x;
  if (const auto* x = value.get<bool>()) return *x;
  const auto* array = value.get<TomlArray>();
  if (array == nullptr) return std::nullopt;
  if (auto list = list_of<std::int64_t>(*array)) return *std::move(list);
  if (auto list = list_of_numbers(*array)) return *std::move(list);
  if (auto list = list_of<bool>(*array)) return *std::move(list);
  if (auto list = list_of<std::string>(*array)) return *std::move(list);
  return std::nullopt;
}

void flatten(const TomlTable& table, const std::string& prefix, ConfigTable& config, std::vector<Warning>& warnings) {
  for (const TomlMember& member : table) {
    const std::string key = prefix + toml_key(member.key);
    if (const auto* inside = member.value.get<TomlTable>())
      flatten(*inside, key + ".", config, warnings);
    else if (auto value = value_of(member.value))
      config.set(key, *std::move(value));
    else
      warnings.push_back(
          {"IgnoredKey", config.source(),
           fmt::format("\"{}\" is {} of a kind that is not used, and is ignored", key, type_text(member.value))});
  }
}

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(std::int64_t value) { return fmt::format("{}", value); }
std::string text_of(double value) { return toml_number(value); }
std::string text_of(const std::string& value) { return toml_quoted(value); }
template <class T>
std::string text_of(const std::vector<T>& list) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) text += (i > 0 ? ", " : "") + text_of(static_cast<T>(list[i]));
  return text + "]";
}

// Where the last part of a dotted key begins; dots inside quotes do not count.
std::size_t last_part(std::string_view key) {
  std::size_t start = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (quoted && key[i] == '\\')
      ++i;
    else if (key[i] == '"')
      quoted = !quoted;
    else if (key[i] == '.' && !quoted)
      start = i + 1;
  }
  return start;
}

std::vector<std::string> keys_of(const ConfigTable& config) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : config.entries()) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace

ConfigTable config_from_toml(const TomlTable& document, std::string source, std::vector<Warning>& warnings) {
  ConfigTable config(std::move(source));
  flatten(document, "", config, warnings);
  return config;
}

std::string config_to_toml(const ConfigTable& config) {
  std::vector<std::pair<std::string, std::string>> tables{{"", ""}};  // header and lines
  std::map<std::string, std::size_t, std::less<>> table_of{{"", 0}};
  for (const auto& [key, value] : config.entries()) {
    const std::size_t last = last_part(key);
    const std::string header = last == 0 ? "" : key.substr(0, last - 1);
    const auto [found, added] = table_of.emplace(header, tables.size());
    if (added) tables.emplace_back(header, "");
    tables[found->second].second += fmt::format("{} = {}\n", std::string_view(key).substr(last),
                                                std::visit([](const auto& held) { return text_of(held); }, value));
  }
  std::string text;
  for (const auto& [header, lines] : tables) {
    if (!header.empty()) text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", header);
    text += lines;
  }
  // Reading it back finds every key that TOML takes for something else.
  std::vector<Warning> warnings;
  std::string reason = "its keys would not be read back as they are";
  try {
    if (keys_of(config_from_toml(parse_toml(text, {"config", "", 1}), "", warnings)) == keys_of(config)) return text;
  } catch (const Error& error) {
    reason = error.what();
  }
  fail(ErrorKind::invalid_config, "InvalidConfig", config.source(), "the configuration cannot be written as TOML: {}",
       reason);
}

}  // namespace weft
