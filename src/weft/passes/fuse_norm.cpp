// A sum that a norm reads, in one op; the sum stays as its second result.
#include "weft/passes/passes.h"
#include "weft/passes/replace.h"

namespace weft::passes {
namespace {

Graph fuse(Graph& graph, PassReport& report, std::string_view norm, const char* fused) {
  Patterns patterns(graph, report);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.schema->name != norm) continue;
    const Value sum = node.inputs[0];
    const Node* add = patterns.made_by(sum, "Binary");
    if (add == nullptr || add->text("kind") != "add") continue;
    const Shape& shape = node.outputs[0].type.shape;
    if (graph.type(add->inputs[0]).shape != shape || graph.type(add->inputs[1]).shape != shape) {
      patterns.miss("BroadcastSum", sum.node);
      continue;
    }
    Replacement replacement{.root = i,
                            .members = {sum.node, i},
                            .at = sum.node,  // where others begin to read the sum
                            .op = fused,
                            .inputs = {add->inputs[0], add->inputs[1]},
                            .results = {{i, 0}, sum}};
    bool in_front = true;
    for (std::size_t k = 1; k < node.inputs.size(); ++k) {
      const Value operand = node.inputs[k];
      replacement.inputs.push_back(operand);
      in_front = in_front && (!operand.defined() || operand.node < sum.node || patterns.is_weight(operand));
    }
    if (!in_front) {
      patterns.miss("GainComesLater", i);
      continue;
    }
    for (std::size_t k = 0; k < node.attributes.size(); ++k)
      replacement.attributes.emplace_back(node.schema->attributes[k].name, node.attributes[k]);
    patterns.add(std::move(replacement));
  }
  return patterns.finish(graph);
}

}  // namespace

Graph residual_rms_norm(Graph graph, PassReport& report) {
  return fuse(graph, report, "RmsNorm", "FusedResidualRmsNorm");
}

Graph residual_layer_norm(Graph graph, PassReport& report) {
  return fuse(graph, report, "LayerNorm", "FusedResidualLN");
}

}  // namespace weft::passes
