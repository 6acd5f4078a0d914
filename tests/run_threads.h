// One kernel at a chosen number of threads, to show that the number is not in the result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "run_node.h"
#include "weft/base/thread_pool.h"

namespace weft::test {

inline Tensor run_with_threads(int threads, std::string_view op, const std::vector<Tensor>& inputs,
                               const Attributes& attributes) {
  Graph graph("node");
  std::vector<Value> operands;
  for (const Tensor& input : inputs) {
    if (!input.defined()) {
      operands.emplace_back();
      continue;
    }
    const std::string name = "x" + std::to_string(operands.size());
    operands.push_back(
        {graph.add("Input", {}, {{"name", name}, {"shape", Shape(input.dims())}, {"dtype", input.dtype()}}), 0});
  }
  const std::int32_t node = graph.add(op, operands, attributes);
  const TensorType& type = graph.node(node).outputs[0].type;
  std::vector<Tensor> outputs = {Tensor::allocate(type.dtype, type.shape.eval({}))};
  RunState state;
  ThreadPool pool(threads);
  graph.node(node).schema->reference(KernelContext(graph, node, inputs, outputs, state, pool));
  return outputs[0];
}

inline bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dims() == b.dims() && a.dtype() == b.dtype() && a.byte_size() == b.byte_size() &&
         (a.byte_size() == 0 || std::memcmp(a.bytes().data(), b.bytes().data(), a.byte_size()) == 0);
}

}  // namespace weft::test
