#include "weft/formats/toml_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/base/fail.h"
#include "weft/formats/toml_node.h"
#include "weft/formats/toml_number.h"

namespace weft {
namespace {

bool is_bare_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

void append_utf8(std::string& text, std::uint32_t c) {
  const auto byte = [](std::uint32_t bits) { return static_cast<char>(bits); };
  if (c < 0x80) {
    text += byte(c);
  } else if (c < 0x800) {
    text += byte(0xC0 | c >> 6);
    text += byte(0x80 | (c & 63));
  } else if (c < 0x10000) {
    text += byte(0xE0 | c >> 12);
    text += byte(0x80 | (c >> 6 & 63));
    text += byte(0x80 | (c & 63));
  } else {
    text += byte(0xF0 | c >> 18);
    text += byte(0x80 | (c >> 12 & 63));
    text += byte(0x80 | (c >> 6 & 63));
    text += byte(0x80 | (c & 63));
  }
}

}  // namespace

std::string_view type_text(const TomlValue& value) {
  constexpr std::array<std::string_view, 7> names{"a string", "an integer", "a number", "a bool",
                                                  "a date",   "an array",   "a table"};
  return names[value.data.index()];
}

TomlReader::TomlReader(std::string_view text, TomlSource source, TomlLimits limits)
    : text_(text), source_(std::move(source)), limits_(limits) {}

std::string TomlReader::where(std::size_t offset) const {
  const std::string_view before = text_.substr(0, offset);
  const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("{}:{}:{}{}", source_.file, source_.first_line + line, offset - line_start + 1,
                     source_.section.empty() ? "" : fmt::format(" (section {})", source_.section));
}

void TomlReader::refuse_at(std::size_t offset, std::string_view reason) const {
  fail(ErrorKind::bad_file, "Toml", where(offset), "{}", reason);
}

void TomlReader::refuse(std::string_view reason) const { refuse_at(item_, reason); }

// --- white space and lines ------------------------------------------------------------------------------------------

bool TomlReader::accept(char c) {
  if (done() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool TomlReader::accept_newline() {
  if (peek() == '\r' && peek(1) == '\n') ++at_;
  return accept('\n');
}

void TomlReader::skip_blanks() {
  while (!done() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
}

void TomlReader::skip_comment() {
  if (peek() != '#') return;
  while (!done() && text_[at_] != '\n') {
    if (text_[at_] == '\r' && peek(1) == '\n') return;
    check_character(static_cast<unsigned char>(text_[at_]), false);
    ++at_;
  }
}

void TomlReader::skip_blanks_and_lines() {
  do {
    skip_blanks();
    skip_comment();
  } while (accept_newline());
}

void TomlReader::end_line() {
  skip_blanks();
  skip_comment();
  if (!done() && !accept_newline()) refuse_here("the line must end here");
}

// --- items ----------------------------------------------------------------------------------------------------------

TomlReader::Item TomlReader::next() {
  if (value_pending_) read_value();
  if (std::exchange(line_open_, false)) end_line();
  skip_blanks_and_lines();
  item_ = at_;
  if (done()) return Item::end;
  if (!accept('[')) {
    read_key(path_);
    if (!accept('=')) refuse_here("a key must be followed by '='");
    skip_blanks();
    value_pending_ = true;
    return Item::key;
  }
  const bool array = accept('[');
  skip_blanks();
  read_key(path_);
  if (!accept(']') || (array && !accept(']'))) refuse_here("the header must be closed here");
  line_open_ = true;
  return array ? Item::table_array : Item::table;
}

void TomlReader::read_key(std::vector<std::string>& parts) {
  std::size_t count = 0;
  do {
    skip_blanks();
    if (count == limits_.nesting)
      fail(ErrorKind::bad_file, "LimitExceeded", where(at_), "a key of more than {} parts", limits_.nesting);
    if (count == parts.size()) parts.emplace_back();
    read_key_part(parts[count++]);
    skip_blanks();
  } while (accept('.'));
  parts.resize(count);
}

void TomlReader::read_key_part(std::string& part) {
  part.clear();
  if (peek() == '"') {
    ++at_;
    read_basic(part, false);
  } else if (peek() == '\'') {
    ++at_;
    read_literal(part, false);
  } else {
    const std::size_t start = at_;
    while (!done() && is_bare_key(text_[at_])) ++at_;
    if (at_ == start) refuse_here("a key is expected here");
    part.assign(text_.substr(start, at_ - start));
  }
}

// --- values ---------------------------------------------------------------------------------------------------------

TomlValue TomlReader::read_value() {
  value_pending_ = false;
  line_open_ = true;
  values_ = 0;
  TomlValue value;
  read_value_into(value, 1);
  return value;
}

bool TomlReader::read_string(std::string& text) {
  if (peek() != '"' && peek() != '\'') return false;
  value_pending_ = false;
  line_open_ = true;
  read_any_string(text);
  return true;
}

bool TomlReader::read_strings(std::string* texts, std::size_t count) {
  if (peek() != '[') return false;
  value_pending_ = false;
  line_open_ = true;
  ++at_;
  for (std::size_t i = 0; i < count; ++i) {
    skip_blanks_and_lines();
    if (peek() != '"' && peek() != '\'') refuse(fmt::format("an array of {} strings is expected", count));
    read_any_string(texts[i]);
    skip_blanks_and_lines();
    if (!accept(',') && i + 1 < count) refuse(fmt::format("an array of {} strings is expected", count));
  }
  skip_blanks_and_lines();
  if (!accept(']')) refuse(fmt::format("an array of {} strings is expected", count));
  return true;
}

void TomlReader::read_value_into(TomlValue& value, std::size_t depth) {
  if (++values_ > limits_.values)
    fail(ErrorKind::bad_file, "LimitExceeded", where(at_), "more than {} values in one", limits_.values);
  if (depth > limits_.nesting)
    fail(ErrorKind::bad_file, "LimitExceeded", where(at_), "values nest deeper than {}", limits_.nesting);
  switch (peek()) {
    case '"':
    case '\'': read_any_string(value.data.emplace<std::string>()); break;
    case '[': read_array(value, depth); break;
    case '{': read_inline_table(value, depth); break;
    default: read_bare(value);
  }
}

void TomlReader::read_array(TomlValue& value, std::size_t depth) {
  ++at_;
  TomlArray& array = value.data.emplace<TomlArray>();
  for (;;) {
    skip_blanks_and_lines();
    if (accept(']')) return;
    read_value_into(array.emplace_back(), depth + 1);
    skip_blanks_and_lines();
    if (accept(']')) return;
    if (!accept(',')) refuse_here("an array goes on with ',' or ends with ']'");
  }
}

void TomlReader::read_inline_table(TomlValue& value, std::size_t depth) {
  ++at_;
  TomlNode table;
  std::vector<std::string> path;
  skip_blanks();
  while (!accept('}')) {
    if (!path.empty() && !accept(',')) refuse_here("an inline table goes on with ',' or ends with '}'");
    read_key(path);
    if (!accept('=')) refuse_here("a key must be followed by '='");
    skip_blanks();
    const std::size_t start = at_;
    TomlValue member;
    read_value_into(member, depth + path.size());
    if (const std::string* taken = table.insert(path, std::move(member), 0))
      refuse_at(start, fmt::format("\"{}\" is defined already", *taken));
    skip_blanks();
  }
  value.data = table.finish();
}

void TomlReader::read_bare(TomlValue& value) {
  const std::string_view token = text_.substr(at_, toml_bare_length(text_.substr(at_)));
  auto parsed = parse_toml_bare(token);
  if (!parsed)
    refuse_here(token.empty() ? std::string("a value is expected here")
                              : fmt::format("\"{}\" is no value of TOML, or does not fit", token.substr(0, 40)));
  at_ += token.size();
  value = std::move(*parsed);
}

// --- strings --------------------------------------------------------------------------------------------------------

void TomlReader::read_any_string(std::string& text) {
  text.clear();
  const char quote = text_[at_++];
  const bool multiline = peek() == quote && peek(1) == quote;
  if (multiline) {
    at_ += 2;
    accept_newline();  // one right after the opening quotes does not count
  }
  quote == '"' ? read_basic(text, multiline) : read_literal(text, multiline);
}

void TomlReader::check_character(unsigned char c, bool multiline) {
  if (c == '\t' || (c >= 0x20 && c != 0x7F)) return;
  if (multiline && (c == '\n' || (c == '\r' && peek(1) == '\n'))) return;
  refuse_here(c == '\n' || c == '\r' ? "a string must end on its line"
                                     : "control characters must be written as escapes");
}

// Up to five quotes may end a multi-line string: two of them belong to it.
std::size_t TomlReader::closing_quotes(char quote) {
  std::size_t count = 0;
  while (count < 5 && peek(count) == quote) ++count;
  return count;
}

void TomlReader::read_basic(std::string& text, bool multiline) {
  for (;;) {
    const std::size_t start = at_;
    while (!done() && text_[at_] != '"' && text_[at_] != '\\') {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c < 0x20 || c == 0x7F) check_character(c, multiline);
      ++at_;
    }
    text.append(text_, start, at_ - start);
    if (done()) refuse_here("a string has no end");
    if (accept('\\')) {
      read_escape(text, multiline);
      continue;
    }
    const std::size_t quotes = multiline ? closing_quotes('"') : 1;
    at_ += quotes;
    if (!multiline) return;
    text.append(quotes >= 3 ? quotes - 3 : quotes, '"');
    if (quotes >= 3) return;
  }
}

void TomlReader::read_literal(std::string& text, bool multiline) {
  for (;;) {
    const std::size_t start = at_;
    while (!done() && text_[at_] != '\'') {
      check_character(static_cast<unsigned char>(text_[at_]), multiline);
      ++at_;
    }
    text.append(text_, start, at_ - start);
    if (done()) refuse_here("a string has no end");
    const std::size_t quotes = multiline ? closing_quotes('\'') : 1;
    at_ += quotes;
    if (!multiline) return;
    text.append(quotes >= 3 ? quotes - 3 : quotes, '\'');
    if (quotes >= 3) return;
  }
}

void TomlReader::read_escape(std::string& text, bool multiline) {
  constexpr std::string_view letters = "btnfr\"\\", meanings = "\b\t\n\f\r\"\\";
  const char c = peek();
  if (const std::size_t known = letters.find(c); !done() && known != std::string_view::npos) {
    ++at_;
    text += meanings[known];
    return;
  }
  if (c == 'u' || c == 'U') {
    ++at_;
    std::uint32_t code = 0;
    for (int i = c == 'u' ? 4 : 8; i > 0; --i, ++at_) {
      const char digit = peek();
      const int value = digit >= '0' && digit <= '9'   ? digit - '0'
                        : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                        : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                                       : -1;
      if (value < 0) refuse_here("a hexadecimal digit is expected here");
      code = code << 4 | static_cast<std::uint32_t>(value);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) refuse_here("the escape names no Unicode character");
    append_utf8(text, code);
    return;
  }
  if (multiline) {
    // A backslash at the end of a line takes all white space up to the next character with it.
    const std::size_t start = at_;
    skip_blanks();
    if (accept_newline()) {
      do skip_blanks();
      while (accept_newline());
      return;
    }
    at_ = start;
  }
  refuse_here("an escape that TOML does not have");
}

}  // namespace weft
