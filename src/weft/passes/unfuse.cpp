// Fused ops taken apart by the rule that each has.
#include <algorithm>
#include <optional>
#include <utility>

#include "weft/ops/expansion.h"
#include "weft/passes/pipeline.h"
#include "weft/passes/rewrite.h"

namespace weft {
namespace {

// Writes the steps of node `index` in its place.
void write_steps(Rewriter& rewriter, std::int32_t index, Expansion expansion) {
  const Node& fused = rewriter.source().node(index);
  std::vector<std::optional<TensorType>> types;
  for (const Value& input : fused.inputs)
    types.push_back(input.defined() ? std::optional(rewriter.target().type(rewriter.map(input))) : std::nullopt);
  const FusedSteps steps = steps_of(fused, expansion, types);

  std::vector<std::vector<Value>> written(steps.graph.nodes().size());
  const auto now = [&](Value value) {
    return value.defined() ? written[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.port)]
                           : value;
  };
  for (std::int32_t step = 0; step < steps.graph.size(); ++step) {
    const auto at = static_cast<std::size_t>(step);
    if (steps.operand[at] >= 0) {
      written[at] = {rewriter.map(fused.inputs[static_cast<std::size_t>(steps.operand[at])])};
      continue;
    }
    Node node = steps.graph.node(step);
    for (Value& input : node.inputs) input = now(input);
    node.origin = fused.origin;
    node.backend_hint = fused.backend_hint;
    for (std::size_t port = 0; port < node.outputs.size(); ++port)
      for (std::size_t result = 0; result < steps.results.size(); ++result)
        if (steps.results[result] == Value{step, static_cast<std::int32_t>(port)})
          node.outputs[port].name = fused.outputs[result].name;
    const std::size_t ports = node.outputs.size();
    const std::int32_t placed = rewriter.target().append_unchecked(std::move(node));
    for (std::size_t port = 0; port < ports; ++port) written[at].push_back({placed, static_cast<std::int32_t>(port)});
  }
  for (std::size_t port = 0; port < steps.results.size(); ++port)
    rewriter.replace({index, static_cast<std::int32_t>(port)}, now(steps.results[port]));
}

// A fused op may know sizes of its results that the steps only learn in a run; readers are then inferred anew.
bool reads_other_types(Rewriter& rewriter, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](Value input) {
    return input.defined() && rewriter.target().type(rewriter.map(input)) != rewriter.source().type(input);
  });
}

}  // namespace

Graph unfuse(const Graph& graph, const std::function<bool(const Node&)>& chosen) {
  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    const Expansion expansion = expansion_of(*node.schema);
    if (expansion == nullptr || (chosen && !chosen(node)))
      reads_other_types(rewriter, node) ? rewriter.copy(i) : rewriter.keep(i);
    else
      write_steps(rewriter, i, expansion);
  }
  return rewriter.finish();
}

}  // namespace weft
