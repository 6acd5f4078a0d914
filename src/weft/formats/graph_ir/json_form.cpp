#include "weft/formats/graph_ir/json_form.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/text_form.h"

namespace weft::graph_ir {
namespace {

// Builds the tree from nlohmann's events: unlike its own document, the tree keeps the order of keys, and a repeated key
// is seen.
class TreeSink : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeSink(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  TextValue root;

  bool null() override { refuse("JsonType", "a graph holds no null"); }
  bool boolean(bool value) override { return add({value}); }
  bool number_integer(number_integer_t value) override { return add({std::int64_t{value}}); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      refuse("JsonType", fmt::format("the integer {} exceeds 2^63", value));
    return add({static_cast<std::int64_t>(value)});
  }
  bool number_float(number_float_t value, const string_t&) override { return add({value}); }
  bool string(string_t& value) override { return add({std::move(value)}); }
  bool binary(binary_t&) override { refuse("JsonType", "a graph holds no binary values"); }
  bool key(string_t& value) override {
    if (!seen_.back().insert(value).second)
      refuse("JsonSyntax", fmt::format("the key \"{}\" stands twice in one object", value));
    keys_.push_back(std::move(value));
    return true;
  }
  bool start_object(std::size_t) override { return open({TextTable{}}); }
  bool start_array(std::size_t) override { return open({TextArray{}}); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    const std::size_t at = std::min(position == 0 ? 0 : position - 1, text_.size());
    const auto line_start = at == 0 ? std::string_view::npos : text_.rfind('\n', at - 1);
    const auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
    const std::string what = error.what();
    const std::size_t reason = what.find(": ");
    fail(ErrorKind::bad_file, "JsonSyntax",
         fmt::format("{}:{}:{}", source_, line, at - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1),
         "{}", reason == std::string::npos ? what : what.substr(reason + 2));
  }

 private:
  static constexpr std::size_t max_depth = 16;  // the form needs 6

  [[noreturn]] void refuse(const char* code, std::string message) const {
    fail(ErrorKind::bad_file, code, source_, "{}", std::move(message));
  }

  bool add(TextValue value) {
    if (open_.empty()) {
      root = std::move(value);
    } else if (auto* array = std::get_if<TextArray>(&open_.back().data)) {
      array->push_back(std::move(value));
    } else {
      std::get<TextTable>(open_.back().data).emplace_back(std::move(keys_.back()), std::move(value));
      keys_.pop_back();
    }
    return true;
  }
  bool open(TextValue value) {
    if (open_.size() == max_depth) refuse("JsonSyntax", "the document nests too deeply");
    open_.push_back(std::move(value));
    seen_.emplace_back();
    return true;
  }
  bool close() {
    TextValue done = std::move(open_.back());
    open_.pop_back();
    seen_.pop_back();
    return add(std::move(done));
  }

  std::string_view text_;
  const std::string& source_;
  std::vector<TextValue> open_;
  std::vector<std::unordered_set<std::string>> seen_;  // keys of each open value
  std::vector<std::string> keys_;                      // of the open objects whose value is being read
};

std::string scalar_text(const TextValue& value) {
  if (const auto* flag = value.get_if<bool>()) return *flag ? "true" : "false";
  if (const auto* whole = value.get_if<std::int64_t>()) return fmt::format("{}", *whole);
  if (const auto* text = value.get_if<std::string>()) return quoted_text(*text);
  const double number = std::get<double>(value.data);
  const std::string spelled = float_text(static_cast<float>(number));
  return std::isfinite(number) ? spelled : fmt::format("{{\"{}\": \"{}\"}}", float_key, spelled);
}

bool is_scalar(const TextValue& value) {
  return value.get_if<TextTable>() == nullptr && value.get_if<TextArray>() == nullptr;
}

void write_value(std::string& out, const TextValue& value, std::size_t depth) {
  if (is_scalar(value)) {
    out += scalar_text(value);
    return;
  }
  const std::string indent((depth + 1) * 2, ' ');
  if (const auto* array = value.get_if<TextArray>()) {
    const bool flat = std::all_of(array->begin(), array->end(), is_scalar);
    out += '[';
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (!flat)
        out += fmt::format("{}\n{}", i == 0 ? "" : ",", indent);
      else if (i > 0)
        out += ", ";
      write_value(out, (*array)[i], depth + 1);
    }
    if (!flat) out += fmt::format("\n{}", std::string(depth * 2, ' '));
    out += ']';
    return;
  }
  const auto& table = std::get<TextTable>(value.data);
  out += '{';
  for (std::size_t i = 0; i < table.size(); ++i) {
    out += fmt::format("{}\n{}{}: ", i == 0 ? "" : ",", indent, quoted_text(table[i].key));
    write_value(out, table[i].value, depth + 1);
  }
  out += table.empty() ? std::string("}") : fmt::format("\n{}}}", std::string(depth * 2, ' '));
}

}  // namespace

Graph parse_json(std::string_view text, const std::string& source) {
  if (text.size() > max_text_bytes)
    fail(ErrorKind::bad_file, "TooLarge", source, "the text of a graph may have {} bytes, found {}", max_text_bytes,
         text.size());
  TreeSink sink(text, source);
  nlohmann::json::sax_parse(text, &sink);
  return graph_from_tree(sink.root, "Json", source);
}

std::string to_json(const Graph& graph, const TextOptions& options) {
  std::string out;
  write_value(out, TextValue{graph_to_tree(graph, options)}, 0);
  out += '\n';
  return out;
}

}  // namespace weft::graph_ir
