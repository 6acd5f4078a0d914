#include "weft/runtime/memory_plan.h"

#include <algorithm>
#include <utility>

#include "weft/base/error.h"

namespace weft {

Liveness::Liveness(const Graph& graph) : freed_(graph.nodes().size()) {
  // Last consumer of each value, -1 when there is none.
  std::vector<std::vector<std::int32_t>> last(graph.nodes().size());
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    last[static_cast<std::size_t>(i)].assign(graph.node(i).outputs.size(), -1);
    for (const Value& input : graph.node(i).inputs)
      if (input.defined()) last[static_cast<std::size_t>(input.node)][static_cast<std::size_t>(input.port)] = i;
  }
  for (const GraphOutput& output : graph.outputs())
    last[static_cast<std::size_t>(output.value.node)][static_cast<std::size_t>(output.value.port)] = graph.size();
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.schema->op_class == OpClass::leaf && node.schema->name != "Input") continue;
    for (std::size_t port = 0; port < node.outputs.size(); ++port) {
      const std::int32_t at = std::max(last[static_cast<std::size_t>(i)][port], i);
      if (at < graph.size()) freed_[static_cast<std::size_t>(at)].push_back({i, static_cast<std::int32_t>(port)});
    }
  }
}

RunShapes run_shapes(const Graph& graph, const DimBinding& binding) {
  RunShapes shapes;
  shapes.reserve(graph.nodes().size());
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    auto& outputs = shapes.emplace_back();
    try {
      for (const OutputInfo& output : graph.node(i).outputs) outputs.push_back(output.type.shape.eval(binding));
    } catch (const Error& error) {
      throw Error(error.kind(), error.code(), graph.where(i), error.message());
    }
  }
  return shapes;
}

std::optional<ViewOf> planned_view(const Graph& graph, std::int32_t index, std::size_t port, const RunShapes& shapes) {
  const Node& node = graph.node(index);
  if (!node.schema->view) return std::nullopt;
  std::vector<std::vector<std::int64_t>> inputs;
  for (const Value& input : node.inputs)
    inputs.push_back(input.defined()
                         ? shapes[static_cast<std::size_t>(input.node)][static_cast<std::size_t>(input.port)]
                         : std::vector<std::int64_t>{});
  return node.schema->view(node, {inputs, shapes[static_cast<std::size_t>(index)]}, port);
}

MemoryNeed memory_need(const Graph& graph, const Liveness& liveness, const RunShapes& shapes,
                       const std::vector<bool>& folded) {
  // Views hold a share of the buffer that they view; a buffer is gone with its last share.
  struct Buffer {
    std::uint64_t bytes = 0;
    int shares = 0;
  };
  std::vector<Buffer> buffers;
  std::vector<std::vector<int>> buffer_of(graph.nodes().size());
  MemoryNeed need;
  std::uint64_t live = 0;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    const auto at = static_cast<std::size_t>(i);
    buffer_of[at].assign(node.outputs.size(), -1);
    const bool in_state = !node.schema->effects.slots.empty();
    for (std::size_t port = 0; port < node.outputs.size(); ++port) {
      const std::uint64_t bytes = byte_size(node.outputs[port].type.dtype, shapes[at][port]);
      if (node.schema->name == "Input") {
        need.inputs += bytes;
        continue;
      }
      if (folded[at] || node.schema->op_class == OpClass::leaf) {
        need.weights += folded[at] ? bytes : 0;
        continue;
      }
      if (in_state) {
        need.states += bytes;
        continue;
      }
      int buffer = -1;
      if (const auto view = planned_view(graph, i, port, shapes)) {
        const Value base = node.inputs[view->input];
        buffer = buffer_of[static_cast<std::size_t>(base.node)][static_cast<std::size_t>(base.port)];
        if (buffer < 0) continue;  // a view of an input, a weight or a state
      } else {
        buffer = static_cast<int>(buffers.size());
        buffers.push_back({bytes, 0});
        live += bytes;
        need.intermediates_sum += bytes;
      }
      ++buffers[static_cast<std::size_t>(buffer)].shares;
      buffer_of[at][port] = buffer;
    }
    need.intermediates = std::max(need.intermediates, live);
    for (const Value& value : liveness.freed_after(i)) {
      const int buffer = buffer_of[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.port)];
      if (buffer < 0) continue;
      Buffer& freed = buffers[static_cast<std::size_t>(buffer)];
      if (--freed.shares == 0) live -= freed.bytes;
    }
  }
  return need;
}

}  // namespace weft
