// The fused ops: what inference says, and that a node has the bits of the ops that it stands for.
#include <gtest/gtest.h>

#include <random>

#include "infer_node.h"
#include "run_node.h"
#include "tolerance.h"
#include "weft/ir/text.h"
#include "weft/ops/builder.h"
#include "weft/ops/expansion.h"
#include "weft/passes/pipeline.h"

namespace weft {
namespace {

using test::inferred;

TEST(FusedInference, MatMulBiasAct) {
  const auto types = [](const std::vector<std::string>& operands, const Attributes& attributes = {}) {
    return inferred("FusedMatMulBiasAct", operands, attributes);
  };
  const Attributes rows{{"transpose_b", true}};
  EXPECT_EQ(types({"[n, 8] f32", "[8, 6] f32"}), "[n, 6] f32");
  EXPECT_EQ(types({"[2, n, 8] f32", "[6, 8] f32", "[6] f32", "[2, n, 6] f32"}, rows), "[2, n, 6] f32");
  EXPECT_EQ(types({"[64] f32", "[6, 64] q4_0", "", "[6] f32"}, rows), "[6] f32");
  EXPECT_EQ(types({"[n, k] f32", "[6, 8] f32"}, rows), "[n, 6] f32 if k == 8");
  EXPECT_EQ(types({"[n, 8] f32", "[6, 8] f32", "", "[m, 6] f32"}, rows), "[n, 6] f32 if n == m");
  EXPECT_EQ(types({"[n, 8] f32", "[8, 6] f32", "[5] f32"}), "ShapeMismatch");
  EXPECT_EQ(types({"[n, 8] f32", "[8, 6] f32", "[1, 6] f32"}), "ShapeMismatch");
  EXPECT_EQ(types({"[n, 8] f32", "[8, 6] f32", "[6] f16"}), "DTypeMismatch");
  EXPECT_EQ(types({"[n, 8] f32", "[8, 6] f32", "", "[6] f32"}), "ShapeMismatch");
  EXPECT_EQ(types({"[n, 8] f32", "[8, 6] f32", "", "[n, 6] f16"}), "DTypeMismatch");
  EXPECT_EQ(types({"[n, 7] f32", "[8, 6] f32"}), "ShapeMismatch");
  EXPECT_EQ(types({"[] f32", "[8, 6] f32"}), "ShapeMismatch");
  EXPECT_EQ(types({"[n, 8] f32", "[2, 8, 6] f32"}), "ShapeMismatch");
  EXPECT_EQ(types({"[n, 8] i32", "[8, 6] i32"}), "DTypeMismatch");
  EXPECT_EQ(types({"[n, 64] f32", "[64, 64] q4_0"}), "DTypeMismatch");
  EXPECT_EQ(types({"[n, 8] f32", "[8, 6] f32"}, {{"activation", "is_nan"}}), "BadAttribute");
  const Attributes normed{{"norm_eps", 1e-6}};
  EXPECT_EQ(types({"[n, 8] f32", "[8, 6] f32", "", "", "[8] f32"}, normed), "[n, 6] f32");
  EXPECT_EQ(types({"[n, 8] f32", "[8, 6] f32", "", "", "[7] f32"}, normed), "ShapeMismatch");
  EXPECT_EQ(types({"[n, 8] f32", "[8, 6] f32", "", "", "[8] f16"}, normed), "DTypeMismatch");
  EXPECT_EQ(types({"[n, 8] f32", "[8, 6] f32"}, normed), "BadAttribute");
  EXPECT_EQ(types({"[n, 8] f32", "[8, 6] f32", "", "", "[8] f32"}), "BadAttribute");
  EXPECT_EQ(types({"[n, 8] f32", "[8, 6] f32", "", "", "[8] f32"}, {{"norm_eps", -1.0}}), "BadAttribute");
}

TEST(FusedInference, SharedMatMul) {
  const auto types = [](const std::vector<std::string>& operands, std::vector<std::int64_t> biased = {}) {
    return inferred("FusedSharedMatMul", operands,
                    {{"biased", AttributeValue(std::move(biased))}, {"transpose_b", true}});
  };
  EXPECT_EQ(types({"[n, 32] f32", "[6, 32] f32", "[4, 32] q8_0"}), "[n, 6] f32; [n, 4] f32");
  EXPECT_EQ(types({"[n, 32] f32", "[6, 32] f32", "[4, 32] f32", "[4] f32"}, {1}), "[n, 6] f32; [n, 4] f32");
  EXPECT_EQ(types({"[n, 32] f32", "[6, 32] f32", "[4, 32] f32", "[6] f32"}, {1}), "ShapeMismatch");
  EXPECT_EQ(types({"[n, 32] f32"}), "BadAttribute");
  EXPECT_EQ(types({"[n, 32] f32", "[6] f32"}, {0}), "BadAttribute");
  for (const std::vector<std::int64_t>& biased :
       std::vector<std::vector<std::int64_t>>{{1, 0}, {0, 0}, {0, 2}, {-1, 0}})
    EXPECT_EQ(types({"[n, 32] f32", "[6, 32] f32", "[4, 32] f32", "[6] f32", "[4] f32"}, biased), "BadAttribute");
  EXPECT_EQ(types({"[n, 32] f32", "[6, 31] f32"}), "ShapeMismatch");
  const auto normed = [](const std::vector<std::string>& operands) {
    return inferred("FusedSharedMatMul", operands,
                    {{"biased", std::vector<std::int64_t>{0}}, {"transpose_b", true}, {"norm_eps", 0.0}});
  };
  EXPECT_EQ(normed({"[n, 32] f32", "[6, 32] f32", "[4, 32] q8_0", "[6] f32", "[32] f32"}), "[n, 6] f32; [n, 4] f32");
  EXPECT_EQ(normed({"[n, 32] f32", "[6, 32] f32", "[6] f32", "[31] f32"}), "ShapeMismatch");
  EXPECT_EQ(normed({"[n, 32] f32", "[6, 32] f32", "[32] f32"}), "BadAttribute");  // no weight is left
  EXPECT_EQ(normed({"[n, 32] f32"}), "BadAttribute");
}

TEST(FusedInference, GatedMatMulAndSwiGlu) {
  const auto gated = [](const std::vector<std::string>& operands) { return inferred("FusedGatedMatMul", operands); };
  EXPECT_EQ(gated({"[n, 8] f32", "[8, 6] f32", "[8, 6] f32"}), "[n, 6] f32");
  EXPECT_EQ(gated({"[n, 8] f32", "[8, 6] f32", "[8, 6] f32", "[6] f32", "[6] f32"}), "[n, 6] f32");
  EXPECT_EQ(gated({"[n, 8] f32", "[8, 6] f32", "[8, 5] f32"}), "ShapeMismatch");
  EXPECT_EQ(gated({"[n, 8] f32", "[8, 6] f32", "[8, 6] f32", "", "", "[8] f32"}), "BadAttribute");
  EXPECT_EQ(gated({"[n, 8] f32", "[8, 6] f32", "[8, 6] f32", "", "[5] f32"}), "ShapeMismatch");
  EXPECT_EQ(inferred("FusedSwiGLU", {"[2, n, 6] f32"}), "[2, n, 3] f32");
  EXPECT_EQ(inferred("FusedSwiGLU", {"[n, 6] f32"}, {{"cast_to", DType::f16}}), "[n, 3] f16");
  EXPECT_EQ(inferred("FusedSwiGLU", {"[n, 5] f32"}), "ShapeMismatch");
  EXPECT_EQ(inferred("FusedSwiGLU", {"[6, n] f32"}), "ShapeMismatch");
  EXPECT_EQ(inferred("FusedSwiGLU", {"[] f32"}), "ShapeMismatch");
  EXPECT_EQ(inferred("FusedSwiGLU", {"[4] i32"}), "DTypeMismatch");
}

TEST(FusedInference, ResidualNorms) {
  for (const char* op : {"FusedResidualRmsNorm", "FusedResidualLN"}) {
    EXPECT_EQ(inferred(op, {"[n, 8] f32", "[n, 8] f32"}), "[n, 8] f32; [n, 8] f32");
    EXPECT_EQ(inferred(op, {"[n, 8] f32", "[n, 8] f32", "[8] f32", "[8] f32"}), "[n, 8] f32; [n, 8] f32");
    EXPECT_EQ(inferred(op, {"[n, 8] f32", "[8] f32"}), "ShapeMismatch");
    EXPECT_EQ(inferred(op, {"[n, 8] f32", "[n, 7] f32"}), "ShapeMismatch");
    EXPECT_EQ(inferred(op, {"[n, 8] f32", "[n, 8] f16"}), "DTypeMismatch");
    EXPECT_EQ(inferred(op, {"[n, 8] f32", "[n, 8] f32", "[7] f32"}), "ShapeMismatch");
    EXPECT_EQ(inferred(op, {"[n, 8] f32", "[n, 8] f32"}, {{"eps", -1.0}}), "BadAttribute");
  }
}

// One graph with every fused op over ragged sizes.
Graph everything(std::int64_t rows, std::int64_t terms, std::int64_t columns) {
  Graph g("fused");
  const Var x = input(g, "x", {rows, terms});
  const auto weight = [&](std::int64_t n) { return param(g, "w" + std::to_string(g.size()), {n, terms}); };
  const auto bias = [&](std::int64_t n) { return param(g, "b" + std::to_string(g.size()), {n}); };
  const Var a =
      fused_matmul_bias_act(x, weight(columns), {.bias = bias(columns), .activation = "gelu", .transpose_b = true});
  const Var b = fused_matmul_bias_act(x, weight(columns), {.residual = a, .transpose_b = true});
  const auto shared = fused_shared_matmul(x, {weight(columns), weight(2 * columns)},
                                          {.biases = {Var(), bias(2 * columns)}, .transpose_b = true});
  const Var gated =
      fused_gated_matmul(x, weight(columns), weight(columns), {.bias_up = bias(columns), .transpose_b = true});
  const Var gain = bias(terms);
  const Var a_normed = fused_matmul_bias_act(
      x, weight(columns), {.bias = bias(columns), .residual = a, .transpose_b = true, .norm = {gain, 1e-3}});
  const auto shared_normed =
      fused_shared_matmul(x, {weight(columns), weight(2 * columns)},
                          {.biases = {bias(columns), Var()}, .transpose_b = true, .norm = {gain, 1e-5}});
  const Var gated_normed =
      fused_gated_matmul(x, weight(columns), weight(columns), {.transpose_b = true, .norm = {bias(terms)}});
  const Var halves = fused_swiglu(shared[1], {.gate_first = true});
  const auto [normed, sum] = fused_residual_rms_norm(b, gated, bias(columns));
  const auto [layer, second] = fused_residual_layer_norm(sum, halves, bias(columns), bias(columns));
  const Var region =
      elementwise_region({layer, normed, shared[0]}, "t0 = mul(x0, x1); t1 = tanh(t0); t2 = add(t1, x2)");
  for (const Var& result : {a, b, shared[0], shared[1], gated, a_normed, shared_normed[0], shared_normed[1],
                            gated_normed, halves, normed, sum, layer, second, region})
    g.add_output("y" + std::to_string(result.value().node) + "_" + std::to_string(result.value().port), result.value());
  return g;
}

TEST(FusedKernels, HaveTheBitsOfTheirSteps) {
  for (const std::int64_t rows : {1, 2, 7, 17})
    for (const std::int64_t terms : {1, 31, 64, 129}) {
      const Graph graph = everything(rows, terms, 19), apart = unfuse(graph);
      for (const Node& node : apart.nodes()) {
        EXPECT_EQ(expansion_of(*node.schema), nullptr);
      }
      std::mt19937 random(3);
      test::Bindings bindings;
      for (const Node& node : graph.nodes()) {
        if (node.schema->op_class != OpClass::leaf) continue;
        Tensor value = Tensor::zeros(DType::f32, *node.shape("shape").static_dims());
        for (float& v : value.mutable_values<float>()) v = std::normal_distribution<float>()(random);
        bindings[node.text("name")] = value;
      }
      const auto fused = test::run_graph(graph, bindings), steps = test::run_graph(apart, bindings);
      for (std::size_t i = 0; i < fused.size(); ++i)
        EXPECT_FALSE(test::difference(fused[i], steps[i], test::Rule::exact)) << i;
    }
}

TEST(FusedKernels, TextReadsBack) {
  const Graph graph = everything(3, 8, 6);
  EXPECT_EQ(graph_from_text(to_text(graph)), graph);
}

}  // namespace
}  // namespace weft
