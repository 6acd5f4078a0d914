// One node on the kernels of the CPU backend, at every level that the machine has, against its op's own kernel: with
// operands that are there before the run and ones that come with it, on one thread and on three.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "random_tensor.h"
#include "run_threads.h"
#include "tolerance.h"
#include "weft/backend/backend.h"
#include "weft/backend/cpu/cpu_backend.h"
#include "weft/base/fail.h"
#include "weft/passes/pipeline.h"
#include "weft/runtime/graph_executor.h"

namespace weft::test {

// The name under which the backend of a level is registered.
inline std::string backend_of(CpuLevel level) {
  std::string name = fmt::format("cpu at {}", to_string(level));
  if (!BackendRegistry::global().has(name))
    BackendRegistry::global().add(name, [level] { return std::make_unique<cpu::CpuBackend>(level); });
  return name;
}

struct StepProblem {
  std::string op;
  std::vector<Tensor> inputs;
  Attributes attributes;
  std::int32_t port = 0;  // the output that is compared

  Tensor reference(const std::vector<Tensor>& operands) const {
    return run_node(op, operands, attributes)[static_cast<std::size_t>(port)];
  }

  // On the kernels of a level; `weights`: operands behind the first are there before the run.
  Tensor run(CpuLevel level, bool weights, int threads) const {
    Graph graph("image");
    weft::WeightMap params;
    NamedTensors bindings;
    std::vector<Value> operands;
    for (const Tensor& input : inputs) {
      const std::string name = fmt::format("x{}", operands.size());
      const bool param = weights && !operands.empty();
      const std::int32_t leaf = graph.add(param ? "Param" : "Input", {},
                                          {{"name", name}, {"shape", Shape(input.dims())}, {"dtype", input.dtype()}});
      operands.push_back({leaf, 0});
      if (param)
        params.set(name, input);
      else
        bindings[name] = input;
    }
    NodeOptions options;
    options.backend_hint = backend_of(level);
    graph.add_output("y", {graph.add(op, operands, attributes, options), port});
    ExecConfig config;
    static const auto one = std::make_shared<ThreadPool>(1), three = std::make_shared<ThreadPool>(3);
    config.pool = threads == 1 ? one : three;
    for (const Pass& pass : pipeline()) config.without_passes.emplace_back(pass.name);
    GraphExecutor executor = GraphExecutor::prepare(graph, params, config);
    EXPECT_EQ(executor.placements().back().backend, options.backend_hint) << executor.placements().back().reason;
    return executor.run_first(bindings);
  }

  // The sums of magnitudes that errors are relative to.
  std::vector<float> magnitudes() const {
    std::vector<Tensor> positive;
    for (const Tensor& input : inputs) {
      Tensor copy = Tensor::copy_bytes(input.bytes(), input.dtype(), input.dims());
      for (float& value : copy.mutable_values<float>()) value = std::abs(value);
      positive.push_back(copy);
    }
    const Tensor sums = reference(positive);
    return {sums.values<float>().begin(), sums.values<float>().end()};
  }

  void check(Rule rule) const {
    const Tensor expected = reference(inputs);
    const std::vector<float> sizes = rule == Rule::sum ? magnitudes() : std::vector<float>();
    compare([&](const Tensor& found) { return difference(found, expected, rule, sizes); });
  }
  void check_norm() const {
    const Tensor expected = reference(inputs);
    const auto tolerance = *graph_tolerance("norm");
    compare([&](const Tensor& found) { return graph_difference(found, expected, tolerance); });
  }

 private:
  template <class Difference>
  void compare(Difference wrong) const {
    for (const CpuLevel level : supported_cpu_levels())
      for (const bool weights : {true, false}) {
        const std::string what = fmt::format("{} {} at {}", op, dims_text(inputs[0].dims()), to_string(level));
        const Tensor found = run(level, weights, 1);
        if (const auto difference = wrong(found)) ADD_FAILURE() << what << ": " << *difference;
        EXPECT_TRUE(same_bytes(found, run(level, weights, 3))) << what << " depends on the threads";
      }
  }
};

}  // namespace weft::test
