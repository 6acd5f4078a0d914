// Loading checks of a Graph IR: names and counts, op parameters, then shapes and dtypes. A stage that finds problems
// throws them all as one Error (the first, up to 31 more among its details); later stages then do not run. Nothing is
// repaired. Stateless.
#pragma once

#include <optional>
#include <vector>

#include "weft/base/export.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/infer.h"
#include "weft/formats/graph_ir/model.h"

namespace weft::graph_ir {

struct ValidateOptions {
  // Whether Graph::weights lists every weight, so that a missing one is an error. Default: whether it lists any.
  std::optional<bool> weights_indexed;
};

struct Validation {
  std::vector<Warning> warnings;
  TypeMap types;
};

WEFT_API Validation validate(const Graph& graph, const ValidateOptions& options = {});

// For builders: puts the nodes into an order that can run, moving none without need; Cycle when there is none.
WEFT_API void sort_nodes(Graph& graph);

}  // namespace weft::graph_ir
