// An ordered map from dotted keys ("architecture.hidden_size") to plain values: the configuration of a model, wherever
// it was read from. A key's parts are bare words; a part with other characters stands in double quotes with TOML's
// escapes. Plain data, no thread of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "weft/base/export.h"

namespace weft {

// An empty list of any type may be read as a list of every type.
using ConfigValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>,
                                 std::vector<double>, std::vector<bool>, std::vector<std::string>>;

// "an integer", "a list of strings"; for messages.
WEFT_API std::string_view config_type_text(const ConfigValue& value);

class WEFT_API ConfigTable {
 public:
  // `source` places errors: "model.model, section config".
  explicit ConfigTable(std::string source = "") : source_(std::move(source)) {}

  // Replaces in place, or appends.
  void set(std::string_view key, ConfigValue value);
  bool erase(std::string_view key);
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const std::vector<std::pair<std::string, ConfigValue>>& entries() const { return entries_; }
  const std::string& source() const { return source_; }

  const ConfigValue* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // find_* gives nothing when the key is absent, get_* fails with MissingField; a value of another type is
  // InvalidConfig. A number may be stored as an integer.
  std::optional<std::int64_t> find_int(std::string_view key) const;
  std::optional<double> find_number(std::string_view key) const;
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<std::string> find_string(std::string_view key) const;
  std::optional<std::vector<std::int64_t>> find_ints(std::string_view key) const;
  std::optional<std::vector<double>> find_numbers(std::string_view key) const;
  std::optional<std::vector<std::string>> find_strings(std::string_view key) const;
  std::int64_t get_int(std::string_view key) const;
  double get_number(std::string_view key) const;
  bool get_bool(std::string_view key) const;
  std::string get_string(std::string_view key) const;

  friend bool operator==(const ConfigTable& a, const ConfigTable& b) { return a.entries_ == b.entries_; }

 private:
  template <class T>
  std::optional<T> find_as(std::string_view key, std::string_view expected) const;
  [[noreturn]] void refuse(std::string_view key, std::string_view expected, const ConfigValue& found) const;
  [[noreturn]] void miss(std::string_view key) const;

  std::string source_;
  std::vector<std::pair<std::string, ConfigValue>> entries_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace weft
