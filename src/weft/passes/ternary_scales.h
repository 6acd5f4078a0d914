// Ternary weights hold -1, 0 and +1; a tensor beside them, "<name>.scale", says what these stand for.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "weft/ir/graph.h"

namespace weft {

// The graph in which each product with a ternary Param, and each row gathered from one, is multiplied by the weight's
// scale: one value, or one for each row. `type_of` gives the type of a tensor by name. Weights whose scale the graph
// reads already, and those without one, are left as they are. Errors: ShapeMismatch, and UnsupportedOp for another op
// that reads such a weight.
Graph with_ternary_scales(const Graph& graph,
                          const std::function<std::optional<TensorType>(const std::string& name)>& type_of);

}  // namespace weft
