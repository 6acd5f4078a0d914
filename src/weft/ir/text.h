// The canonical text of a graph: prints everything, parses back to an equal graph, stable enough for golden files.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/export.h"
#include "weft/ir/graph.h"

namespace weft {

// graph @name {
//   symbol n in [1, 512]
//   state @k {kind=rows, dtype=f32, planes=[64, 64], length=past, capacity=4096}
//   %0 = Input{name="x"}() : [n, 64] f32 name="x"
//   %5 = MatMul{transpose_b=true}(%0, %4) : [n, 64] f32 name="q" origin={op="Matmul", label="q"} hint="cpu"
//   return logits=%9
// }
// Constants over 256 bytes print as blob(sha256) and stand as hex after the graph.
WEFT_API std::string to_text(const Graph& graph);
// Throws GraphSyntax with line and column, and all that verify() does.
WEFT_API Graph graph_from_text(std::string_view text, std::string_view source = "graph");

}  // namespace weft
