// Constant folding: what only constants decide is computed once, by the reference kernels.
#include <string>
#include <utility>
#include <vector>

#include "weft/base/thread_pool.h"
#include "weft/ir/kernel.h"
#include "weft/ir/no_state.h"
#include "weft/passes/passes.h"
#include "weft/passes/rewrite.h"

namespace weft::passes {
namespace {

constexpr std::size_t most_bytes = 16u << 20;           // of a result
constexpr std::size_t most_bytes_together = 64u << 20;  // of all results of one graph

// The results of node `index` of the source, or nothing: not constant, too large, packed, or a kernel that refuses
// these values (a run will say so).
std::vector<Tensor> folded(Rewriter& rewriter, std::int32_t index, std::size_t budget, NoState& state,
                           ThreadPool& pool) {
  const Node& node = rewriter.source().node(index);
  if (node.schema->op_class == OpClass::leaf || !node.schema->effects.pure() || !node.constraints.empty()) return {};
  std::vector<Tensor> inputs;
  for (const Value& input : node.inputs) {
    if (!input.defined()) {
      inputs.emplace_back();
      continue;
    }
    const Node& source = rewriter.target().node(rewriter.map(input).node);
    if (source.schema->name != "Constant") return {};
    // A matrix of a packed type is there to be multiplied with as it is.
    if (is_packed(source.outputs[0].type.dtype) && source.outputs[0].type.shape.rank() > 1) return {};
    inputs.push_back(std::get<Tensor>(source.attribute("value")));
  }
  std::size_t bytes = 0;
  std::vector<std::vector<std::int64_t>> dims;
  for (const OutputInfo& output : node.outputs) {
    const auto known = output.type.shape.static_dims();
    if (!known) return {};
    const auto size = static_cast<std::size_t>(byte_size(output.type.dtype, *known));
    bytes += size;
    if (size > most_bytes || bytes > budget) return {};
    dims.push_back(*known);
  }
  std::vector<Tensor> outputs;
  for (std::size_t port = 0; port < dims.size(); ++port)
    outputs.push_back(Tensor::allocate(node.outputs[port].type.dtype, dims[port]));
  try {
    node.schema->reference(KernelContext(rewriter.source(), index, inputs, outputs, state, pool));
  } catch (const Error&) {
    return {};
  }
  return outputs;
}

}  // namespace

Graph fold_constants(Graph graph, PassReport& report) {
  bool any = false;
  for (const Node& node : graph.nodes()) any = any || node.schema->name == "Constant";
  if (!any) return graph;
  NoState state;
  ThreadPool pool(1);
  Rewriter rewriter(graph);
  Graph& target = rewriter.target();
  std::size_t budget = most_bytes_together;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const std::vector<Tensor> values = folded(rewriter, i, budget, state, pool);
    if (values.empty()) {
      rewriter.keep(i);
      continue;
    }
    const Node& node = graph.node(i);
    for (std::size_t port = 0; port < values.size(); ++port) {
      budget -= values[port].byte_size();
      NodeOptions options{.names = {node.outputs[port].name}, .origin = node.origin, .backend_hint = node.backend_hint};
      rewriter.replace({i, static_cast<std::int32_t>(port)},
                       {target.add("Constant", {}, {{"value", AttributeValue(values[port])}}, std::move(options)), 0});
    }
    ++report.matches;
  }
  return report.matches == 0 ? std::move(graph) : rewriter.finish();
}

}  // namespace weft::passes
