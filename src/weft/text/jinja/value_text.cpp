#include "weft/text/jinja/value_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "weft/text/code_points.h"

namespace weft::jinja {
namespace {

void append_repr(Run& run, const Value& value, std::string& out);

void append_text_repr(std::string_view text, std::string& out) {
  const char quote = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  for (const char32_t c : text::to_code_points(text)) {
    if (c == static_cast<char32_t>(quote) || c == '\\')
      (out += '\\') += static_cast<char>(c);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (text::is_printable(c))
      text::append_utf8(out, c);
    else if (c < 0x100)
      out += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(c));
    else if (c < 0x10000)
      out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c));
    else
      out += fmt::format("\\U{:08x}", static_cast<std::uint32_t>(c));
  }
  out += quote;
}

void append_items(Run& run, const std::vector<Value>& items, std::string& out) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(run, items[i], out);
  }
}

void append_sequence_repr(Run& run, const Sequence& sequence, std::string& out) {
  using Kind = Sequence::Kind;
  const auto& items = sequence.items;
  if (sequence.kind == Kind::range) {
    const std::int64_t first = items.empty() ? 0 : *items[0].integer();
    const std::int64_t step = items.size() < 2 ? 1 : *items[1].integer() - first;
    out += fmt::format("range({}, {}", first, first + step * static_cast<std::int64_t>(items.size()));
    out += step == 1 ? ")" : fmt::format(", {})", step);
    return;
  }
  if (sequence.kind == Kind::tuple) {
    out += '(';
    append_items(run, items, out);
    out += items.size() == 1 ? ",)" : ")";
    return;
  }
  const bool view = sequence.kind != Kind::list;
  if (view)
    out += sequence.kind == Kind::keys ? "dict_keys(" : sequence.kind == Kind::values ? "dict_values(" : "dict_items(";
  out += '[';
  append_items(run, items, out);
  out += view ? "])" : "]";
}

void append_repr(Run& run, const Value& value, std::string& out) {
  run.step();
  if (value.is_undefined())
    out += "Undefined";
  else if (value.is_none())
    out += "None";
  else if (const bool* flag = value.boolean())
    out += *flag ? "True" : "False";
  else if (const double* real = value.real())
    out += real_text(*real);
  else if (const auto whole = value.integer())
    out += std::to_string(*whole);
  else if (value.is_markup()) {
    out += "Markup(";
    append_text_repr(*value.text(), out);
    out += ')';
  } else if (const std::string* text = value.text())
    append_text_repr(*text, out);
  else if (const Sequence* sequence = value.sequence())
    append_sequence_repr(run, *sequence, out);
  else if (const Mapping* mapping = value.mapping()) {
    out += '{';
    for (std::size_t i = 0; i < mapping->size(); ++i) {
      const auto& [key, member] = mapping->members()[i];
      if (i > 0) out += ", ";
      append_repr(run, key, out);
      out += ": ";
      append_repr(run, member, out);
    }
    out += '}';
  } else {
    run.fail("a {} has no text of its own{}", value.type_name(), value.iterator() != nullptr ? "; use |list" : "");
  }
  if (out.size() > run.limits().output_bytes) run.charge(out.size());
}

void append_json_text(std::string_view text, bool ensure_ascii, std::string& out) {
  out += '"';
  const auto escape = [&](std::uint32_t unit) { out += fmt::format("\\u{:04x}", unit); };
  for (const char32_t c : text::to_code_points(text)) {
    constexpr std::string_view named = "\"\\\n\r\t\f\b", letters = "\"\\nrtfb";
    const std::size_t at = c < 0x80 ? named.find(static_cast<char>(c)) : std::string_view::npos;
    if (at != std::string_view::npos)
      (out += '\\') += letters[at];
    else if (c < 0x20 || (ensure_ascii && c >= 0x7F && c < 0x10000))
      escape(c);
    else if (ensure_ascii && c >= 0x10000) {
      escape(0xD800 + ((c - 0x10000) >> 10));
      escape(0xDC00 + ((c - 0x10000) & 0x3FF));
    } else {
      text::append_utf8(out, c);
    }
  }
  out += '"';
}

