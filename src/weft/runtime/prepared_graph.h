// The immutable half of the walker: a verified graph, its weights, where each node runs. Shared between executors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/backend/backend.h"
#include "weft/base/thread_pool.h"
#include "weft/runtime/graph_executor.h"
#include "weft/runtime/memory_plan.h"

namespace weft {

struct PreparedGraph {
  PreparedGraph(Graph graph, const WeightSource& weights, ExecConfig config);

  ExecConfig config;
  Graph graph;
  Liveness liveness;
  std::shared_ptr<ThreadPool> pool;
  // Outputs that exist before any run: weights, constants, and what was computed from them once.
  std::vector<std::vector<Tensor>> ready;
  std::vector<bool> folded;
  std::uint64_t weight_bytes = 0;
  std::vector<Placement> placements;
  std::vector<const Backend*> backend_of;  // per node, null for leaves and folded nodes
  std::vector<std::unique_ptr<Backend>> backends;

 private:
  void bind_weights(const WeightSource& weights);
  void fold_decoded_weights();
  void place_nodes();
  const Backend* backend_named(const std::string& name);
};

}  // namespace weft
