// What the readers of stored graphs share. Internal.
#pragma once

#include "weft/ir/graph.h"

namespace weft {

// Appends a node whose types are declared by a file. What files do not hold, constraints and attributes that inference
// resolves, is inferred where the operands allow it; the declared types stay, for verify() to compare.
void append_stored(Graph& graph, Node node);

}  // namespace weft
