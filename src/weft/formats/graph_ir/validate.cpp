#include "weft/formats/graph_ir/validate.h"

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/param_rules.h"
#include "weft/formats/graph_ir/problems.h"
#include "weft/formats/graph_ir/structure.h"

namespace weft::graph_ir {
namespace {

void check_parameters(const Graph& graph, Problems& problems) {
  for (std::size_t i = 0; i < graph.nodes.size() && !problems.full(); ++i) {
    const Node& node = graph.nodes[i];
    check_params(node, [&](std::string_view field, const std::string& reason) {
      problems.add(ErrorKind::invalid_graph, "BadParam", node_place(node, i),
                   fmt::format("parameter \"{}\" {}", field, reason));
    });
    check_attrs(node, [&](std::string_view key, const std::string& reason) {
      problems.add(ErrorKind::invalid_graph, "BadAttr", node_place(node, i),
                   fmt::format("attribute \"{}\" {}", key, reason));
    });
  }
}

}  // namespace

Validation validate(const Graph& graph, const ValidateOptions& options) {
  Problems structure, parameters, types;
  check_structure(graph, options.weights_indexed.value_or(!graph.weights.empty()), structure);
  structure.throw_if_any();
  check_parameters(graph, parameters);
  parameters.throw_if_any();
  Validation result;
  result.types = infer(graph, types);
  types.throw_if_any();
  result.warnings = structure_warnings(graph);
  return result;
}

void sort_nodes(Graph& graph) {
  std::vector<std::size_t> cycle;
  const std::vector<std::size_t> order = topological_order(graph.nodes, cycle);
  if (!cycle.empty())
    fail(ErrorKind::invalid_graph, "Cycle", "graph",
         "nodes {} each read what the one before gives; no order can run them", fmt::join(cycle, ", "));
  std::vector<Node> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) sorted.push_back(std::move(graph.nodes[i]));
  graph.nodes = std::move(sorted);
}

}  // namespace weft::graph_ir
