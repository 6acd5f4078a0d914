// Compiles graphs and runs them as functions of named or positional tensors.
//
//   weft::Session session;
//   weft::CompiledGraph layer = session.compile(graph);
//   layer.set_param("w", weights);
//   weft::NamedTensors outputs = layer.run({{"x", x}});
//
// A CompiledGraph is used by one thread at a time. clone() gives one for another thread: it shares the compiled program
// and the packed weights, and has memory and state of its own. set_param() on one does not reach its clones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/base/export.h"
#include "weft/base/tensor.h"
#include "weft/ir/graph.h"
#include "weft/runtime/graph_executor.h"

namespace weft {

class WEFT_API CompiledGraph {
 public:
  ~CompiledGraph();
  CompiledGraph(CompiledGraph&&) noexcept;
  CompiledGraph& operator=(CompiledGraph&&) noexcept;
  CompiledGraph clone() const;

  // What the graph's Param `name` is, in its dtype and shape; packed types stay packed. UnknownParam,
  // WeightFormatMismatch. Weights are prepared for the kernels once, at the next run.
  void set_param(const std::string& name, Tensor value);
  // All of them. MissingTensor, WeightFormatMismatch.
  void set_params(const WeightSource& source);

  // Every graph output by name; MissingTensor while a param is not set, else as GraphExecutor::run.
  NamedTensors run(const NamedTensors& inputs);
  // Inputs and outputs in the graph's order.
  std::vector<Tensor> run(std::span<const Tensor> inputs);
  // The same over the caller's bytes, without allocating once the sizes have been seen; outputs are valid until the
  // next run.
  std::span<const TensorView> run_views(std::span<const TensorView> inputs);

  void reset();
  void truncate(std::int64_t rows);
  // As GraphExecutor has them.
  std::vector<std::byte> save() const;
  void restore(std::span<const std::byte> state);
  std::int64_t past_length() const;
  const Graph& graph() const;  // after the passes

 private:
  friend class Session;
  struct Impl;
  explicit CompiledGraph(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class WEFT_API Session {
 public:
  // Options of everything that this session compiles: threads, bounds, KV rows, passes, memory. The thread pool is
  // shared by all of it. Only the backend `cpu` compiles: UnsupportedBackend for a forced other one.
  explicit Session(ExecConfig config = {});
  // Verifies the graph and compiles it; its params need no values yet.
  CompiledGraph compile(Graph graph) const;

 private:
  ExecConfig config_;
};

}  // namespace weft
