// The rules that every graph keeps. Passes and readers verify after they ran.
#pragma once

#include <string>
#include <vector>

#include "weft/base/export.h"
#include "weft/ir/graph.h"

namespace weft {

struct Problem {
  std::string code;   // "NotTopological", "ShapeMismatch", ...
  std::string where;  // `[MatMul] node %7 "q"`
  std::string message;
};

// All broken rules, the first 32: operands exist and come earlier, arity, attribute types and ranges, declared types
// equal inferred ones, unique names, declared states, existing outputs.
WEFT_API std::vector<Problem> find_problems(const Graph& graph);
// Throws one Error that carries them.
WEFT_API void verify(const Graph& graph);

}  // namespace weft
