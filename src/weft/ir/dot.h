// A graph as a drawing in Graphviz' DOT language: nodes in their order, types on the edges, weights lighter.
#pragma once

#include <string>

#include "weft/base/export.h"
#include "weft/ir/graph.h"

namespace weft {

WEFT_API std::string to_dot(const Graph& graph);

}  // namespace weft
