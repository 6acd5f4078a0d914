// The mechanics that graph rewrites share: a new graph is written node by node from an old one.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "weft/ir/graph.h"

namespace weft {

// Copies a graph into a new one. Operands are mapped through the copies made so far; types are inferred anew, so a
// changed input type travels down the graph.
class Rewriter {
 public:
  explicit Rewriter(const Graph& source);

  const Graph& source() const { return source_; }
  Graph& target() { return target_; }
  // The copy of an old value; what replace() set, or what copy() made.
  Value map(Value old) const;
  void replace(Value old, Value value);
  // Appends node `index` with mapped operands. `attributes` override its own.
  std::int32_t copy(std::int32_t index, const Attributes& attributes = {});
  // ... with the types that it has, for rewrites that change no type: nothing is inferred.
  std::int32_t keep(std::int32_t index);
  // Copies the outputs and returns the finished graph.
  Graph finish();

 private:
  const Graph& source_;
  Graph target_;
  std::vector<std::vector<Value>> mapped_;
};

// The graph with other declared shapes of some inputs.
Graph with_input_shapes(const Graph& graph, const std::map<std::string, Shape>& shapes);

}  // namespace weft
