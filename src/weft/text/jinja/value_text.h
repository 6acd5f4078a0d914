// Values as text: Python's str(), repr() and json.dumps().
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/value.h"

namespace weft::jinja {

std::string real_text(double value);  // "1.0", "1e+16", "inf"

std::string str(Run& run, const Value& value);
std::string repr(Run& run, const Value& value);
// Without HTML's own characters, unless the value is markup.
std::string escaped(Run& run, const Value& value);
std::string escape_html(std::string_view text);
// The text as markup where `like` is.
Value like(const Value& like, std::string text);

struct JsonStyle {
  bool ensure_ascii = false, sort_keys = false;
  std::optional<std::string> indent = {};  // one level of it; absent: all on one line
  std::string item_separator = ", ", key_separator = ": ";
};
std::string json_text(Run& run, const Value& value, const JsonStyle& style);

}  // namespace weft::jinja
