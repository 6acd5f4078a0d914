// A TOML value as a tree. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft {

struct TomlValue;
struct TomlMember;

using TomlArray = std::vector<TomlValue>;
using TomlTable = std::vector<TomlMember>;  // in the order of the text, keys unique

// A date, a time or both, as written.
struct TomlDateTime {
  std::string text;
  friend bool operator==(const TomlDateTime&, const TomlDateTime&) = default;
};

struct TomlValue {
  std::variant<std::string, std::int64_t, double, bool, TomlDateTime, TomlArray, TomlTable> data;

  template <class T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
};

struct TomlMember {
  std::string key;
  TomlValue value;
};

// nullptr when the table has no such key.
inline const TomlValue* find(const TomlTable& table, std::string_view key) {
  for (const TomlMember& member : table)
    if (member.key == key) return &member.value;
  return nullptr;
}

// "a string", "a table"; for messages.
std::string_view type_text(const TomlValue& value);

}  // namespace weft
