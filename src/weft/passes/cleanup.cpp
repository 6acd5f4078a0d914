// Passes that make a graph smaller without looking at what it computes: dead nodes, equal nodes, identities.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/ops/element.h"
#include "weft/passes/passes.h"
#include "weft/passes/replace.h"
#include "weft/passes/rewrite.h"

namespace weft::passes {

Graph drop_dead_nodes(Graph graph, PassReport& report) {
  std::vector<bool> live = graph.live_nodes();
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (live[at]) continue;
    // What callers bind by name stays: the signature of the graph does not change.
    const std::string& op = graph.node(i).schema->name;
    if (op == "Input") live[at] = true;
    if (op == "Param") report.misses.push_back({"UnusedParam", graph.where(i)});
    report.matches += live[at] ? 0 : 1;
  }
  if (report.matches == 0) return graph;
  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < graph.size(); ++i)
    if (live[static_cast<std::size_t>(i)]) rewriter.keep(i);
  return rewriter.finish();
}

// --- equal nodes ------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t small_constant = 256;  // bytes; larger ones are not compared

std::size_t hash_of(const Node& node, const std::vector<Value>& inputs) {
  std::size_t hash = std::hash<const void*>()(node.schema);
  const auto mix = [&](std::size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29); };
  for (const Value& input : inputs)
    mix(static_cast<std::size_t>(input.node) * 64 + static_cast<std::size_t>(input.port));
  for (std::size_t i = 0; i < node.attributes.size(); ++i)
    if (!std::holds_alternative<Tensor>(node.attributes[i]))
      mix(std::hash<std::string>()(attribute_text(node.attributes[i], node.schema->attributes[i].type)));
    else
      for (const std::byte byte : std::get<Tensor>(node.attributes[i]).bytes()) mix(static_cast<std::size_t>(byte));
  return hash;
}

bool may_merge(const Node& node) {
  const OpSchema& op = *node.schema;
  if (!op.effects.pure() || op.name == "Input" || op.name == "Param") return false;
  return std::none_of(node.attributes.begin(), node.attributes.end(), [](const AttributeValue& value) {
    const auto* tensor = std::get_if<Tensor>(&value);
    return tensor != nullptr && tensor->byte_size() > small_constant;
  });
}

bool same_computation(const Node& a, const Node& b) {
  return a.schema == b.schema && a.inputs == b.inputs && a.backend_hint == b.backend_hint &&
         std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), same_value);
}

}  // namespace

Graph merge_equal_nodes(Graph graph, PassReport& report) {
  Rewriter rewriter(graph);
  Graph& target = rewriter.target();
  MergedOrigins origins;
  std::unordered_multimap<std::size_t, std::int32_t> seen;  // of the new graph
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    Node node = graph.node(i);
    if (!may_merge(node)) {
      rewriter.keep(i);
      continue;
    }
    for (Value& input : node.inputs) input = rewriter.map(input);
    const std::size_t hash = hash_of(node, node.inputs);
    const auto [begin, end] = seen.equal_range(hash);
    const auto twin =
        std::find_if(begin, end, [&](const auto& entry) { return same_computation(target.node(entry.second), node); });
    if (twin == end) {
      seen.emplace(hash, rewriter.keep(i));
      continue;
    }
    const std::int32_t kept = twin->second;
    origins.add(kept, node.origin);
    for (std::size_t port = 0; port < node.outputs.size(); ++port) {
      const Value value{kept, static_cast<std::int32_t>(port)};
      rewriter.replace({i, static_cast<std::int32_t>(port)}, value);
      // The value has one name: that of the first that has any.
      if (target.node(kept).outputs[port].name.empty() && !node.outputs[port].name.empty())
        target.set_name_of(value, node.outputs[port].name);
    }
    ++report.matches;
  }
  origins.write(target);
  return report.matches == 0 ? std::move(graph) : rewriter.finish();
}

// --- identities -------------------------------------------------------------------------------------------------

namespace {

// The value of a constant whose elements are all equal.
std::optional<double> uniform_constant(const Graph& graph, Value value) {
  const Node& node = graph.node(value.node);
  if (node.schema->name != "Constant") return std::nullopt;
  const auto& tensor = std::get<Tensor>(node.attribute("value"));
  if (!(is_float(tensor.dtype()) || is_integer(tensor.dtype())) || tensor.numel() == 0 || tensor.numel() > 4096)
    return std::nullopt;
  const std::vector<double> values = ops::load_f64(tensor);
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; }) ? std::optional(values[0])
                                                                                             : std::nullopt;
}

// The operand that a Binary with a neutral other side gives back. x + 0 turns -0 into 0, which counts as the same.
std::optional<Value> neutral_binary(const Graph& graph, const Node& node) {
  const std::string& kind = node.text("kind");
  const bool commutes = kind == "add" || kind == "mul";
  if (!commutes && kind != "sub" && kind != "div") return std::nullopt;
  const double neutral = kind == "add" || kind == "sub" ? 0 : 1;
  if (uniform_constant(graph, node.inputs[1]) == neutral) return node.inputs[0];
  if (commutes && uniform_constant(graph, node.inputs[0]) == neutral) return node.inputs[1];
  return std::nullopt;
}

// What the node's result is equal to, if that is a value in front of it.
std::optional<Value> same_as(const Graph& graph, const Node& node) {
  const std::string& op = node.schema->name;
  std::optional<Value> source;
  if (op == "Binary") source = neutral_binary(graph, node);
  if (op == "Cast" || op == "Reshape" || op == "Expand" || op == "Narrow") source = node.inputs[0];
  if (op == "Concat" && node.inputs.size() == 1) source = node.inputs[0];
  if (op == "Split" && node.outputs.size() == 1) source = node.inputs[0];
  if (op == "Decode" && graph.type(node.inputs[0]).dtype == DType::f32) source = node.inputs[0];
  if (op == "Transpose") {
    const auto& perm = node.integers("perm");
    const auto rank = static_cast<std::int64_t>(node.outputs[0].type.shape.rank());
    bool identity = !perm.empty() || rank < 2;
    for (std::size_t i = 0; i < perm.size(); ++i)
      identity = identity && (perm[i] + rank) % rank == static_cast<std::int64_t>(i);
    if (identity) source = node.inputs[0];
  }
  // A shape that only may be the same stays, as does a check before the run.
  if (!source || graph.type(*source) != node.outputs[0].type || !node.constraints.empty()) return std::nullopt;
  return source;
}

}  // namespace

Graph simplify(Graph graph, PassReport& report) {
  Patterns patterns(graph, report);
  for (std::int32_t i = 0; i < graph.size(); ++i)
    if (const auto source = same_as(graph, graph.node(i)))
      patterns.add({.root = i, .members = {i}, .at = i, .inputs = {*source}, .results = {{i, 0}}});
  return patterns.finish(graph);
}

}  // namespace weft::passes
