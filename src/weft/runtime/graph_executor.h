// Runs a graph statefully: weights bound once by prepare(), KV rows and positions kept from one run() to the next.
//
// An executor is used by one thread at a time. another() gives a second one, with a state of its own, over the same
// prepared graph; those run on different threads at once. The graph's bytes, its weights and the file mappings behind
// them live as long as any executor.
//
// The graph runs as a compiled program (lir/program.h) on the backend `cpu`. Any other forced backend, `reference`
// above all, walks the nodes one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/export.h"
#include "weft/base/tensor.h"
#include "weft/ir/graph.h"

namespace weft {

class Profile;
class Runner;
class ThreadPool;

// Where an executor gets the weights that a graph's Param nodes name. Read while a graph is prepared, never later.
class WEFT_API WeightSource {
 public:
  virtual ~WeightSource() = default;
  // The tensor, as the file holds it (packed types stay packed), or an undefined one when there is none.
  virtual Tensor find(const std::string& name) const = 0;
};

class WEFT_API WeightMap final : public WeightSource {
 public:
  WeightMap() = default;
  explicit WeightMap(std::map<std::string, Tensor> tensors) : tensors_(std::move(tensors)) {}
  void set(std::string name, Tensor tensor) { tensors_.insert_or_assign(std::move(name), std::move(tensor)); }
  Tensor find(const std::string& name) const override {
    const auto it = tensors_.find(name);
    return it == tensors_.end() ? Tensor() : it->second;
  }

 private:
  std::map<std::string, Tensor> tensors_;
};

enum class PositionMode {
  per_row,      // `pos` holds past, past + 1, ... for the rows of the run
  seed_scalar,  // `pos` is [past], and past grows by one a run
};

enum class MemoryRule {
  peak,  // intermediates count while they live
  sum,   // intermediates count all at once
};

struct ExecConfig {
  std::shared_ptr<ThreadPool> pool = nullptr;  // null: one of its own, with a thread per available CPU
  std::string backend = {};                    // forced for every node that it supports; empty: by hint, then `cpu`
  std::uint64_t memory_limit = 0;              // bytes; 0: none
  MemoryRule memory_rule = MemoryRule::peak;
  std::int64_t max_rows = 0;                        // most rows of a KV slot that declares no capacity; 0: none
  std::map<std::string, std::int64_t> bounds = {};  // most that a symbol is in any run; others: as the first run has
                                                    // it, rounded up to a power of two, planned anew when exceeded
  std::optional<DType> kv_dtype = {};               // how KV rows are kept: f32, f16, bf16, q8_0; absent: as declared
  PositionMode position_mode = PositionMode::per_row;
  std::vector<std::string> without_passes = {};  // passes of the compiler to leave out
  bool profile = false;                          // time every node
  bool check_finite = false;                     // NonFiniteOutput at the first NaN or infinity that an op produces
  std::function<bool()> canceled = {};           // asked between nodes; true ends the run with a Canceled error
};

// Why a node runs where it runs.
struct Placement {
  std::int32_t node = 0;
  std::string hint, backend, reason;
};

struct OpTiming {
  std::int32_t node = 0;
  std::string op;
  std::uint64_t runs = 0;
  double seconds = 0;
};

struct RunCounters {
  std::uint64_t allocated_bytes = 0;  // for intermediates, over all runs
  std::uint64_t allocations = 0;
  std::uint64_t state_appended_bytes = 0;  // new KV rows
  std::uint64_t state_moved_bytes = 0;     // old KV rows copied because a slot without a bound outgrew its room
  std::uint64_t peak_live_bytes = 0;       // most intermediate bytes alive at once, over all runs
};

// Bytes of a tensor that somebody else owns.
struct TensorView {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::span<const std::int64_t> dims;
};

using NamedTensors = std::map<std::string, Tensor>;

class WEFT_API GraphExecutor {
 public:
  // Verifies the graph, binds each Param, decodes once what no kernel reads packed, places every node.
  // MissingTensor, WeightFormatMismatch, UnsupportedOp, UnknownBackend and all that verify() refuses.
  static GraphExecutor prepare(Graph graph, const WeightSource& weights, ExecConfig config = {});
  ~GraphExecutor();
  GraphExecutor(GraphExecutor&&) noexcept;
  GraphExecutor& operator=(GraphExecutor&&) noexcept;
  GraphExecutor another() const;

  // Every graph output by name. Inputs are checked against the graph (MissingInput, UnexpectedInput,
  // InputShapeMismatch, InputDtypeMismatch), then constraints, the context (ContextOverflow) and memory
  // (MemoryLimitExceeded), all before the first node runs. A run that fails leaves the state as it was.
  NamedTensors run(const NamedTensors& inputs);
  // The first graph output.
  Tensor run_first(const NamedTensors& inputs);
  // The same without names and without allocating once the sizes have been seen: inputs in the graph's order, those
  // that the executor supplies left out; outputs in the graph's order, valid until the next run.
  std::span<const TensorView> run_views(std::span<const TensorView> inputs);
  // Forgets all rows and positions, reseeds generators: the next run is as the first.
  void reset();
  // Keeps the first `rows` rows and positions.
  void truncate(std::int64_t rows);
  // Rows, position and generators as bytes, and an executor as it was then. They fit executors of the same graph on the
  // same backend with the same kv_dtype; BadState, StateMismatch and ContextOverflow leave the state as it was.
  std::vector<std::byte> save() const;
  void restore(std::span<const std::byte> state);
  // A second executor over the same prepared graph that goes on from this one's state. Its rows are copied.
  GraphExecutor fork() const;

  std::int64_t past_length() const;
  const Graph& graph() const;
  const std::vector<Placement>& placements() const;
  std::vector<OpTiming> timings() const;  // with ExecConfig::profile, per node that ran
  // With ExecConfig::profile, where a compiled program's time went (runtime/profile.h); else null.
  const Profile* profile() const;
  RunCounters counters() const;

 private:
  explicit GraphExecutor(std::unique_ptr<Runner> runner);
  std::unique_ptr<Runner> runner_;
};

}  // namespace weft
