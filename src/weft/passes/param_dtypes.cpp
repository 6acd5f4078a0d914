#include "weft/passes/param_dtypes.h"

#include "weft/passes/rewrite.h"

namespace weft {

Graph with_param_dtypes(const Graph& graph, const std::map<std::string, DType>& dtypes) {
  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.schema->name == "Param") {
      const auto it = dtypes.find(node.text("name"));
      rewriter.copy(i, it == dtypes.end() ? Attributes{} : Attributes{{"dtype", AttributeValue(it->second)}});
      continue;
    }
    const std::int32_t copied = rewriter.copy(i);
    for (std::size_t port = 0; port < node.outputs.size(); ++port) {
      const auto index = static_cast<std::int32_t>(port);
      const Value before{i, index}, after{copied, index};
      const bool was_f32 = node.outputs[port].type.dtype == DType::f32;
      if (was_f32 && rewriter.target().type(after).dtype != DType::f32)
        rewriter.replace(before, {rewriter.target().add("Decode", {after}, {}, {.origin = node.origin}), 0});
    }
  }
  return rewriter.finish();
}

}  // namespace weft
