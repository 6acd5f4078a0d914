// A small tree of values that the TOML and the JSON form of a graph share, so that the structure of a graph is read and
// written once. Internal to the room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft::graph_ir {

struct TextValue;
struct TextMember;
using TextArray = std::vector<TextValue>;
using TextTable = std::vector<TextMember>;  // in the order written; keys are unique

struct TextValue {
  std::variant<bool, std::int64_t, double, std::string, TextArray, TextTable> data;
  std::uint32_t line = 0, column = 0;  // 0: not known

  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&data);
  }
  const TextValue* find(std::string_view key) const;  // of a table
};

struct TextMember {
  std::string key;
  TextValue value;
};

// The shortest decimal that reads back to the same f32 even by way of f64, with a '.' or exponent so that it reads as a
// float; "inf", "-inf" and "nan" for what is no number.
std::string float_text(float value);
// In double quotes, escaped by rules that TOML and JSON have in common.
std::string quoted_text(std::string_view text);

}  // namespace weft::graph_ir