std::string json_real(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return real_text(value);
}

class JsonWriter {
 public:
  JsonWriter(Run& run, const JsonStyle& style) : run_(run), style_(style) {}

  void append(const Value& value, int level) {
    run_.step();
    if (value.is_none())
      out += "null";
    else if (const bool* flag = value.boolean())
      out += *flag ? "true" : "false";
    else if (const double* real = value.real())
      out += json_real(*real);
    else if (const auto whole = value.integer())
      out += std::to_string(*whole);
    else if (const std::string* text = value.text())
      append_json_text(*text, style_.ensure_ascii, out);
    else if (const Mapping* mapping = value.mapping())
      append_mapping(*mapping, level);
    else if (const Sequence* items = value.sequence();
             items != nullptr && (items->kind == Sequence::Kind::list || items->kind == Sequence::Kind::tuple))
      append_list(items->items, level);
    else
      run_.fail("a value of type {} cannot be written as JSON", value.type_name());
    if (out.size() > run_.limits().output_bytes) run_.charge(out.size());
  }

  std::string out;

 private:
  void new_line(int level) {
    if (!style_.indent) return;
    out += '\n';
    for (int i = 0; i < level; ++i) out += *style_.indent;
  }

  void append_list(const std::vector<Value>& items, int level) {
    out += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += style_.item_separator;
      new_line(level + 1);
      append(items[i], level + 1);
    }
    if (!items.empty()) new_line(level);
    out += ']';
  }

  std::string key_text(const Value& key) {
    if (const std::string* text = key.text()) return *text;
    if (const bool* flag = key.boolean()) return *flag ? "true" : "false";
    if (key.is_none()) return "null";
    if (const double* real = key.real()) return json_real(*real);
    if (const auto whole = key.integer()) return std::to_string(*whole);
    run_.fail("a key of type {} cannot be written as JSON", key.type_name());
  }

  void append_mapping(const Mapping& mapping, int level) {
    std::vector<std::pair<std::string, const Value*>> members;
    for (const auto& [key, value] : mapping.members()) members.emplace_back(key_text(key), &value);
    if (style_.sort_keys)
      std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    out += '{';
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out += style_.item_separator;
      new_line(level + 1);
      append_json_text(members[i].first, style_.ensure_ascii, out);
      out += style_.key_separator;
      append(*members[i].second, level + 1);
    }
    if (!members.empty()) new_line(level);
    out += '}';
  }

  Run& run_;
  const JsonStyle& style_;
};

}  // namespace

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  // The shortest digits that read back as this value; an exponent below 1e-4 and from 1e16 on.
  std::array<char, 64> buffer{};
  const double size = std::abs(value);
  const bool exponent = size != 0 && (size < 1e-4 || size >= 1e16);
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 exponent ? std::chars_format::scientific : std::chars_format::fixed)
                       .ptr;
  std::string text(buffer.data(), end);
  if (!exponent && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string str(Run& run, const Value& value) {
  if (value.is_undefined()) return "";
  if (const std::string* text = value.text()) return *text;
  return repr(run, value);
}

std::string repr(Run& run, const Value& value) {
  std::string out;
  append_repr(run, value, out);
  run.charge(out.size());
  return out;
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '\'': out += "&#39;"; break;
      case '"': out += "&#34;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string escaped(Run& run, const Value& value) {
  return value.is_markup() ? *value.text() : escape_html(str(run, value));
}

Value like(const Value& like, std::string text) {
  return like.is_markup() ? Value::markup(std::move(text)) : Value(std::move(text));
}

std::string json_text(Run& run, const Value& value, const JsonStyle& style) {
  JsonWriter writer(run, style);
  writer.append(value, 0);
  run.charge(writer.out.size());
  return std::move(writer.out);
}

}  // namespace weft::jinja
