// How the fused matrix products keep their operands. Internal to the library.
#pragma once

#include <optional>
#include <vector>

#include "weft/ir/graph.h"

namespace weft {

// The RmsNorm that a product begins with, if it is a fused one that has it.
struct RowNorm {
  Value gain;
  double eps = 0;
};
std::optional<RowNorm> norm_of_rows(const Node& node);

// The projections of a FusedSharedMatMul node: one weight each, and a bias or an undefined value.
struct SharedProjections {
  std::vector<Value> weights, biases;
};
SharedProjections shared_projections(const Node& node);

}  // namespace weft
