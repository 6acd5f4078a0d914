// Convolutions as compiled graphs, weights packed beforehand: GFLOP/s, two for a product and its sum. The name of each
// says what it is, for compare_torch.py: KIND/x dims/w dims/stride/padding/groups.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "machine.h"
#include "weft/base/fail.h"
#include "weft/base/random.h"
#include "weft/runtime/graph_executor.h"

namespace weft::bench {
namespace {

using Sizes = std::vector<std::int64_t>;

struct Convolution {
  Sizes x, w;
  std::int64_t stride = 1, padding = 0, groups = 1;
  bool transposed = false;

  std::string name() const {
    return fmt::format("{}/{}/{}/{}/{}/{}", transposed ? "transposed" : "conv", fmt::join(x, "x"), fmt::join(w, "x"),
                       stride, padding, groups);
  }
};

const Convolution all[] = {
    {{1, 3, 224, 224}, {64, 3, 7, 7}, 2, 3},        {{1, 64, 56, 56}, {64, 64, 3, 3}, 1, 1},
    {{1, 128, 28, 28}, {128, 128, 3, 3}, 1, 1},     {{1, 256, 14, 14}, {256, 256, 3, 3}, 1, 1},
    {{1, 512, 7, 7}, {512, 512, 3, 3}, 1, 1},       {{1, 64, 56, 56}, {256, 64, 1, 1}},
    {{1, 3, 224, 224}, {768, 3, 16, 16}, 16},       {{1, 128, 56, 56}, {128, 1, 3, 3}, 1, 1, 128},
    {{1, 512, 14, 14}, {512, 1, 3, 3}, 1, 1, 512},  {{1, 80, 3000}, {384, 80, 3}, 1, 1},
    {{1, 256, 1000}, {256, 256, 7}, 1, 3},          {{1, 128, 28, 28}, {128, 64, 4, 4}, 2, 1, 1, true},
    {{1, 512, 200}, {512, 256, 16}, 8, 4, 1, true},
};

Tensor random_values(const Sizes& dims) {
  Tensor tensor = Tensor::allocate(DType::f32, dims);
  Pcg32 generator(1);
  for (float& value : tensor.mutable_values<float>()) value = static_cast<float>(generator.uniform() - 0.5);
  return tensor;
}

void run(benchmark::State& state, const Convolution& of) {
  Graph graph("convolution");
  const auto leaf = [&](const char* op, const char* name, const Sizes& dims) {
    return Value{graph.add(op, {}, {{"name", name}, {"shape", Shape(dims)}, {"dtype", DType::f32}}), 0};
  };
  const Value x = leaf("Input", "x", of.x), w = leaf("Param", "w", of.w);
  const std::size_t axes = of.w.size() - 2;
  const auto each = [&](std::int64_t value) { return AttributeValue(Sizes(axes, value)); };
  graph.add_output("y", {graph.add(of.transposed ? "ConvTranspose" : "Conv", {x, w},
                                   {{"kernel", AttributeValue(Sizes(of.w.begin() + 2, of.w.end()))},
                                    {"stride", each(of.stride)},
                                    {"padding", each(of.padding)},
                                    {"groups", of.groups}}),
                         0});
  weft::WeightMap weights;
  weights.set("w", random_values(of.w));
  ExecConfig config;
  config.pool = std::shared_ptr<ThreadPool>(std::shared_ptr<void>(), &pool());
  GraphExecutor executor = GraphExecutor::prepare(graph, weights, config);
  const Tensor image = random_values(of.x);
  const TensorView view{image.bytes().data(), DType::f32, image.dims()};
  // Each element of x, or of y, meets every tap and channel that it reads.
  const Sizes y = executor.run_first({{"x", image}}).dims();
  double operations = 2 * static_cast<double>(of.w[1]);
  for (const std::int64_t size : of.transposed ? of.x : y) operations *= static_cast<double>(size);
  for (std::size_t i = 2; i < of.w.size(); ++i) operations *= static_cast<double>(of.w[i]);
  for (auto _ : state) executor.run_views({&view, 1});
  count_operations(state, operations, 0);
}

}  // namespace

void register_all() {
  for (const Convolution& of : all)
    benchmark::RegisterBenchmark(of.name().c_str(), [&of](benchmark::State& state) { run(state, of); })
        ->Unit(benchmark::kMicrosecond)
        ->UseRealTime();
}

}  // namespace weft::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  weft::bench::register_all();
  benchmark::RunSpecifiedBenchmarks();
}
