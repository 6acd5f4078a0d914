// One sequence over a prepared graph, whatever way it runs: what GraphExecutor and CompiledGraph stand on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/runtime/graph_executor.h"

namespace weft {

class Runner {
 public:
  virtual ~Runner() = default;
  virtual std::unique_ptr<Runner> another() const = 0;
  virtual NamedTensors run(const NamedTensors& inputs) = 0;
  virtual std::span<const TensorView> run_views(std::span<const TensorView> inputs) = 0;
  virtual void reset() = 0;
  virtual void truncate(std::int64_t rows) = 0;
  virtual std::int64_t past() const = 0;
  virtual const Graph& graph() const = 0;
  virtual const std::vector<Placement>& placements() const = 0;
  virtual std::vector<OpTiming> timings() const = 0;
  virtual const Profile* profile() const { return nullptr; }
  virtual RunCounters counters() const = 0;
};

// Runs the nodes one by one as their backends' execute() does.
std::unique_ptr<Runner> make_walker(Graph graph, const WeightSource& weights, ExecConfig config);
// Runs the program that the graph compiles to.
std::unique_ptr<Runner> make_program_runner(Graph graph, const WeightSource& weights, ExecConfig config);

}  // namespace weft
