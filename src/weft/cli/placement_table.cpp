#include "weft/cli/placement_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "weft/runtime/graph_executor.h"

namespace weft::cli {

std::string placement_table(const GraphExecutor& executor) {
  const Graph& graph = executor.graph();
  using Row = std::array<std::string, 5>;
  std::vector<Row> rows{{"node", "op", "value", "hint", "backend"}};
  std::vector<std::string> reasons{"reason"};
  for (const Placement& placement : executor.placements()) {
    const Node& node = graph.node(placement.node);
    const std::string value = node.outputs.empty() ? "" : node.outputs[0].name;
    rows.push_back({fmt::format("%{}", placement.node), std::string(node.schema->name), value.empty() ? "-" : value,
                    placement.hint.empty() ? "-" : placement.hint, placement.backend});
    reasons.push_back(placement.reason);
  }
  std::array<std::size_t, 5> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < rows[r].size(); ++i) text += fmt::format("{:<{}}  ", rows[r][i], widths[i]);
    text += reasons[r] + "\n";
  }
  return text;
}

}  // namespace weft::cli
