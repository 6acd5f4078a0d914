// From MIR back to the Graph IR, for storing. Value names, node ids of a graph that came from the Graph IR, and backend
// hints are kept; results of the stored graph are those of the MIR graph, bit for bit. Stateless.
#pragma once

#include <map>
#include <string>

#include "weft/base/export.h"
#include "weft/base/tensor.h"
#include "weft/formats/graph_ir/model.h"
#include "weft/ir/graph.h"

namespace weft::graph_ir {

struct FromMirOptions {
  // Parameters are f32 in the Graph IR. False: a real attribute that no f32 equals is NotRepresentable. True: it takes
  // the nearest, and results may differ in their last bits.
  bool round_reals = false;
};

struct FromMir {
  Graph graph;
  // Constants of the MIR graph, which the Graph IR has as weights only; Graph::weights lists them too.
  std::map<std::string, Tensor> constants;
};

// NotRepresentable names the first node or fact that the Graph IR cannot say. Symbols become unknown sizes; bounds of
// symbols, capacities of states and merged labels of origins are left behind, as none of them changes a result.
WEFT_API FromMir from_mir(const weft::Graph& mir, const FromMirOptions& options = {});

}  // namespace weft::graph_ir
