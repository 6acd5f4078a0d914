// The immutable half of a compiled graph: the graph after its passes, the program, where each node runs. Holds no
// weights: those are bound to it (BoundWeights) and may be replaced. Shared between threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/backend/backend.h"
#include "weft/base/thread_pool.h"
#include "weft/lir/program.h"
#include "weft/passes/pipeline.h"
#include "weft/runtime/graph_executor.h"

namespace weft {

struct CompiledProgram {
  CompiledProgram(Graph source, ExecConfig settings);
  CompiledProgram(const CompiledProgram&) = delete;
  CompiledProgram& operator=(const CompiledProgram&) = delete;

  ExecConfig config;
  Graph graph;  // after the passes
  PipelineReport pass_reports;
  std::shared_ptr<ThreadPool> pool;
  std::vector<std::unique_ptr<Backend>> backends;
  std::vector<Placement> placements;
  lir::Program program;
  // By symbol: the most that a run may have, absent where the first run decides.
  std::vector<std::optional<std::int64_t>> symbol_bounds;
  std::vector<std::int64_t> symbol_lows;
  // Most rows of a slot; 0: no bound.
  std::int64_t capacity(const lir::Slot& slot) const { return slot.capacity > 0 ? slot.capacity : config.max_rows; }

 private:
  Graph optimized(Graph source, const Backend& backend);
  const Backend& backend_named(const std::string& name);
  const Backend& place(std::int32_t node, const std::string& preferred);
  void bound_symbols();
};

// The weights of a program in the forms that its kernels want. Immutable; shared between sequences.
class BoundWeights {
 public:
  // MissingTensor, WeightFormatMismatch, OutOfMemory (before anything is packed).
  BoundWeights(const CompiledProgram& compiled, const WeightSource& source);

  const std::shared_ptr<const void>* prepared() const { return prepared_.data(); }
  // Of a weight in its stored form.
  const std::byte* stored(lir::WeightId id) const;
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::vector<std::shared_ptr<const void>> prepared_;
  std::uint64_t bytes_ = 0;
};

// What a Param is in a source, checked against the graph's declaration. Shared by both ways of running.
Tensor find_weight(const Graph& graph, std::int32_t param, const WeightSource& source);

}  // namespace weft
