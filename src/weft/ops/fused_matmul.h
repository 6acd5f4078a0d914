// How the fused matrix products keep their operands. Internal to the library.
#pragma once

#include <vector>

#include "weft/ir/graph.h"

namespace weft {

// The projections of a FusedSharedMatMul node: one weight each, and a bias or an undefined value.
struct SharedProjections {
  std::vector<Value> weights, biases;
};
SharedProjections shared_projections(const Node& node);

}  // namespace weft
