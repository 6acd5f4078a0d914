#include "weft/formats/graph_ir/text_tree.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "weft/base/fail.h"

namespace weft::graph_ir {

const TextValue* TextValue::find(std::string_view key) const {
  if (const auto* table = get_if<TextTable>())
    for (const auto& [name, value] : *table)
      if (name == key) return &value;
  return nullptr;
}

std::string float_text(float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer;
  const auto shortest = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), shortest.ptr);
  // Readers take text to f64 first; rounding twice may miss the f32 that the shortest text stands for.
  double through = 0;
  std::from_chars(text.data(), text.data() + text.size(), through);
  if (std::bit_cast<std::uint32_t>(static_cast<float>(through)) != std::bit_cast<std::uint32_t>(value)) {
    const auto exact = std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<double>(value));
    text.assign(buffer.data(), exact.ptr);
  }
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text.find('.') == std::string::npos ? text + ".0" : text;
  if (text[exponent + 1] == '+') text.erase(exponent + 1, 1);
  const std::size_t digits = exponent + (text[exponent + 1] == '-' ? 2 : 1);
  while (text[digits] == '0') text.erase(digits, 1);
  return text;
}

std::string quoted_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': result += "\\\""; break;
      case '\\': result += "\\\\"; break;
      case '\n': result += "\\n"; break;
      case '\t': result += "\\t"; break;
      case '\r': result += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
          result += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        else
          result += c;
    }
  }
  return result + '"';
}

}  // namespace weft::graph_ir
