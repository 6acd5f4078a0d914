#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "infer_node.h"
#include "random_tensor.h"
#include "run_threads.h"
#include "weft/ops/sampling.h"

namespace weft::ops {
namespace {

using test::inferred;
using test::random_tensor;

TEST(Sample, Infers) {
  EXPECT_EQ(inferred("Sample", {"[n, v] f32"}), "[n] i32");
  EXPECT_EQ(inferred("Sample", {"[v] f32"}), "[] i32");
  EXPECT_EQ(inferred("Sample", {"[b, n, 9] f16", "[b, n] f32"}), "[b, n] i32");
  EXPECT_EQ(inferred("Sample", {"[b, n, 9] f32", "[m] f32"}, {{"index_dtype", DType::f32}}), "[b, n] f32 if m == b*n");
  EXPECT_EQ(inferred("Sample", {"[4, 9] f32", "[3] f32"}), "ShapeMismatch");
  EXPECT_EQ(inferred("Sample", {"[] f32"}), "ShapeMismatch");
  EXPECT_EQ(inferred("Sample", {"[n, 9] i32"}), "DTypeMismatch");
  EXPECT_EQ(inferred("Sample", {"[n, 9] f32", "[n] i32"}), "DTypeMismatch");
  EXPECT_EQ(inferred("Sample", {"[n, 9] f32"}, {{"index_dtype", DType::i8}}), "BadAttribute");
  EXPECT_EQ(inferred("Sample", {"[n, 16777217] f32"}, {{"index_dtype", DType::f32}}), "BadAttribute");
  EXPECT_EQ(inferred("Sample", {"[n, 9] f32"}, {{"top_k", -1}}), "BadAttribute");
  EXPECT_EQ(inferred("Sample", {"[n, 9] f32"}, {{"min_p", 2.0}}), "BadAttribute");
  EXPECT_EQ(inferred("Sample", {"[n, 9] f32"}, {{"method", "best"}}), "BadAttribute");
  EXPECT_FALSE(OpRegistry::global().at("Sample").effects.pure());
}

Graph drawing(const Attributes& attributes) {
  Graph graph("g");
  const Var x = emit(graph, "Input", {}, {{"name", "x"}, {"shape", Shape::parse("[n, v]")}});
  graph.add_output("y", emit(graph, "Sample", {x}, attributes).value());
  return graph;
}

std::vector<std::int32_t> ids(const Graph& graph, const Tensor& logits, test::RunState& state) {
  const Tensor y = test::run_graph(graph, {{"x", logits}}, state)[0];
  return {y.values<std::int32_t>().begin(), y.values<std::int32_t>().end()};
}

TEST(Sample, PhiloxRepeatsPerRunIndex) {
  const Tensor logits = random_tensor({20, 30});
  const Graph graph = drawing({{"seed", 9}});
  test::RunState first, second;
  const auto run_0 = ids(graph, logits, first);
  EXPECT_EQ(run_0, ids(graph, logits, second));
  first.next_run();
  EXPECT_NE(run_0, ids(graph, logits, first));
  EXPECT_NE(run_0, ids(drawing({{"seed", 10}}), logits, second));
  for (std::size_t row = 0; row < 20; ++row)
    EXPECT_EQ(run_0[row], sample_row(logits.values<float>().subspan(row * 30, 30), {},
                                     philox_uniform(9, 0, static_cast<std::int64_t>(row))));
}

TEST(Sample, PcgGoesOnFromRunToRun) {
  const Tensor logits = random_tensor({8, 30});
  const Graph graph = drawing({{"seed", 1}, {"rng", "pcg32"}});
  test::RunState state;
  Pcg32 generator(1);
  for (int run = 0; run < 3; ++run) {
    const auto found = ids(graph, logits, state);
    for (std::size_t row = 0; row < 8; ++row)
      EXPECT_EQ(found[row], sample_row(logits.values<float>().subspan(row * 30, 30), {}, generator.uniform()));
  }
}

TEST(Sample, WhatIsGivenDrawsNoNumber) {
  test::RunState state;
  ids(drawing({{"seed", 1}, {"rng", "pcg32"}, {"method", "greedy"}}), random_tensor({8, 30}), state);
  EXPECT_EQ(state.generator(1, 1), Pcg32(1));
}

TEST(Sample, BadRowsAreNamed) {
  Tensor logits = random_tensor({3, 4});
  logits.mutable_values<float>()[9] = std::numeric_limits<float>::quiet_NaN();
  const std::string text = test::error_text([&] { test::run_node("Sample", {logits}); });
  EXPECT_NE(text.find("row 2: logit 1"), std::string::npos) << text;
  const float u[] = {0, 1};
  EXPECT_EQ(test::error_code([&] {
              test::run_node("Sample", {random_tensor({2, 4}), Tensor::from(u, {2})});
            }),
            "BadUniform");
  Graph empty = drawing({});
  EXPECT_EQ(test::error_code([&] {
              test::run_graph(empty, {{"x", Tensor::zeros(DType::f32, {2, 0})}});
            }),
            "NoCandidates");
}

TEST(Sample, BitsDoNotDependOnThreads) {
  const Tensor logits = random_tensor({64, 100});
  const Attributes attributes = {{"seed", 4}, {"top_k", 20}};
  EXPECT_TRUE(test::same_bytes(test::run_with_threads(1, "Sample", {logits}, attributes),
                               test::run_with_threads(4, "Sample", {logits}, attributes)));
}

}  // namespace
}  // namespace weft::ops
