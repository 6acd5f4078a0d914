#include "weft/passes/use_index.h"

#include <algorithm>

namespace weft {

UseIndex::UseIndex(const Graph& graph) {
  std::size_t values = 0;
  for (const Node& node : graph.nodes()) {
    first_slot_.push_back(values);
    values += node.outputs.size();
  }
  first_user_.assign(values + 1, 0);
  outputs_.assign(values, false);
  for (const GraphOutput& output : graph.outputs()) outputs_[slot(output.value)] = true;
  for (const Node& node : graph.nodes())
    for (const Value& input : node.inputs)
      if (input.defined()) ++first_user_[slot(input) + 1];
  for (std::size_t i = 0; i < values; ++i) first_user_[i + 1] += first_user_[i];
  users_.resize(first_user_.back());
  std::vector<std::size_t> next(first_user_.begin(), first_user_.end() - 1);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const auto& inputs = graph.node(i).inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].defined()) users_[next[slot(inputs[k])]++] = {i, static_cast<std::int32_t>(k)};
  }
}

std::span<const Value> UseIndex::users(Value value) const {
  const std::size_t at = slot(value);
  return std::span(users_).subspan(first_user_[at], first_user_[at + 1] - first_user_[at]);
}

std::vector<bool> weight_nodes(const Graph& graph) {
  constexpr int most_depth = 64;
  std::vector<int> depth(graph.nodes().size(), most_depth);  // most_depth: no weight
  std::vector<bool> weights(graph.nodes().size(), false);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    const OpSchema& op = *node.schema;
    const bool leaf = op.name == "Param" || op.name == "Constant";
    const bool moves =
        op.effects.pure() && (op.op_class == OpClass::movement || op.name == "Decode" || op.name == "Cast");
    if (!leaf && !moves) continue;
    int deepest = 0;
    for (const Value& input : node.inputs)
      if (input.defined()) deepest = std::max(deepest, depth[static_cast<std::size_t>(input.node)] + 1);
    if (deepest >= most_depth) continue;
    depth[static_cast<std::size_t>(i)] = deepest;
    weights[static_cast<std::size_t>(i)] = true;
  }
  return weights;
}

}  // namespace weft
