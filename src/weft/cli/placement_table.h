// Where each node of a graph runs, and why, as a table.
#pragma once

#include <string>

namespace weft {
class GraphExecutor;
}

namespace weft::cli {

// One line for each node that computes, after the passes. What was computed once at load has none.
std::string placement_table(const GraphExecutor& executor);

}  // namespace weft::cli
