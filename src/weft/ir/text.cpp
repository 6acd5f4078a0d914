#include "weft/ir/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "weft/base/sha256.h"
#include "weft/ir/text_names.h"
#include "weft/ir/text_values.h"

namespace weft {

bool is_bare_name(std::string_view name) {
  return !name.empty() && !is_digit(name[0]) && name != "_" && std::all_of(name.begin(), name.end(), is_name_character);
}

namespace {

constexpr std::size_t max_inline_bytes = 256;
constexpr std::size_t blob_bytes_per_line = 64;

std::string name_text(std::string_view name) { return is_bare_name(name) ? std::string(name) : quoted(name); }

std::string hex(std::span<const std::byte> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += digits[std::to_integer<unsigned>(byte) >> 4];
    text += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

std::string bounds_text(Interval bounds) {
  return fmt::format("[{}, {}]", bounds.low,
                     bounds.high == unbounded ? std::string("unbounded") : std::to_string(bounds.high));
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  std::string print() {
    line("graph @{} {{\n", name_text(graph_.name()));
    print_symbols();
    for (const StateDecl& state : graph_.states()) print_state(state);
    for (std::int32_t i = 0; i < graph_.size(); ++i) print_node(i);
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const GraphOutput& output = graph_.outputs()[i];
      line("{}{}={}", i == 0 ? "  return " : ", ", name_text(output.name), value_text(output.value));
    }
    line("{}}}\n", graph_.outputs().empty() ? "" : "\n");
    for (const std::string& digest : blob_order_) print_blob(digest, blobs_.at(digest));
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  // Those that a graph built from the rest of the text would not get by itself.
  void print_symbols() {
    Graph implied;
    for (const StateDecl& state : graph_.states()) implied.add_state(state);
    DimBounds by_rest = implied.symbols();
    std::set<std::string> mentioned;
    for (const Node& node : graph_.nodes())
      for (const OutputInfo& output : node.outputs)
        for (const Dim& dim : output.type.shape) dim.collect_symbols(mentioned);
    for (const std::string& name : mentioned) by_rest.try_emplace(name, Interval{0, unbounded});
    for (const auto& [name, bounds] : graph_.symbols()) {
      const auto it = by_rest.find(name);
      if (it == by_rest.end() || it->second.low != bounds.low || it->second.high != bounds.high)
        line("  symbol {} in {}\n", name, bounds_text(bounds));
    }
  }

  void print_state(const StateDecl& state) {
    line("  state @{} {{kind={}, dtype={}, planes=[{}], length={}", name_text(state.name), state_kind_name(state.kind),
         to_string(state.dtype), fmt::join(state.planes, ", "), state.length.text());
    if (state.capacity) line(", capacity={}", *state.capacity);
    line("}}\n");
  }

  void print_node(std::int32_t index) {
    const Node& node = graph_.node(index);
    line("  %{}", index);
    if (node.outputs.size() != 1) line(":{}", node.outputs.size());
    line(" = {}", node.schema == nullptr ? "?" : name_text(node.schema->name));
    print_attributes(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      line("{}{}", i == 0 ? "(" : ", ", node.inputs[i].defined() ? value_text(node.inputs[i]) : "_");
    line("{}", node.inputs.empty() ? "()" : ")");
    for (std::size_t port = 0; port < node.outputs.size(); ++port) {
      const OutputInfo& output = node.outputs[port];
      line("{}{}", port == 0 ? " : " : ", ", output.type.text());
      if (!output.name.empty()) line(" name={}", quoted(output.name));
    }
    print_origin(node.origin);
    if (!node.backend_hint.empty()) line(" hint={}", quoted(node.backend_hint));
    line("\n");
  }

  void print_attributes(const Node& node) {
    bool first = true;
    for (std::size_t i = 0; i < node.attributes.size(); ++i) {
      if (node.schema == nullptr || i >= node.schema->attributes.size()) break;
      const AttributeSpec& spec = node.schema->attributes[i];
      if (same_value(node.attributes[i], spec.default_value)) continue;
      line("{}{}={}", first ? "{" : ", ", name_text(spec.name), attribute(node.attributes[i], spec.type));
      first = false;
    }
    if (!first) line("}}");
  }

  std::string attribute(const AttributeValue& value, AttributeType type) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) return tensor_text(*tensor);
    if (const auto* text = std::get_if<std::string>(&value); text != nullptr && type == AttributeType::choice)
      return name_text(*text);
    // A graph that was never verified may hold a value of another type than its schema says.
    return holds(value, type) || std::holds_alternative<std::monostate>(value) ? attribute_text(value, type) : "?";
  }

  std::string tensor_text(const Tensor& tensor) {
    std::string text = fmt::format("{}{}", to_string(tensor.dtype()), dims_text(tensor.dims()));
    if (tensor.byte_size() > max_inline_bytes) {
      const std::string digest = sha256_hex(tensor.bytes());
      if (blobs_.emplace(digest, tensor).second) blob_order_.push_back(digest);
      return fmt::format("{}blob({})", text, digest);
    }
    if (const auto values = values_text(tensor)) return fmt::format("{}{{{}}}", text, *values);
    return fmt::format("{}hex{{{}}}", text, hex(tensor.bytes()));
  }

  void print_origin(const Origin& origin) {
    if (origin.empty()) return;
    std::vector<std::string> fields;
    if (!origin.format.empty()) fields.push_back("format=" + quoted(origin.format));
    if (origin.id) fields.push_back(fmt::format("id={}", *origin.id));
    if (!origin.op.empty()) fields.push_back("op=" + quoted(origin.op));
    if (!origin.label.empty()) fields.push_back("label=" + quoted(origin.label));
    if (!origin.also.empty()) {
      std::vector<std::string> labels;
      for (const std::string& label : origin.also) labels.push_back(quoted(label));
      fields.push_back(fmt::format("also=[{}]", fmt::join(labels, ", ")));
    }
    line(" origin={{{}}}", fmt::join(fields, ", "));
  }

  void print_blob(const std::string& digest, const Tensor& tensor) {
    line("\nblob({}) {} bytes {{\n", digest, tensor.byte_size());
    const auto bytes = tensor.bytes();
    for (std::size_t at = 0; at < bytes.size(); at += blob_bytes_per_line)
      line("  {}\n", hex(bytes.subspan(at, std::min(blob_bytes_per_line, bytes.size() - at))));
    line("}}\n");
  }

  static std::string value_text(Value value) {
    return value.port == 0 ? fmt::format("%{}", value.node) : fmt::format("%{}#{}", value.node, value.port);
  }

  const Graph& graph_;
  std::string out_;
  std::map<std::string, Tensor> blobs_;  // by digest
  std::vector<std::string> blob_order_;  // of first use
};

}  // namespace

std::string to_text(const Graph& graph) { return Printer(graph).print(); }

}  // namespace weft
