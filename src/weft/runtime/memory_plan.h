// Who needs which bytes when: the liveness of a graph's values and, for the sizes of one run, the peak of what is live
// at once. Immutable after construction; safe to share between threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/base/shape.h"
#include "weft/ir/graph.h"

namespace weft {

// Dims of every output of every node in one run.
using RunShapes = std::vector<std::vector<std::vector<std::int64_t>>>;

class Liveness {
 public:
  explicit Liveness(const Graph& graph);
  // Values that nobody needs after this node: those it consumes last and its own outputs without a consumer.
  // Graph outputs are never among them, nor leaves other than Input.
  const std::vector<Value>& freed_after(std::int32_t node) const { return freed_[static_cast<std::size_t>(node)]; }

 private:
  std::vector<std::vector<Value>> freed_;
};

struct MemoryNeed {
  std::uint64_t inputs = 0;
  std::uint64_t weights = 0;
  std::uint64_t states = 0;         // rows held after the run
  std::uint64_t intermediates = 0;  // peak of what is live at once, views counted with what they view
  std::uint64_t intermediates_sum = 0;
};

// Whether output `port` shares an input's bytes in this run, and which.
std::optional<ViewOf> planned_view(const Graph& graph, std::int32_t node, std::size_t port, const RunShapes& shapes);

// `folded` marks nodes whose outputs exist before the run (weights and what was computed from them once).
MemoryNeed memory_need(const Graph& graph, const Liveness& liveness, const RunShapes& shapes,
                       const std::vector<bool>& folded);

RunShapes run_shapes(const Graph& graph, const DimBinding& binding);

}  // namespace weft
