// The passes of the pipeline, one function each; pipeline.cpp lists them with their names and docs. Internal to the
// room.
#pragma once

#include "weft/ir/graph.h"
#include "weft/passes/pipeline.h"

namespace weft::passes {

// matmul_fusions.cpp
Graph matmul_bias(Graph graph, PassReport& report);
Graph gated_matmul(Graph graph, PassReport& report);
Graph matmul_epilogue(Graph graph, PassReport& report);
Graph shared_matmul(Graph graph, PassReport& report);
Graph norm_matmul(Graph graph, PassReport& report);
// fuse_swiglu.cpp
Graph swiglu(Graph graph, PassReport& report);
// fuse_norm.cpp
Graph residual_rms_norm(Graph graph, PassReport& report);
Graph residual_layer_norm(Graph graph, PassReport& report);
// fuse_elementwise.cpp
Graph elementwise_region(Graph graph, PassReport& report);
// fuse_attention.cpp
Graph flash_attention(Graph graph, PassReport& report);
// cleanup.cpp
Graph simplify(Graph graph, PassReport& report);
Graph merge_equal_nodes(Graph graph, PassReport& report);
Graph drop_dead_nodes(Graph graph, PassReport& report);
// fold.cpp
Graph fold_constants(Graph graph, PassReport& report);
// layout.cpp
Graph layout(Graph graph, PassReport& report);
Graph legalize(Graph graph, PassReport& report);

}  // namespace weft::passes
