// Rows wanted: a graph whose output has a row per token learns to compute some rows only.
#pragma once

#include <string>

#include "weft/ir/graph.h"

namespace weft {

// Adds an input `rows_input` [m] i32 with the indices of wanted rows; output `output` then has m rows on axis 0 instead
// of all. The selection sinks below every op that works row by row (the head's matmul, the final norm, elementwise
// ops), so that what is not wanted is not computed. InvalidArgument when the graph has no such output.
Graph select_rows(const Graph& graph, const std::string& output, const std::string& rows_input);

}  // namespace weft
