#include "weft/runtime/position_inputs.h"

#include <map>
#include <utility>
#include <vector>

#include "weft/passes/rewrite.h"

namespace weft {

Graph with_position_mode(Graph graph, PositionMode mode) {
  if (mode == PositionMode::per_row) return graph;
  std::map<std::string, Shape> shapes;
  for (const std::int32_t input : graph.inputs())
    if (graph.node(input).text("source") == "position") shapes[graph.node(input).text("name")] = Shape{1};
  return shapes.empty() ? std::move(graph) : with_input_shapes(graph, shapes);
}

RowCount row_count_of(const Graph& graph, PositionMode mode) {
  const std::vector<std::int32_t> inputs = graph.inputs();
  for (const std::int32_t index : inputs)
    if (graph.node(index).text("source") == "position") return {index, true};
  if (mode == PositionMode::seed_scalar) return {};
  for (const std::int32_t index : inputs) {
    std::vector<Value> users = graph.users({index, 0});
    for (std::size_t k = 0; k < users.size(); ++k) {
      const Node& user = graph.node(users[k].node);
      if (user.schema->name == "ToIndex")
        for (const Value& further : graph.users({users[k].node, 0})) users.push_back(further);
      if (user.schema->name != "Gather" || users[k].port != 1 || user.origin.op == "PosEmbed") continue;
      if (graph.node(user.inputs[0].node).schema->name == "Param") return {index, false};
    }
  }
  return {};
}

}  // namespace weft
