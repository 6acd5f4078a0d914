#include "weft/formats/graph_ir/toml_form.h"

#include <toml++/toml.h>
#include <algorithm>

#include "weft/base/fail.h"
#include "weft/base/utf8.h"
#include "weft/formats/graph_ir/text_form.h"

namespace weft::graph_ir {
namespace {

// ---- reading ----------------------------------------------------------------------------------------------------

// toml++ walks and destroys tables recursively, and a dotted key nests a table per dot. Strings and comments are
// skipped as the TOML grammar has them.
class DottedKeyGuard {
 public:
  static constexpr std::size_t max_dots = 32;

  explicit DottedKeyGuard(std::string_view text) : text_(text) {}

  // Offset at which a key nests too deeply.
  std::optional<std::size_t> find() {
    std::size_t dots = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c == '.' && ++dots > max_dots) return at_;
      if (c != '.' && c != ' ' && c != '\t' && c != '-' && c != '_' && std::isalnum(static_cast<unsigned char>(c)) == 0)
        dots = 0;
      ++at_;
    }
    return std::nullopt;
  }

 private:
  void skip_string(char quote) {
    const std::string triple(3, quote);
    const bool multi_line = text_.substr(at_, 3) == triple;
    at_ += multi_line ? 3 : 1;
    while (at_ < text_.size()) {
      if (text_[at_] == '\\' && quote == '"') {
        at_ += 2;
      } else if (multi_line && text_.substr(at_, 3) == triple) {
        at_ += 3;
        return;
      } else if (!multi_line && (text_[at_] == quote || text_[at_] == '\n')) {
        ++at_;
        return;
      } else {
        ++at_;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

[[noreturn]] void bad_syntax(const std::string& source, std::size_t line, std::size_t column, std::string_view reason) {
  fail(ErrorKind::bad_file, "TomlSyntax", fmt::format("{}:{}:{}", source, line, column), "{}", reason);
}

class TreeBuilder {
 public:
  explicit TreeBuilder(const std::string& source) : source_(source) {}

  TextValue build(const toml::node& node) const {
    TextValue value;
    value.line = node.source().begin.line;
    value.column = node.source().begin.column;
    if (const auto* table = node.as_table()) {
      TextTable entries;
      for (const auto& [key, entry] : *table) entries.emplace_back(std::string(key.str()), build(entry));
      value.data = std::move(entries);
    } else if (const auto* array = node.as_array()) {
      TextArray entries;
      for (const toml::node& entry : *array) entries.push_back(build(entry));
      value.data = std::move(entries);
    } else if (const auto* flag = node.as_boolean()) {
      value.data = flag->get();
    } else if (const auto* whole = node.as_integer()) {
      value.data = whole->get();
    } else if (const auto* number = node.as_floating_point()) {
      value.data = number->get();
    } else if (const auto* text = node.as_string()) {
      value.data = text->get();
    } else {
      fail(ErrorKind::bad_file, "TomlType", fmt::format("{}:{}:{}", source_, value.line, value.column),
           "a graph holds no dates or times");
    }
    return value;
  }

 private:
  const std::string& source_;
};

// ---- writing ----------------------------------------------------------------------------------------------------

bool is_bare_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-');
  });
}

std::string key_text(std::string_view key) { return is_bare_key(key) ? std::string(key) : quoted_text(key); }

std::string inline_text(const TextValue& value) {
  if (const auto* flag = value.get_if<bool>()) return *flag ? "true" : "false";
  if (const auto* whole = value.get_if<std::int64_t>()) return fmt::format("{}", *whole);
  if (const auto* number = value.get_if<double>()) return float_text(static_cast<float>(*number));
  if (const auto* text = value.get_if<std::string>()) return quoted_text(*text);
  std::vector<std::string> parts;
  for (const TextValue& entry : std::get<TextArray>(value.data)) parts.push_back(inline_text(entry));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

bool is_array_of_tables(const TextValue& value) {
  const auto* array = value.get_if<TextArray>();
  return array != nullptr && !array->empty() && array->front().get_if<TextTable>() != nullptr;
}

void write_table(std::string& out, const std::string& path, const TextTable& table) {
  for (const auto& [key, value] : table)
    if (value.get_if<TextTable>() == nullptr && !is_array_of_tables(value))
      out += fmt::format("{} = {}\n", key_text(key), inline_text(value));
  for (const auto& [key, value] : table) {
    const std::string inner = path.empty() ? key_text(key) : fmt::format("{}.{}", path, key_text(key));
    if (const auto* nested = value.get_if<TextTable>()) {
      out += fmt::format("{}[{}]\n", path.empty() && !out.empty() ? "\n" : "", inner);
      write_table(out, inner, *nested);
    } else if (is_array_of_tables(value)) {
      for (const TextValue& entry : std::get<TextArray>(value.data)) {
        out += fmt::format("\n[[{}]]\n", inner);
        write_table(out, inner, std::get<TextTable>(entry.data));
      }
    }
  }
}

}  // namespace

Graph parse_toml(std::string_view text, const std::string& source) {
  if (text.size() > max_text_bytes)
    fail(ErrorKind::bad_file, "TooLarge", source, "the text of a graph may have {} bytes, found {}", max_text_bytes,
         text.size());
  if (const auto at = find_invalid_utf8(text))
    fail(ErrorKind::bad_file, "InvalidUtf8", fmt::format("{}@{:#x}", source, *at), "TOML must be UTF-8");
  if (const auto at = DottedKeyGuard(text).find()) {
    const auto line_start = text.rfind('\n', *at);
    bad_syntax(
        source,
        static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(*at), '\n')) + 1,
        *at - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1, "this key nests too deeply");
  }
  toml::table root;
  try {
    root = toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    bad_syntax(source, error.source().begin.line, error.source().begin.column, error.description());
  }
  return graph_from_tree(TreeBuilder(source).build(root), "Toml", source);
}

std::string to_toml(const Graph& graph, const TextOptions& options) {
  std::string out;
  write_table(out, "", graph_to_tree(graph, options));
  return out;
}

}  // namespace weft::graph_ir
