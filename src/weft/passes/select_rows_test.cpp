#include "weft/passes/select_rows.h"

#include <gtest/gtest.h>

#include <vector>

#include "weft/base/error.h"
#include "weft/ops/builder.h"
#include "weft/runtime/graph_executor.h"

namespace weft {
namespace {

// x -> neg -> norm -> matmul, with a second reader of `neg` when asked.
Graph head(bool second_reader) {
  Graph g;
  const Var x = input(g, "x", {Dim::symbol("n"), 2});
  const Var before = add(x, x).named("before");
  const Var normed = rms_norm(before, param(g, "gain", {2}));
  g.add_output("logits", matmul(normed, param(g, "w", {3, 2}), {.transpose_b = true}).value());
  if (second_reader) g.add_output("before", before.value());
  return g;
}

WeightMap weights() {
  const std::vector<float> gain{1, 2}, w{1, 0, 0, 1, 1, 1};
  return WeightMap({{"gain", Tensor::from(std::span<const float>(gain), {2})},
                    {"w", Tensor::from(std::span<const float>(w), {3, 2})}});
}

TEST(SelectRows, ChosenRowsAreThoseOfTheWholeRun) {
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  const NamedTensors all{{"x", Tensor::from(std::span<const float>(x), {3, 2})}};
  for (const bool second_reader : {false, true}) {
    auto whole = GraphExecutor::prepare(head(second_reader), weights());
    auto chosen = GraphExecutor::prepare(select_rows(head(second_reader), "logits", "rows"), weights());
    const std::vector<std::int32_t> rows{2, 0};
    NamedTensors some = all;
    some["rows"] = Tensor::from(std::span<const std::int32_t>(rows), {2});
    const auto expected = whole.run(all), got = chosen.run(some);
    ASSERT_EQ(got.at("logits").dims(), (std::vector<std::int64_t>{2, 3}));
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(got.at("logits").values<float>()[i], expected.at("logits").values<float>()[6 + i]);
      EXPECT_EQ(got.at("logits").values<float>()[3 + i], expected.at("logits").values<float>()[i]);
    }
    if (second_reader) {
      EXPECT_EQ(got.at("before").dim(0), 3);
    }
  }
}

TEST(SelectRows, TheSelectionSinksBelowTheHeadAndTheNorm) {
  const Graph graph = select_rows(head(false), "logits", "rows");
  for (const Node& node : graph.nodes())
    if (node.schema->name == "MatMul" || node.schema->name == "RmsNorm") {
      EXPECT_EQ(node.outputs[0].type.shape[0], Dim::symbol("rows")) << node.schema->name;
    }
}

TEST(SelectRows, NoRowsGiveNoLogits) {
  auto executor = GraphExecutor::prepare(select_rows(head(false), "logits", "rows"), weights());
  const std::vector<float> x{1, 2};
  const auto got =
      executor.run({{"x", Tensor::from(std::span<const float>(x), {1, 2})}, {"rows", Tensor::zeros(DType::i32, {0})}});
  EXPECT_EQ(got.at("logits").dims(), (std::vector<std::int64_t>{0, 3}));
}

TEST(SelectRows, AnUnknownOutputIsRefused) { EXPECT_THROW(select_rows(head(false), "probs", "rows"), Error); }

}  // namespace
}  // namespace weft
