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
//   %0 = Input{name="x", shape=[n, 64]}() : [n, 64] f32 name="x"
//   %1 = Constant{value=f32[2]{0.5, 1.0}}() : [2] f32
//   %5 = MatMul{transpose_b=true}(%0, %4) : [n, 64] f32 name="q" origin={op="Matmul", label="q"} hint="cpu"
//   %6:2 = Split{axis=1, sizes=[1, 63]}(%5) : [n, 1] f32 name="a", [n, 63] f32
//   %7 = RmsNorm(%6#1, _, %3) : [n, 63] f32
//   return logits=%7
// }
// Attributes at their default are left out, and so are symbols with the bounds that a graph gives them by itself; "_"
// is an absent operand. Constants of up to 256 bytes stand inline, as values or, where a dtype
// has none, as hex{...}; larger ones print as blob(sha256) and stand as hex after the graph, each once. Between
// tokens the parser takes any white space, and comments from // to the end of the line.
WEFT_API std::string to_text(const Graph& graph);
// Throws GraphSyntax with line and column, UnknownOp, and all that verify() does.
WEFT_API Graph graph_from_text(std::string_view text, std::string_view source = "graph");

}  // namespace weft
