#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "pass_cases.h"
#include "run_node.h"
#include "tolerance.h"
#include "weft/ops/builder.h"

namespace weft {
namespace {

using test::missed;
using test::run_pass;
using test::the;
using test::unchanged;

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

struct Heads {
  Graph graph{"heads"};
  Shape leading;
  Var q, k, v;

  Heads(Shape batch_and_heads, std::int64_t queries, std::int64_t keys) : leading(std::move(batch_and_heads)) {
    q = input(graph, "q", with(queries, 8));
    k = input(graph, "k", with(keys, 8));
    v = input(graph, "v", with(keys, 6));
  }
  Shape with(std::int64_t rows, std::int64_t width) const {
    Shape shape = leading;
    shape.push_back(Dim(rows));
    shape.push_back(Dim(width));
    return shape;
  }
  Var scores() { return matmul(q, k, {.transpose_b = true}); }
};

// A mask [queries, keys]: 0 where a causal query sees the key, else `hidden`.
Tensor causal_mask(std::int64_t queries, std::int64_t keys, float hidden) {
  Tensor mask = Tensor::zeros(DType::f32, {queries, keys});
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t j = keys - queries + i + 1; j < keys; ++j)
      mask.mutable_values<float>()[static_cast<std::size_t>(i * keys + j)] = hidden;
  return mask;
}

void expect_same_values(const Graph& graph, const Graph& fused) {
  std::mt19937 random(5);
  test::Bindings bindings;
  for (const std::int32_t at : graph.inputs()) {
    const Node& node = graph.node(at);
    Tensor value = Tensor::zeros(node.dtype("dtype"), *node.shape("shape").static_dims());
    if (value.dtype() == DType::f32)
      for (float& x : value.mutable_values<float>()) x = std::normal_distribution<float>()(random);
    else
      for (std::byte& x : value.mutable_bytes()) x = static_cast<std::byte>(random() % 2);
    bindings[node.text("name")] = value;
  }
  const auto found =
      test::difference(test::run_graph(fused, bindings)[0], test::run_graph(graph, bindings)[0], test::Rule::row);
  EXPECT_FALSE(found) << *found;
}

// Attention and nothing else, with the same values.
Node fused_attention(Heads& heads, Var result) {
  heads.graph.add_output("y", result.value());
  const Graph fused = run_pass(heads.graph, "flash-attention").graph;
  EXPECT_EQ(test::op_line(fused), "Attention");
  expect_same_values(heads.graph, fused);
  return the(fused, "Attention");
}

TEST(FlashAttention, TakesEveryRank) {
  const std::vector<std::pair<Shape, std::string>> ranks{{{}, "packed"}, {{3}, "hsd"}, {{2, 3}, "bhsd"}};
  for (const auto& [leading, layout] : ranks) {
    Heads heads(leading, 4, 5);
    const Node node = fused_attention(heads, matmul(softmax(heads.scores() * 0.25), heads.v));
    EXPECT_EQ(node.text("layout"), layout);
    EXPECT_EQ(node.optional_real("scale"), 0.25);
    EXPECT_FALSE(node.boolean("causal"));
  }
}

TEST(FlashAttention, TakesAScaleInAnyForm) {
  Heads none({3}, 4, 5), divided({3}, 4, 5), left({3}, 4, 5);
  EXPECT_EQ(fused_attention(none, matmul(softmax(none.scores()), none.v)).optional_real("scale"), 1.0);
  EXPECT_EQ(fused_attention(divided, matmul(softmax(divided.scores() / 4.0), divided.v)).optional_real("scale"), 0.25);
  EXPECT_EQ(fused_attention(left, matmul(softmax(0.5 * left.scores()), left.v)).optional_real("scale"), 0.5);
}

TEST(FlashAttention, AProvenCausalMaskIsAFlag) {
  for (const float hidden : {minus_infinity, -std::numeric_limits<float>::max()})
    for (const std::int64_t keys : {4, 6}) {
      Heads heads({2, 3}, 4, keys);
      const Var mask = constant(heads.graph, causal_mask(4, keys, hidden));
      const Node node = fused_attention(heads, matmul(softmax(heads.scores() * 0.5 + mask), heads.v));
      EXPECT_TRUE(node.boolean("causal"));
      EXPECT_EQ(node.inputs.size(), 3u);
    }
  // As a choice.
  Heads heads({3}, 4, 4);
  Tensor visible = Tensor::zeros(DType::boolean, {4, 4});
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j <= i; ++j) visible.mutable_bytes()[i * 4 + j] = std::byte{1};
  const Var chosen = where(constant(heads.graph, visible), heads.scores(), constant(heads.graph, minus_infinity));
  EXPECT_TRUE(fused_attention(heads, matmul(softmax(chosen), heads.v)).boolean("causal"));
}

