#include "weft/formats/toml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace weft {
namespace {

void append_escaped(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  switch (c) {
    case '"': out += "\\\""; break;
    case '\\': out += "\\\\"; break;
    case '\n': out += "\\n"; break;
    case '\r': out += "\\r"; break;
    case '\t': out += "\\t"; break;
    default:
      if (byte < 0x20 || byte == 0x7F)
        out += fmt::format("\\u{:04X}", byte);
      else
        out += c;
  }
}

template <class T>
std::string number(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  // Without a point or an exponent it would read as an integer.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string toml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) append_escaped(out, c);
  return out + '"';
}

std::string toml_multiline(std::string_view text) {
  std::string out = "\"\"\"\n";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool line_start = i == 0 || text[i - 1] == '\n';
    if (text[i] == '\n' || text[i] == '\t')
      out += text[i];
    else if (line_start && text.substr(i).starts_with("~~~"))
      out += "\\u007E";
    else if (text[i] == '"' && i + 1 < text.size() && text[i + 1] != '"')
      out += '"';  // a quote on its own neither ends the string nor needs an escape
    else
      append_escaped(out, text[i]);
  }
  return out + "\"\"\"";
}

std::string toml_key(std::string_view part) {
  const bool bare = !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return bare ? std::string(part) : toml_quoted(part);
}

std::string toml_number(double value) { return number(value); }

std::string toml_number(float value) {
  const std::string text = number(value);
  double read = 0;
  std::from_chars(text.data(), text.data() + text.size(), read);
  // Nearly always: the decimal text of a float, read as a double, might lie on the far side of a midpoint.
  if (!std::isfinite(value) || static_cast<float>(read) == value) return text;
  return number(static_cast<double>(value));
}

}  // namespace weft
