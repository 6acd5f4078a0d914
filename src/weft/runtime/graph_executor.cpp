#include "weft/runtime/graph_executor.h"

#include <utility>

#include "weft/base/fail.h"
#include "weft/ir/verify.h"
#include "weft/runtime/runner.h"

namespace weft {

GraphExecutor::GraphExecutor(std::unique_ptr<Runner> runner) : runner_(std::move(runner)) {}
GraphExecutor::~GraphExecutor() = default;
GraphExecutor::GraphExecutor(GraphExecutor&&) noexcept = default;
GraphExecutor& GraphExecutor::operator=(GraphExecutor&&) noexcept = default;

GraphExecutor GraphExecutor::prepare(Graph graph, const WeightSource& weights, ExecConfig config) {
  verify(graph);
  const bool compiles = config.backend.empty() || config.backend == "cpu";
  return GraphExecutor(compiles ? make_program_runner(std::move(graph), weights, std::move(config))
                                : make_walker(std::move(graph), weights, std::move(config)));
}

GraphExecutor GraphExecutor::another() const { return GraphExecutor(runner_->another()); }
NamedTensors GraphExecutor::run(const NamedTensors& inputs) { return runner_->run(inputs); }

std::span<const TensorView> GraphExecutor::run_views(std::span<const TensorView> inputs) {
  return runner_->run_views(inputs);
}

Tensor GraphExecutor::run_first(const NamedTensors& inputs) {
  if (graph().outputs().empty())
    fail(ErrorKind::invalid_graph, "NoOutputs", graph().name(), "the graph has no output to return");
  return runner_->run(inputs).at(graph().outputs().front().name);
}

void GraphExecutor::reset() { runner_->reset(); }
void GraphExecutor::truncate(std::int64_t rows) { runner_->truncate(rows); }
std::vector<std::byte> GraphExecutor::save() const { return to_bytes(runner_->state()); }
void GraphExecutor::restore(std::span<const std::byte> state) { runner_->set_state(state_from_bytes(state)); }
GraphExecutor GraphExecutor::fork() const {
  GraphExecutor twin = another();
  twin.runner_->set_state(runner_->state());
  return twin;
}
std::int64_t GraphExecutor::past_length() const { return runner_->past(); }
const Graph& GraphExecutor::graph() const { return runner_->graph(); }
const std::vector<Placement>& GraphExecutor::placements() const { return runner_->placements(); }
std::vector<OpTiming> GraphExecutor::timings() const { return runner_->timings(); }
const Profile* GraphExecutor::profile() const { return runner_->profile(); }
RunCounters GraphExecutor::counters() const { return runner_->counters(); }

}  // namespace weft
