// Storing weights as other types than the graph was built for.
#pragma once

#include <map>
#include <string>

#include "weft/ir/graph.h"

namespace weft {

// The graph with other dtypes of some Params. Products and lookups read them as they are; where another op would get,
// or give, something else than the f32 of before, it is decoded. What no op takes is refused as building such a graph
// would be.
Graph with_param_dtypes(const Graph& graph, const std::map<std::string, DType>& dtypes);

}  // namespace weft
