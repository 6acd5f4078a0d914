// A small network over images of any size: compiled against the reference, at several sizes and thread counts, and
// without allocating once it has seen a size.
#include <gtest/gtest.h>

#include <memory>

#include "allocation_count.h"
#include "random_tensor.h"
#include "run_threads.h"
#include "tolerance.h"
#include "weft/base/thread_pool.h"
#include "weft/ops/builder.h"
#include "weft/runtime/graph_executor.h"

namespace weft::test {
namespace {

struct Network {
  Graph graph{"network"};
  weft::WeightMap weights;
  int count = 0;

  Var weight(Shape shape) {
    const std::string name = "w" + std::to_string(count++);
    Tensor values = random_tensor(*shape.static_dims(), static_cast<std::uint64_t>(count));
    for (float& value : values.mutable_values<float>()) value *= 0.3f;
    weights.set(name, values);
    return emit(graph, "Param", {}, {{"name", name}, {"shape", std::move(shape)}, {"dtype", DType::f32}});
  }

  Network() {
    const Var image = emit(graph, "Input", {},
                           {{"name", "image"},
                            {"shape", Shape{Dim::symbol("n"), 3, Dim::symbol("h"), Dim::symbol("w")}},
                            {"dtype", DType::f32}});
    const Var variance = emit(graph, "Constant", {}, {{"value", Tensor::from(std::vector<float>(8, 0.5f), {8})}});
    const Var stem = conv(image, weight({8, 3, 3, 3}), weight({8}), {.padding = {1, 1}});
    const Var features =
        relu(batch_norm_inference(stem, weight({8}), weight({8}), weight({8}), variance, {.channel_axis = 1}));
    const Var half = conv(features, weight({8, 1, 3, 3}), {}, {.stride = {2, 2}, .padding = {1, 1}, .groups = 8});
    const Var skip = silu(group_norm(half, 2, weight({8}), weight({8})));
    const Var wide =
        resize(mean_pool(max_pool(skip, {.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}}), {.kernel = {2, 2}}),
               "linear", 2.0);
    const Var joined = mul(concat({skip, wide}, 1), weight({16, 1, 1}));
    const Var whole = conv_transpose(joined, weight({16, 6, 2, 2}), weight({6}), {.stride = {2, 2}});
    const Var pixels = transpose(whole, {0, 2, 3, 1});
    graph.add_output("y", ada_layer_norm(pixels, weight({6}), weight({6})).value());
  }

  GraphExecutor executor(int threads, const std::string& backend = {}) const {
    ExecConfig config;
    config.pool = std::make_shared<ThreadPool>(threads);
    config.backend = backend;
    return GraphExecutor::prepare(graph, weights, config);
  }
};

TEST(ImageGraph, CompiledEqualsReferenceAtAnySize) {
  const Network network;
  GraphExecutor reference = network.executor(1, "reference"), alone = network.executor(1), three = network.executor(3);
  for (const Placement& placement : alone.placements()) EXPECT_EQ(placement.backend, "cpu") << placement.reason;
  for (const std::vector<std::int64_t>& dims :
       {std::vector<std::int64_t>{1, 3, 8, 8}, {2, 3, 12, 20}, {3, 3, 4, 36}, {1, 3, 8, 8}, {0, 3, 8, 8}}) {
    const NamedTensors inputs{{"image", random_tensor(dims, 99)}};
    const Tensor expected = reference.run_first(inputs), found = alone.run_first(inputs);
    EXPECT_EQ(found.dims(), (std::vector<std::int64_t>{dims[0], dims[2], dims[3], 6}));
    const auto wrong = graph_difference(found, expected, {1e-4});
    EXPECT_FALSE(wrong) << *wrong;
    EXPECT_TRUE(same_bytes(found, three.run_first(inputs))) << "the number of threads is in the result";
  }
}

TEST(ImageGraph, ARunAllocatesNothing) {
  const Network network;
  GraphExecutor executor = network.executor(2);
  const Tensor image = random_tensor({2, 3, 12, 20}, 7);
  const TensorView input{image.bytes().data(), DType::f32, image.dims()};
  for (int i = 0; i < 2; ++i) executor.run_views({&input, 1});
  const auto before = allocations();
  for (int i = 0; i < 5; ++i) executor.run_views({&input, 1});
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace weft::test
