// The rules that every graph keeps. Passes and readers verify after they ran.
#pragma once

#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/export.h"
#include "weft/ir/graph.h"

namespace weft {

struct Problem {
  ErrorKind kind = ErrorKind::invalid_graph;
  std::string code;   // "NotTopological", "ShapeMismatch", ...
  std::string where;  // `[MatMul] node %7 "q"`
  std::string message;
};

// All broken rules, the first 32: operands exist and come earlier, arity, attribute types and ranges, declared types
// equal inferred ones, unique leaf names, declared states, existing outputs.
//   UndefinedInput, NotTopological (a later node, but some order exists), Cycle (none does)
//   BadArity, BadAttribute, BadOutputCount, ShapeMismatch, DTypeMismatch, and what an op's own inference throws
//   BadShape (negative), SizeOverflow, BlockMisaligned, TensorSizeMismatch (a constant's bytes)
//   DuplicateInput, DuplicateParam, ShadowedName (an Input and a Param share a name)
//   UnknownState, BadState, BadSymbol; OutputUndefined, DuplicateOutput, EmptyName
// That names of values and states are unique the Graph itself sees to.
WEFT_API std::vector<Problem> find_problems(const Graph& graph);
// Throws one Error: the first problem, the others in its details.
WEFT_API void verify(const Graph& graph);

}  // namespace weft