TEST(FlashAttention, OtherMasksStayOperands) {
  // A mask that a run gives, one with a finite value, one that hides a key too many.
  Tensor odd = causal_mask(4, 4, minus_infinity);
  odd.mutable_values<float>()[4] = minus_infinity;
  for (const Tensor& mask : {Tensor(), causal_mask(4, 4, -5), odd}) {
    Heads heads({2, 3}, 4, 4);
    const Var operand =
        mask.defined() ? constant(heads.graph, mask) : input(heads.graph, "mask", {2, 1, 4, 4}, DType::f32);
    const Node node = fused_attention(heads, matmul(softmax(operand + heads.scores()), heads.v));
    EXPECT_FALSE(node.boolean("causal"));
    ASSERT_EQ(node.inputs.size(), 5u);
    EXPECT_TRUE(node.inputs[4].defined());
  }
  Heads heads({3}, 4, 5);
  const Var visible = input(heads.graph, "visible", {4, 5}, DType::boolean);
  const Node node = fused_attention(
      heads, matmul(softmax(where(visible, heads.scores(), constant(heads.graph, minus_infinity))), heads.v));
  EXPECT_TRUE(node.inputs[3].defined());
}

TEST(FlashAttention, LeavesWhatItCannotTake) {
  const auto with = [](const std::function<Var(Heads&)>& build, Shape leading = {3}) {
    Heads heads(std::move(leading), 4, 4);
    const Var result = build(heads);
    heads.graph.add_output("y", result.value());
    return heads.graph;
  };
  EXPECT_EQ(missed(with([](Heads& h) {
                     const Var p = softmax(h.scores());
                     h.graph.add_output("p", p.value());
                     return matmul(p, h.v);
                   }),
                   "flash-attention"),
            "MultiConsumer");
  EXPECT_EQ(missed(with([](Heads& h) {
                     const Var bias = input(h.graph, "bias", {4, 4});
                     return matmul(softmax(h.scores() + bias, {.nan_for_empty_row = true}), h.v);
                   }),
                   "flash-attention"),
            "EmptyRowIsNaN");
  EXPECT_EQ(missed(with([](Heads& h) {
                     const Var visible = input(h.graph, "visible", {4, 4}, DType::boolean);
                     return matmul(softmax(where(visible, h.scores(), constant(h.graph, -1e9))), h.v);
                   }),
                   "flash-attention"),
            "MaskValueFinite");
  EXPECT_EQ(missed(with([](Heads& h) {
                     return matmul(softmax(h.scores()), input(h.graph, "one", {4, 6}));
                   }),
                   "flash-attention"),
            "AttentionLayout");
  EXPECT_TRUE(
      unchanged(with([](Heads& h) { return matmul(softmax(h.scores(), {.axis = -2}), h.v); }), "flash-attention"));
  EXPECT_TRUE(unchanged(with([](Heads& h) { return matmul(softmax(h.scores() * input(h.graph, "scale", {})), h.v); }),
                        "flash-attention"));
}

}  // namespace
}  // namespace weft
