// Storing weights as other types than the graph was built for.
#pragma once

#include <map>
#include <string>

#include "weft/ir/graph.h"

namespace weft {

// The graph with other dtypes of some Params. Where an f32 value would become packed because of it, as the rows that
// are gathered from a table, it is decoded. What no op takes is refused as building such a graph would be.
Graph with_param_dtypes(const Graph& graph, const std::map<std::string, DType>& dtypes);

}  // namespace weft
