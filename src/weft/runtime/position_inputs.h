// The inputs that an executor fills itself, and how far a run moves the position.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/ir/graph.h"
#include "weft/runtime/graph_executor.h"

namespace weft {

// With PositionMode::seed_scalar, `pos` has one element.
Graph with_position_mode(Graph graph, PositionMode mode);

// The input whose elements are the rows of a run: `pos`; without it, with per-row positions, the ids that look up a
// table of weights (its last axis counts); none: every run is one row.
struct RowCount {
  std::int32_t input = -1;
  bool all_elements = true;  // else the last axis alone
};
RowCount row_count_of(const Graph& graph, PositionMode mode);

}  // namespace weft
