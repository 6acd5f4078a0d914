// What a kernel sees of one run of one node: real tensors, attributes, state, threads and randomness.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"

#include "weft/base/tensor.h"
#include "weft/ir/graph.h"

namespace weft {

class Pcg32;
class ThreadPool;

// Per-sequence storage behind state slots, owned by the runtime.
class StateAccess {
 public:
  virtual ~StateAccess() = default;
  // Appends equally many rows to each plane of a rows slot, in place, and returns views of all rows of each plane.
  virtual std::vector<Tensor> append(std::string_view slot, std::span<const Tensor> rows) = 0;
  // The generator of a node that draws with PCG32; lives until the state is reset. Seed 0 takes entropy.
  virtual Pcg32& generator(std::int32_t node, std::int64_t seed) = 0;
  virtual std::int64_t run_index() const = 0;  // runs since the reset
};

class WEFT_API KernelContext {
 public:
  KernelContext(const Graph& graph, std::int32_t node, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                StateAccess& state, ThreadPool& pool)
      : graph_(graph), index_(node), inputs_(inputs), outputs_(outputs), state_(state), pool_(pool) {}

  const Node& node() const { return graph_.node(index_); }
  std::int32_t node_index() const { return index_; }
  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t input) const { return input < inputs_.size() && inputs_[input].defined(); }
  const Tensor& input(std::size_t index) const { return inputs_[index]; }
  std::size_t output_count() const { return outputs_.size(); }
  // Allocated with the inferred dims and dtype of this run, except in ops that return views of state (set_output).
  Tensor& output(std::size_t index) const { return outputs_[index]; }
  void set_output(std::size_t index, Tensor tensor) const { outputs_[index] = std::move(tensor); }
  StateAccess& state() const { return state_; }
  ThreadPool& pool() const { return pool_; }
  // Axis attribute resolved against a rank.
  std::size_t axis(std::string_view attribute, std::size_t rank) const;
  std::string where() const { return graph_.where(index_); }

 private:
  const Graph& graph_;
  std::int32_t index_;
  std::span<const Tensor> inputs_;
  std::span<Tensor> outputs_;
  StateAccess& state_;
  ThreadPool& pool_;
};

}  // namespace weft
