#include "weft/ir/dot.h"

#include <fmt/format.h>

#include <iterator>

namespace weft {
namespace {

// Lines of a label, centered; DOT reads backslashes and quotes, and control characters have no picture.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return out;
}

// The attributes that fit on a line each; a leaf's shape and dtype are on its edges.
std::string attributes_of(const Node& node) {
  std::string lines;
  for (std::size_t i = 0; i < node.attributes.size() && i < node.schema->attributes.size(); ++i) {
    const AttributeSpec& spec = node.schema->attributes[i];
    if (same_value(node.attributes[i], spec.default_value) || !holds(node.attributes[i], spec.type)) continue;
    if (node.schema->op_class == OpClass::leaf && (spec.name == "shape" || spec.name == "dtype")) continue;
    lines += "\\n" + escaped(spec.name + " = " + attribute_text(node.attributes[i], spec.type));
  }
  return lines;
}

}  // namespace

std::string to_dot(const Graph& graph) {
  std::string out;
  const auto line = [&]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
  };
  line("digraph \"{}\" {{\n", escaped(graph.name()));
  line("  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=10];\n");
  line("  edge [fontname=\"sans-serif\", fontsize=8];\n");
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.schema == nullptr) continue;
    std::string names;
    for (const OutputInfo& output : node.outputs)
      if (!output.name.empty()) names += "\\n" + escaped(output.name);
    const char* style = node.schema->name == "Param"             ? ", color=gray70, fontcolor=gray50"
                        : node.schema->op_class == OpClass::leaf ? ", style=\"rounded,bold\""
                                                                 : "";
    line("  n{} [label=\"%{} {}{}{}\"{}];\n", i, i, escaped(node.schema->name), names, attributes_of(node), style);
  }
  const auto edge = [&](Value from, const std::string& to) {
    const bool weight = graph.node(from.node).schema->name == "Param";
    line("  n{} -> {} [label=\"{}{}\"{}];\n", from.node, to, from.port == 0 ? "" : fmt::format("#{} ", from.port),
         escaped(graph.type(from).text()), weight ? ", color=gray70, fontcolor=gray50" : "");
  };
  for (std::int32_t i = 0; i < graph.size(); ++i)
    for (const Value input : graph.node(i).inputs)
      if (input.defined()) edge(input, fmt::format("n{}", i));
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    line("  out{} [label=\"{}\", shape=ellipse];\n", i, escaped(graph.outputs()[i].name));
    edge(graph.outputs()[i].value, fmt::format("out{}", i));
  }
  line("}}\n");
  return out;
}

}  // namespace weft
