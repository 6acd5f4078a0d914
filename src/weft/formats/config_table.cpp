#include "weft/formats/config_table.h"

#include <array>
#include <type_traits>

#include "weft/base/fail.h"

namespace weft {

std::string_view config_type_text(const ConfigValue& value) {
  constexpr std::array<std::string_view, std::variant_size_v<ConfigValue>> names{
      "an integer",         "a number",          "a bool",          "a string",
      "a list of integers", "a list of numbers", "a list of bools", "a list of strings"};
  return names[value.index()];
}

void ConfigTable::set(std::string_view key, ConfigValue value) {
  const auto [found, added] = index_.emplace(std::string(key), entries_.size());
  if (added)
    entries_.emplace_back(std::string(key), std::move(value));
  else
    entries_[found->second].second = std::move(value);
}

bool ConfigTable::erase(std::string_view key) {
  const auto found = index_.find(std::string(key));
  if (found == index_.end()) return false;
  const std::size_t at = found->second;
  index_.erase(found);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
  for (auto& [name, position] : index_)
    if (position > at) --position;
  return true;
}

const ConfigValue* ConfigTable::find(std::string_view key) const {
  const auto found = index_.find(std::string(key));
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

void ConfigTable::refuse(std::string_view key, std::string_view expected, const ConfigValue& found) const {
  fail(ErrorKind::invalid_config, "InvalidConfig", source_, "\"{}\" must be {}, found {}", key, expected,
       config_type_text(found));
}

void ConfigTable::miss(std::string_view key) const {
  fail(ErrorKind::invalid_config, "MissingField", source_, "\"{}\" is missing", key);
}

template <class T>
std::optional<T> ConfigTable::find_as(std::string_view key, std::string_view expected) const {
  const ConfigValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const T* typed = std::get_if<T>(value)) return *typed;
  // What is written without a fraction, and the empty list, fit more than the type they are stored as.
  if constexpr (std::is_same_v<T, double>)
    if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  if constexpr (std::is_same_v<T, std::vector<double>>)
    if (const auto* whole = std::get_if<std::vector<std::int64_t>>(value)) return T(whole->begin(), whole->end());
  const bool empty_list = std::visit(
      [](const auto& held) {
        if constexpr (requires { typename std::decay_t<decltype(held)>::allocator_type; })
          return !std::is_same_v<std::decay_t<decltype(held)>, std::string> && held.empty();
        return false;
      },
      *value);
  if constexpr (requires { typename T::allocator_type; } && !std::is_same_v<T, std::string>)
    if (empty_list) return T{};
  refuse(key, expected, *value);
}

std::optional<std::int64_t> ConfigTable::find_int(std::string_view key) const {
  return find_as<std::int64_t>(key, "an integer");
}
std::optional<double> ConfigTable::find_number(std::string_view key) const { return find_as<double>(key, "a number"); }
std::optional<bool> ConfigTable::find_bool(std::string_view key) const { return find_as<bool>(key, "a bool"); }
std::optional<std::string> ConfigTable::find_string(std::string_view key) const {
  return find_as<std::string>(key, "a string");
}
std::optional<std::vector<std::int64_t>> ConfigTable::find_ints(std::string_view key) const {
  return find_as<std::vector<std::int64_t>>(key, "a list of integers");
}
std::optional<std::vector<double>> ConfigTable::find_numbers(std::string_view key) const {
  return find_as<std::vector<double>>(key, "a list of numbers");
}
std::optional<std::vector<std::string>> ConfigTable::find_strings(std::string_view key) const {
  return find_as<std::vector<std::string>>(key, "a list of strings");
}

std::int64_t ConfigTable::get_int(std::string_view key) const {
  const auto value = find_int(key);
  return value ? *value : (miss(key), 0);
}
double ConfigTable::get_number(std::string_view key) const {
  const auto value = find_number(key);
  return value ? *value : (miss(key), 0);
}
bool ConfigTable::get_bool(std::string_view key) const {
  const auto value = find_bool(key);
  return value ? *value : (miss(key), false);
}
std::string ConfigTable::get_string(std::string_view key) const {
  auto value = find_string(key);
  return value ? std::move(*value) : (miss(key), std::string());
}

}  // namespace weft
