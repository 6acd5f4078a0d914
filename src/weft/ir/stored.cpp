#include "weft/ir/stored.h"

#include <algorithm>
#include <utility>

#include "weft/base/error.h"
#include "weft/ir/infer.h"

namespace weft {

void append_stored(Graph& graph, Node node) {
  const bool operands_exist = std::all_of(node.inputs.begin(), node.inputs.end(), [&](Value value) {
    return !value.defined() || (value.node < graph.size() && value.port >= 0 &&
                                static_cast<std::size_t>(value.port) < graph.node(value.node).outputs.size());
  });
  if (operands_exist) {
    Node inferred = node;
    try {
      infer_node(graph, inferred, "");
      node.attributes = std::move(inferred.attributes);
      node.constraints = std::move(inferred.constraints);
    } catch (const Error&) {
      // verify() says what is wrong, with the place that the node has in the finished graph.
    }
  }
  graph.append_unchecked(std::move(node));
}

}  // namespace weft
