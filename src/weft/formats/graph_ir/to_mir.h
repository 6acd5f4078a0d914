// From the Graph IR to MIR, where a graph gets its meaning. Value names, node ids and backend hints are kept; a node
// for which MIR has no single op becomes a few, of which the last carries its names. Stateless.
#pragma once

#include <string>

#include "weft/base/export.h"
#include "weft/formats/graph_ir/model.h"
#include "weft/ir/graph.h"

namespace weft::graph_ir {

struct ToMirOptions {
  std::string name = "main";
  // Make `pos` one number a run, as the first description of the executor has it, instead of one a token.
  bool scalar_position = false;
};

// Validates the graph first; Graph::weights must list every weight that a node reads. Each unknown size becomes a
// symbol of its own, named after its input ("tokens.0"); a KvCache becomes a state named after its first output, whose
// length is the symbol "past", or one of its own where it does not grow by one row a token. UnsupportedOp names a node
// that MIR has no ops for, AmbiguousLayout one whose meaning the sizes of a run would decide.
WEFT_API weft::Graph to_mir(const Graph& graph, const ToMirOptions& options = {});

}  // namespace weft::graph_ir
