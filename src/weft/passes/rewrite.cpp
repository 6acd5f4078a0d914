#include "weft/passes/rewrite.h"

#include <algorithm>
#include <utility>

#include "weft/base/fail.h"

namespace weft {

Rewriter::Rewriter(const Graph& source) : source_(source), target_(source.name()), mapped_(source.nodes().size()) {
  for (const StateDecl& state : source.states()) target_.add_state(state);
  for (std::int32_t i = 0; i < source.size(); ++i)
    mapped_[static_cast<std::size_t>(i)].resize(source.node(i).outputs.size());
}

Value Rewriter::map(Value old) const {
  if (!old.defined()) return old;
  return mapped_[static_cast<std::size_t>(old.node)][static_cast<std::size_t>(old.port)];
}

void Rewriter::replace(Value old, Value value) {
  mapped_[static_cast<std::size_t>(old.node)][static_cast<std::size_t>(old.port)] = value;
}

std::int32_t Rewriter::copy(std::int32_t index, const Attributes& attributes) {
  const Node& node = source_.node(index);
  Attributes all = attributes;
  for (std::size_t i = 0; i < node.attributes.size(); ++i) {
    const std::string& name = node.schema->attributes[i].name;
    const bool overridden = std::any_of(attributes.begin(), attributes.end(),
                                        [&](const Attribute& attribute) { return attribute.name == name; });
    if (!overridden) all.emplace_back(name, node.attributes[i]);
  }
  std::vector<Value> inputs;
  for (const Value& input : node.inputs) inputs.push_back(map(input));
  NodeOptions options{.origin = node.origin, .backend_hint = node.backend_hint};
  for (const OutputInfo& output : node.outputs) options.names.push_back(output.name);
  const std::int32_t copied = target_.add(*node.schema, std::move(inputs), all, std::move(options));
  for (std::size_t port = 0; port < node.outputs.size(); ++port)
    mapped_[static_cast<std::size_t>(index)][port] = {copied, static_cast<std::int32_t>(port)};
  return copied;
}

std::int32_t Rewriter::keep(std::int32_t index) {
  Node node = source_.node(index);
  for (Value& input : node.inputs) input = map(input);
  const std::size_t ports = node.outputs.size();
  const std::int32_t kept = target_.append_unchecked(std::move(node));
  for (std::size_t port = 0; port < ports; ++port)
    mapped_[static_cast<std::size_t>(index)][port] = {kept, static_cast<std::int32_t>(port)};
  return kept;
}

Graph Rewriter::finish() {
  for (const auto& [name, bounds] : source_.symbols())
    if (target_.symbols().contains(name)) target_.set_symbol(name, bounds);
  for (const GraphOutput& output : source_.outputs()) target_.add_output(output.name, map(output.value));
  return std::move(target_);
}

Graph with_input_shapes(const Graph& graph, const std::map<std::string, Shape>& shapes) {
  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    const auto it = node.schema->name == "Input" ? shapes.find(node.text("name")) : shapes.end();
    rewriter.copy(i, it == shapes.end() ? Attributes{} : Attributes{{"shape", AttributeValue(it->second)}});
  }
  return rewriter.finish();
}

}  // namespace weft
