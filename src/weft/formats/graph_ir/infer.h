// Shapes and dtypes of every value of a graph, from its inputs and weights alone. Stateless.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/export.h"
#include "weft/formats/graph_ir/model.h"
#include "weft/formats/graph_ir/problems.h"

namespace weft::graph_ir {

struct ValueType {
  std::optional<Shape> shape;  // absent: not even the rank is known
  std::optional<DType> dtype;  // absent: a weight outside any index, or what follows from one
  bool operator==(const ValueType&) const = default;
};

// By tensor name: inputs, "pos", weights and every output of a node.
using TypeMap = std::map<std::string, ValueType, std::less<>>;

// Infers all it can and adds every contradiction; a node that has one gives values of unknown type. The graph's
// structure and parameters must be valid.
TypeMap infer(const Graph& graph, Problems& problems);

}  // namespace weft::graph_ir
