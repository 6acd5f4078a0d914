#include "weft/ir/graph.h"

#include <algorithm>
#include <utility>

#include "weft/base/fail.h"
#include "weft/ir/infer.h"

namespace weft {
namespace {

// The name a leaf is bound by; null for other ops.
const std::string* leaf_name(const Node& node, std::string_view op) {
  if (node.schema->name != op) return nullptr;
  return &node.text("name");
}

}  // namespace

const AttributeValue& Node::attribute(std::string_view name) const {
  const auto index = schema->attribute_index(name);
  if (!index) fail(ErrorKind::invalid_argument, "BadAttribute", schema->name, "the op has no attribute {}", name);
  return attributes[*index];
}

std::optional<std::int64_t> Node::optional_integer(std::string_view name) const {
  const auto* value = std::get_if<std::int64_t>(&attribute(name));
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<double> Node::optional_real(std::string_view name) const {
  const auto* value = std::get_if<double>(&attribute(name));
  return value == nullptr ? std::nullopt : std::optional(*value);
}

Graph::Graph(std::string name) : name_(std::move(name)) {}

std::int32_t Graph::add(std::string_view op, std::vector<Value> inputs, const Attributes& attributes,
                        NodeOptions options) {
  return add(OpRegistry::global().at(op), std::move(inputs), attributes, std::move(options));
}

std::int32_t Graph::add(const OpSchema& schema, std::vector<Value> inputs, const Attributes& attributes,
                        NodeOptions options) {
  Node node;
  node.schema = &schema;
  node.inputs = std::move(inputs);
  node.origin = std::move(options.origin);
  node.backend_hint = std::move(options.backend_hint);
  const std::string where =
      fmt::format("[{}] node %{}{}", schema.name, size(),
                  options.names.empty() || options.names[0].empty() ? "" : " " + quoted(options.names[0]));
  for (const AttributeSpec& spec : schema.attributes) node.attributes.push_back(spec.default_value);
  std::vector<bool> given(schema.attributes.size(), false);
  for (const Attribute& attribute : attributes) {
    const auto index = schema.attribute_index(attribute.name);
    if (index && given[*index])
      fail(ErrorKind::invalid_argument, "BadAttribute", where, "{} is given twice", attribute.name);
    if (index) given[*index] = true;
    if (!index) fail(ErrorKind::invalid_argument, "BadAttribute", where, "the op has no attribute {}", attribute.name);
    node.attributes[*index] = attribute.value;
  }
  infer_node(*this, node, where);
  for (std::size_t port = 0; port < options.names.size() && port < node.outputs.size(); ++port)
    node.outputs[port].name = std::move(options.names[port]);
  return append_unchecked(std::move(node));
}

std::int32_t Graph::append_unchecked(Node node) {
  const std::int32_t index = size();
  for (std::size_t port = 0; port < node.outputs.size(); ++port) {
    const OutputInfo& output = node.outputs[port];
    if (!output.name.empty()) {
      const auto [it, fresh] = by_name_.try_emplace(output.name, Value{index, static_cast<std::int32_t>(port)});
      if (!fresh) {
        const std::string owner = label(it->second);
        // The node is not added, nor are its names.
        std::erase_if(by_name_, [&](const auto& entry) { return entry.second.node == index; });
        fail(ErrorKind::invalid_graph, "DuplicateProducer", fmt::format("[{}] node %{}", node.schema->name, index),
             "the name \"{}\" is already that of {}", output.name, owner);
      }
    }
    std::set<std::string> symbols;
    for (const Dim& dim : output.type.shape) dim.collect_symbols(symbols);
    for (const std::string& symbol : symbols) symbols_.try_emplace(symbol, Interval{0, unbounded});
  }
  nodes_.push_back(std::move(node));
  return index;
}

void Graph::add_output(std::string name, Value value) {
  type(value);  // must exist
  outputs_.push_back({std::move(name), value});
}

void Graph::add_state(StateDecl declared) {
  if (!state_index_.try_emplace(declared.name, states_.size()).second)
    fail(ErrorKind::invalid_graph, "DuplicateState", "@" + declared.name, "the state is declared twice");
  std::set<std::string> symbols;
  declared.length.collect_symbols(symbols);
  for (const std::string& symbol : symbols)
    symbols_.try_emplace(symbol, Interval{0, declared.capacity.value_or(unbounded)});
  states_.push_back(std::move(declared));
}

void Graph::set_symbol(const std::string& name, Interval bounds) { symbols_[name] = bounds; }

void Graph::set_name_of(Value value, std::string name) {
  std::string& stored = nodes_[static_cast<std::size_t>(value.node)].outputs[static_cast<std::size_t>(value.port)].name;
  if (stored == name) return;
  if (!name.empty() && !by_name_.try_emplace(name, value).second)
    fail(ErrorKind::invalid_graph, "DuplicateProducer", where(value.node), "the name \"{}\" is already that of {}",
         name, label(by_name_.at(name)));
  if (!stored.empty()) by_name_.erase(stored);
  stored = std::move(name);
}

const TensorType& Graph::type(Value value) const {
  if (value.node < 0 || value.node >= size() ||
      static_cast<std::size_t>(value.port) >= node(value.node).outputs.size() || value.port < 0)
    fail(ErrorKind::invalid_graph, "UndefinedInput", name_, "%{}#{} does not exist in a graph of {} nodes", value.node,
         value.port, size());
  return node(value.node).outputs[static_cast<std::size_t>(value.port)].type;
}

const StateDecl* Graph::state(std::string_view name) const {
  const auto it = state_index_.find(std::string(name));
  return it == state_index_.end() ? nullptr : &states_[it->second];
}

std::optional<Value> Graph::find_value(std::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  if (it == by_name_.end()) return std::nullopt;
  return it->second;
}

namespace {

std::vector<std::int32_t> leaves(const Graph& graph, std::string_view op) {
  std::vector<std::int32_t> found;
  for (std::int32_t i = 0; i < graph.size(); ++i)
    if (graph.node(i).schema->name == op) found.push_back(i);
  return found;
}

std::optional<std::int32_t> find_leaf(const Graph& graph, std::string_view op, std::string_view name) {
  for (std::int32_t i = 0; i < graph.size(); ++i)
    if (const std::string* leaf = leaf_name(graph.node(i), op); leaf != nullptr && *leaf == name) return i;
  return std::nullopt;
}

}  // namespace

std::optional<std::int32_t> Graph::find_input(std::string_view name) const { return find_leaf(*this, "Input", name); }
std::optional<std::int32_t> Graph::find_param(std::string_view name) const { return find_leaf(*this, "Param", name); }
std::vector<std::int32_t> Graph::inputs() const { return leaves(*this, "Input"); }
std::vector<std::int32_t> Graph::params() const { return leaves(*this, "Param"); }

std::vector<Value> Graph::users(Value value) const {
  std::vector<Value> found;
  for (std::int32_t i = 0; i < size(); ++i)
    for (std::size_t k = 0; k < node(i).inputs.size(); ++k)
      if (node(i).inputs[k] == value) found.push_back({i, static_cast<std::int32_t>(k)});
  return found;
}

std::size_t Graph::use_count(Value value) const {
  return users(value).size() +
         static_cast<std::size_t>(std::count_if(outputs_.begin(), outputs_.end(),
                                                [&](const GraphOutput& output) { return output.value == value; }));
}

std::vector<bool> Graph::live_nodes() const {
  std::vector<bool> live(nodes_.size(), false);
  for (const GraphOutput& output : outputs_) live[static_cast<std::size_t>(output.value.node)] = true;
  for (std::int32_t i = size(); i-- > 0;) {
    const auto at = static_cast<std::size_t>(i);
    if (!node(i).schema->effects.slots.empty() || node(i).schema->effects.impure) live[at] = true;
    if (!live[at]) continue;
    for (const Value& input : node(i).inputs)
      if (input.defined()) live[static_cast<std::size_t>(input.node)] = true;
  }
  return live;
}

bool Graph::is_dynamic() const {
  for (const Node& node : nodes_)
    for (const OutputInfo& output : node.outputs)
      if (!output.type.shape.is_static()) return true;
  return false;
}

std::string Graph::label(Value value) const {
  std::string id = value.port == 0 ? fmt::format("%{}", value.node) : fmt::format("%{}#{}", value.node, value.port);
  if (value.node < 0 || value.node >= size()) return id;
  const auto& outputs = node(value.node).outputs;
  if (static_cast<std::size_t>(value.port) >= outputs.size()) return id;
  const std::string& name = outputs[static_cast<std::size_t>(value.port)].name;
  return name.empty() ? id : fmt::format("{} ({})", name, id);
}

std::string Graph::where(std::int32_t index) const {
  const Node& at = node(index);
  std::string name = at.outputs.empty() || at.outputs[0].name.empty() ? at.origin.label : at.outputs[0].name;
  return fmt::format("[{}] node %{}{}", at.schema->name, index, name.empty() ? "" : " " + quoted(name));
}

bool operator==(const Graph& a, const Graph& b) {
  const auto same_node = [](const Node& x, const Node& y) {
    const auto same_output = [](const OutputInfo& p, const OutputInfo& q) {
      return p.type == q.type && p.name == q.name;
    };
    return x.schema == y.schema && x.inputs == y.inputs && x.origin == y.origin && x.backend_hint == y.backend_hint &&
           std::equal(x.attributes.begin(), x.attributes.end(), y.attributes.begin(), y.attributes.end(), same_value) &&
           std::equal(x.outputs.begin(), x.outputs.end(), y.outputs.begin(), y.outputs.end(), same_output);
  };
  const auto same_symbol = [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.low == y.second.low && x.second.high == y.second.high;
  };
  return a.name() == b.name() && a.outputs() == b.outputs() && a.states() == b.states() &&
         std::equal(a.symbols().begin(), a.symbols().end(), b.symbols().begin(), b.symbols().end(), same_symbol) &&
         std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(), same_node);
}

}  // namespace weft
