// One sequence over a prepared graph, whatever way it runs: what GraphExecutor and CompiledGraph stand on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/error.h"
#include "weft/runtime/graph_executor.h"
#include "weft/runtime/sequence_state.h"

namespace weft {

class Runner {
 public:
  virtual ~Runner() = default;
  virtual std::unique_ptr<Runner> another() const = 0;
  virtual NamedTensors run(const NamedTensors& inputs) = 0;
  virtual std::span<const TensorView> run_views(std::span<const TensorView> inputs) = 0;
  virtual void reset() = 0;
  virtual void truncate(std::int64_t rows) = 0;
  virtual SequenceState state() const = 0;
  virtual void set_state(const SequenceState& state) = 0;  // StateMismatch and ContextOverflow leave it as it was
  virtual std::int64_t past() const = 0;
  virtual const Graph& graph() const = 0;
  virtual const std::vector<Placement>& placements() const = 0;
  virtual std::vector<OpTiming> timings() const = 0;
  virtual const Profile* profile() const { return nullptr; }
  virtual RunCounters counters() const = 0;
};

// What a node's error is to the caller of a run: it says the node, and that a backend broke its word where it refuses
// what it claimed to support.
Error node_error(const Error& error, std::string_view backend, const std::string& where);

[[noreturn]] void refuse_input(ErrorKind kind, const char* code, const std::string& name, std::string message);

// Runs the nodes one by one as their backends' execute() does.
std::unique_ptr<Runner> make_walker(Graph graph, const WeightSource& weights, ExecConfig config);
// Runs the program that the graph compiles to.
std::unique_ptr<Runner> make_program_runner(Graph graph, const WeightSource& weights, ExecConfig config);

}  // namespace weft
