#include "weft/passes/select_rows.h"

#include <algorithm>
#include <vector>

#include "weft/base/fail.h"
#include "weft/passes/rewrite.h"

namespace weft {
namespace {

// The operand along which row i of the result depends on row i alone; nothing for an op that mixes rows, or where
// another operand varies by row too.
std::optional<std::size_t> row_operand(const Graph& graph, const Node& node) {
  const std::string& op = node.schema->name;
  const auto rank_of = [&](std::size_t i) { return graph.type(node.inputs[i]).shape.rank(); };
  if (op == "MatMul" && !node.boolean("transpose_a") && rank_of(0) == 2 && rank_of(1) == 2) return 0;
  if (op == "RmsNorm" && rank_of(0) >= 2) return 0;
  if ((op == "Activation" || op == "Clamp" || op == "Cast") && rank_of(0) >= 1) return 0;
  if (op == "Softmax" && rank_of(0) >= 2) {
    const std::int64_t axis = node.integer("axis");
    if (axis != 0 && axis != -static_cast<std::int64_t>(rank_of(0))) return 0;
  }
  if (op == "Binary" && rank_of(0) > rank_of(1)) return 0;  // a bias
  return std::nullopt;
}

}  // namespace

Graph select_rows(const Graph& graph, const std::string& output, const std::string& rows_input) {
  const auto it = std::find_if(graph.outputs().begin(), graph.outputs().end(),
                               [&](const GraphOutput& candidate) { return candidate.name == output; });
  if (it == graph.outputs().end())
    fail(ErrorKind::invalid_argument, "InvalidArgument", graph.name(), "the graph has no output \"{}\"", output);
  if (graph.type(it->value).shape.rank() == 0)
    fail(ErrorKind::invalid_argument, "InvalidArgument", graph.name(), "output \"{}\" is a scalar and has no rows",
         output);

  // Down from the output while rows stay apart and nobody else reads the value.
  Value cut = it->value;
  std::vector<std::int32_t> selected;  // nodes that will see chosen rows only
  while (graph.use_count(cut) == 1 && graph.node(cut.node).outputs.size() == 1) {
    const auto operand = row_operand(graph, graph.node(cut.node));
    if (!operand) break;
    selected.push_back(cut.node);
    cut = graph.node(cut.node).inputs[*operand];
  }

  Rewriter rewriter(graph);
  const std::int32_t rows = rewriter.target().add("Input", {},
                                                  {{"name", AttributeValue(rows_input)},
                                                   {"shape", AttributeValue(Shape{Dim::symbol(rows_input)})},
                                                   {"dtype", AttributeValue(DType::i32)}});
  const auto choose = [&] {
    return Value{rewriter.target().add("Gather", {rewriter.map(cut), {rows, 0}}, {{"axis", 0}},
                                       {.origin = {.format = "", .id = {}, .op = "", .label = "rows wanted"}}),
                 0};
  };
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    if (selected.empty() || i != selected.back()) {
      rewriter.copy(i);
      continue;
    }
    // The last op that sees all rows hands the chosen ones to this one alone.
    const Value all = rewriter.map(cut);
    rewriter.replace(cut, choose());
    rewriter.copy(i);
    rewriter.replace(cut, all);
  }
  const Value chosen = selected.empty() ? choose() : rewriter.map(it->value);
  Graph result = rewriter.finish();
  std::vector<GraphOutput> outputs = result.outputs();
  outputs[static_cast<std::size_t>(it - graph.outputs().begin())].value = chosen;
  result.set_outputs(std::move(outputs));
  return result;
}

}  // namespace weft
