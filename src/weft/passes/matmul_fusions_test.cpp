#include <gtest/gtest.h>

#include <functional>

#include "pass_cases.h"
#include "weft/ops/builder.h"
#include "weft/ops/fused_matmul.h"

namespace weft {
namespace {

using test::missed;
using test::op_line_after;
using test::run_pass;
using test::the;
using test::unchanged;

// A graph of rows x [n, 8] and whatever `build` adds; its result is the output.
struct Rows {
  Graph graph{"rows"};
  Var x = input(graph, "x", {Dim::symbol("n"), 8});
  int params = 0;

  Var weight(Shape shape, DType dtype = DType::f32) {
    return param(graph, "w" + std::to_string(params++), std::move(shape), dtype);
  }
  Var matrix(std::int64_t columns = 8) { return weight({columns, 8}); }
  Var product(Var w) { return matmul(x, w, {.transpose_b = true}); }
};

Graph rows(const std::function<Var(Rows&)>& build) {
  Rows r;
  const Var result = build(r);
  r.graph.add_output("y", result.value());
  return std::move(r.graph);
}

TEST(MatMulBias, TakesTheBiasOnEitherSide) {
  for (const bool left : {false, true}) {
    const Graph graph = rows([&](Rows& r) {
      const Var product = r.product(r.matrix(6)).named("product"), bias = r.weight({6});
      return (left ? add(bias, product) : add(product, bias)).named("sum");
    });
    const auto [fused, report] = run_pass(graph, "matmul-bias");
    EXPECT_EQ(test::op_line(fused), "FusedMatMulBiasAct");
    EXPECT_EQ(report.matches, 1u);
    const Node& node = the(fused, "FusedMatMulBiasAct");
    EXPECT_TRUE(node.boolean("transpose_b"));
    EXPECT_EQ(node.outputs[0].name, "sum");
    EXPECT_EQ(fused.node(node.inputs[2].node).text("name"), "w1");
  }
}

TEST(MatMulBias, LeavesWhatItCannotTake) {
  EXPECT_EQ(missed(rows([](Rows& r) {
                     return add(r.product(r.matrix()), r.weight({1, 8}));
                   }),
                   "matmul-bias"),
            "BiasRankTooHigh");
  EXPECT_EQ(missed(rows([](Rows& r) {
                     const Var product = r.product(r.matrix());
                     return add(product, r.weight({8})) * product;
                   }),
                   "matmul-bias"),
            "MultiConsumer");
  const Graph output = rows([](Rows& r) {
    const Var product = r.product(r.matrix());
    r.graph.add_output("product", product.value());
    return add(product, r.weight({8}));
  });
  EXPECT_EQ(missed(output, "matmul-bias"), "MultiConsumer");
  EXPECT_EQ(op_line_after(rows([](Rows& r) { return add(r.product(r.matrix()), r.weight({1})); }), "matmul-bias"),
            "MatMul Binary");
  EXPECT_EQ(op_line_after(rows([](Rows& r) { return mul(r.product(r.matrix()), r.weight({8})); }), "matmul-bias"),
            "MatMul Binary");
  EXPECT_EQ(op_line_after(rows([](Rows& r) {
                            return add(matmul(r.x, r.weight({4, 8, 8})), r.weight({8}));
                          }),
                          "matmul-bias"),
            "MatMul Binary");
  EXPECT_EQ(
      op_line_after(rows([](Rows& r) {
                      return add(matmul(r.weight({8, 3}), r.weight({8, 5}), {.transpose_a = true}), r.weight({5}));
                    }),
                    "matmul-bias"),
      "MatMul Binary");
}

TEST(MatMulBias, DifferentHintsStayApart) {
  Graph graph("hints");
  const std::int32_t x = graph.add("Input", {}, {{"name", "x"}, {"shape", Shape{2, 8}}});
  const std::int32_t w = graph.add("Param", {}, {{"name", "w"}, {"shape", Shape{8, 8}}});
  const std::int32_t b = graph.add("Param", {}, {{"name", "b"}, {"shape", Shape{8}}});
  const auto build = [&](const char* hint) {
    Graph copy = graph;
    const std::int32_t product = copy.add("MatMul", {{x, 0}, {w, 0}}, {}, {.backend_hint = "cpu"});
    const std::int32_t sum = copy.add("Binary", {{product, 0}, {b, 0}}, {{"kind", "add"}}, {.backend_hint = hint});
    copy.add_output("y", {sum, 0});
    return copy;
  };
  EXPECT_EQ(missed(build("cuda"), "matmul-bias"), "HintsDiffer");
  const Graph fused = run_pass(build("cpu"), "matmul-bias").graph;
  EXPECT_EQ(the(fused, "FusedMatMulBiasAct").backend_hint, "cpu");
}

TEST(MatMulBias, PackedWeightsStayPacked) {
  Graph graph("packed");
  const Var x = input(graph, "x", {Dim::symbol("n"), 64});
  const Var y = matmul(x, param(graph, "w", {6, 64}, DType::q4_0), {.transpose_b = true});
  graph.add_output("y", add(y, param(graph, "b", {6})).value());
  EXPECT_EQ(op_line_after(graph, "matmul-bias"), "FusedMatMulBiasAct");
}

TEST(GatedMatMul, TakesBothProjectionsAndTheGate) {
  for (const char* kind : {"silu", "gelu"})
    for (const bool up_first : {false, true}) {
      const Graph graph = rows([&](Rows& r) {
        const Var gate = activation(r.product(r.matrix(5)), kind), up = r.product(r.matrix(5));
        return (up_first ? up * gate : gate * up).named("product");
      });
      const Graph fused = run_pass(graph, "gated-matmul").graph;
      EXPECT_EQ(test::op_line(fused), "FusedGatedMatMul");
      const Node& node = the(fused, "FusedGatedMatMul");
      EXPECT_EQ(node.text("activation"), kind);
      EXPECT_EQ(node.outputs[0].name, "product");
      EXPECT_EQ(fused.node(node.inputs[1].node).text("name"), "w0");
      EXPECT_EQ(fused.node(node.inputs[2].node).text("name"), "w1");
    }
}

TEST(GatedMatMul, TakesBiases) {
  const Graph graph = rows([](Rows& r) {
    const Var gate = silu(r.product(r.matrix(5))), up = add(r.product(r.matrix(5)), r.weight({5}));
    return gate * up;
  });
  PipelineOptions options;
  options.only = {"matmul-bias", "gated-matmul"};
  const Graph fused = run_pipeline(graph, options);
  EXPECT_EQ(test::op_line(fused), "FusedGatedMatMul");
  EXPECT_FALSE(the(fused, "FusedGatedMatMul").inputs[3].defined());
  EXPECT_TRUE(the(fused, "FusedGatedMatMul").inputs[4].defined());
}

TEST(GatedMatMul, LeavesWhatItCannotTake) {
  const auto miss = [](const std::function<Var(Rows&)>& build) { return missed(rows(build), "gated-matmul"); };
  EXPECT_EQ(miss([](Rows& r) {
              const Var other = matmul(r.x + r.x, r.matrix(), {.transpose_b = true});
              return silu(r.product(r.matrix())) * other;
            }),
            "SwigluNotSharedInput");
  EXPECT_EQ(miss([](Rows& r) {
              const Var up = r.product(r.matrix());
              return silu(r.product(r.matrix())) * up + up;
            }),
            "MultiConsumer");
  EXPECT_EQ(miss([](Rows& r) {
              const Var gate = r.product(r.matrix());
              return silu(gate) * r.product(r.matrix()) + gate;
            }),
            "MultiConsumer");
  EXPECT_EQ(miss([](Rows& r) { return elu(r.product(r.matrix()), 0.5) * r.product(r.matrix()); }),
            "UnsupportedEpilogueActivation");
  // A product of one column is repeated, not multiplied element by element.
  EXPECT_TRUE(
      unchanged(rows([](Rows& r) { return silu(r.product(r.matrix(1))) * r.product(r.matrix(8)); }), "gated-matmul"));
}

TEST(MatMulEpilogue, TakesActivationAndResidual) {
  const Graph both = rows([](Rows& r) { return r.x + gelu(r.product(r.matrix())); });
  const Graph fused = run_pass(both, "matmul-epilogue").graph;
  EXPECT_EQ(test::op_line(fused), "FusedMatMulBiasAct");
  EXPECT_EQ(the(fused, "FusedMatMulBiasAct").text("activation"), "gelu");
  EXPECT_FALSE(the(fused, "FusedMatMulBiasAct").inputs[2].defined());
  EXPECT_EQ(the(fused, "FusedMatMulBiasAct").inputs[3], (Value{0, 0}));
  EXPECT_EQ(op_line_after(rows([](Rows& r) { return silu(r.product(r.matrix())); }), "matmul-epilogue"),
            "FusedMatMulBiasAct");
  // After the residual nothing follows.
  EXPECT_EQ(op_line_after(rows([](Rows& r) { return silu(r.product(r.matrix()) + r.x); }), "matmul-epilogue"),
            "FusedMatMulBiasAct Activation");
}

TEST(MatMulEpilogue, TheLaterOfTwoProductsTakesTheOther) {
  const Graph graph = rows([](Rows& r) { return r.product(r.matrix()) + r.product(r.matrix()); });
  const Graph fused = run_pass(graph, "matmul-epilogue").graph;
  EXPECT_EQ(test::op_line(fused), "MatMul FusedMatMulBiasAct");
}

TEST(MatMulEpilogue, LeavesWhatItCannotTake) {
  // Read twice.
  EXPECT_EQ(op_line_after(rows([](Rows& r) {
                            const Var y = r.product(r.matrix());
                            return silu(y) * y;
                          }),
                          "matmul-epilogue"),
            "MatMul Activation Binary");
  EXPECT_EQ(op_line_after(rows([](Rows& r) {
                            const Var y = r.product(r.matrix());
                            return y + y;
                          }),
                          "matmul-epilogue"),
            "MatMul Binary");
  // A residual of another shape.
  EXPECT_EQ(op_line_after(rows([](Rows& r) {
                            return r.product(r.matrix()) + r.weight({1, 8});
                          }),
                          "matmul-epilogue"),
            "MatMul Binary");
  // A result of another type, a slope.
  EXPECT_EQ(op_line_after(rows([](Rows& r) { return is_nan(r.product(r.matrix())); }), "matmul-epilogue"),
            "MatMul Activation");
  EXPECT_EQ(missed(rows([](Rows& r) { return leaky_relu(r.product(r.matrix()), 0.5); }), "matmul-epilogue"),
            "UnsupportedEpilogueActivation");
}

TEST(SharedMatMul, GathersTheProjectionsOfOneInput) {
  Rows r;
  const Var q = add(r.product(r.matrix(8)), r.weight({8})).named("q");
  const Var rotated = silu(q);  // what reads the first comes before the weights of the others
  const Var k = r.product(r.matrix(4)).named("k");
  const Var v = add(r.product(r.weight({4, 8}, DType::f16)), decode(r.weight({4}, DType::f16))).named("v");
  r.graph.add_output("a", rotated.value());
  r.graph.add_output("b", (k * v).value());
  PipelineOptions options;
  options.only = {"matmul-bias", "shared-matmul"};
  const Graph fused = run_pipeline(r.graph, options);
  EXPECT_EQ(test::op_line(fused), "Decode FusedSharedMatMul Activation Binary");
  const Node& node = the(fused, "FusedSharedMatMul");
  EXPECT_EQ(node.integers("biased"), (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(node.outputs[0].name, "q");
  EXPECT_EQ(node.outputs[1].name, "k");
  EXPECT_EQ(node.outputs[2].name, "v");
  const SharedProjections projections = shared_projections(node);
  ASSERT_EQ(projections.weights.size(), 3u);
  EXPECT_TRUE(projections.biases[0].defined());
  EXPECT_FALSE(projections.biases[1].defined());
  EXPECT_EQ(fused.node(projections.biases[2].node).schema->name, "Decode");
}

TEST(SharedMatMul, LeavesWhatItCannotGather) {
  const auto stays = [](const std::function<Var(Rows&)>& build) { return unchanged(rows(build), "shared-matmul"); };
  EXPECT_TRUE(stays([](Rows& r) { return r.product(r.matrix()); }));
  EXPECT_TRUE(stays([](Rows& r) { return r.product(r.matrix()) * matmul(r.x, r.matrix()); }));
  EXPECT_TRUE(
      stays([](Rows& r) { return r.product(r.matrix()) * matmul(r.x * r.x, r.matrix(), {.transpose_b = true}); }));
  // Weights that a run computes stay where they are.
  EXPECT_TRUE(stays([](Rows& r) {
    const Var computed = input(r.graph, "later", {8, 8});
    return r.product(computed) * r.product(r.matrix());
  }));
}

TEST(NormMatMul, TheNormMovesIntoTheProductsThatAloneReadIt) {
  Rows r;
  const Var gain = r.weight({8});
  const Var normed = rms_norm(r.x, gain, {.eps = 1e-5});
  const Var q = matmul(normed, r.matrix(4), {.transpose_b = true}),
            k = matmul(normed, r.matrix(), {.transpose_b = true});
  const Var rows = rms_norm(k, r.weight({8}));
  const Var gate = matmul(rows, r.matrix(), {.transpose_b = true}),
            up = matmul(rows, r.matrix(), {.transpose_b = true});
  const Var y = matmul(rms_norm(silu(gate) * up, r.weight({8})), r.matrix(), {.transpose_b = true});
  r.graph.add_output("q", q.value());
  r.graph.add_output("y", y.value());
  PipelineOptions options;
  options.only = {"gated-matmul", "shared-matmul", "norm-matmul"};
  const Graph fused = run_pipeline(r.graph, options);
  EXPECT_EQ(test::op_line(fused), "FusedSharedMatMul FusedGatedMatMul FusedMatMulBiasAct");
  const auto shared_norm = norm_of_rows(the(fused, "FusedSharedMatMul"));
  ASSERT_TRUE(shared_norm);
  EXPECT_EQ(shared_norm->eps, 1e-5);
  EXPECT_EQ(fused.node(shared_norm->gain.node).text("name"), "w0");
  EXPECT_EQ(shared_projections(the(fused, "FusedSharedMatMul")).weights.size(), 2u);
  EXPECT_TRUE(norm_of_rows(the(fused, "FusedGatedMatMul")));
  EXPECT_TRUE(norm_of_rows(the(fused, "FusedMatMulBiasAct")));
}

TEST(NormMatMul, LeavesWhatItCannotTake) {
  const auto miss = [](const std::function<Var(Rows&)>& build) { return missed(rows(build), "norm-matmul"); };
  const auto by = [](Rows& r, Var x) { return matmul(x, r.matrix(), {.transpose_b = true}); };
  EXPECT_EQ(miss([&](Rows& r) {
              const Var normed = rms_norm(r.x, r.weight({8}));
              return by(r, normed) + normed;
            }),
            "MultiConsumer");
  EXPECT_EQ(miss([&](Rows& r) { return by(r, rms_norm(r.x, Var())); }), "NormWithoutGainOrWithBias");
  EXPECT_EQ(miss([&](Rows& r) { return by(r, rms_norm(r.x, r.weight({8}), r.weight({8}))); }),
            "NormWithoutGainOrWithBias");
  // Of an input no product keeps panels.
  EXPECT_TRUE(
      unchanged(rows([&](Rows& r) {
                  return matmul(rms_norm(r.x, r.weight({8})), input(r.graph, "later", {8, 8}), {.transpose_b = true});
                }),
                "norm-matmul"));
}

TEST(SharedMatMul, ManyProjectionsAreGatheredInEights) {
  const Graph graph = rows([](Rows& r) {
    Var sum = r.product(r.matrix());
    for (int i = 1; i < 10; ++i) sum = sum * r.product(r.matrix());
    return sum;
  });
  EXPECT_EQ(run_pass(graph, "shared-matmul").report.matches, 2u);
}

TEST(SwiGlu, TakesTheHalvesOfOneTensor) {
  for (const bool gate_first : {false, true})
    for (const bool splits : {false, true})
      for (const bool casts : {false, true}) {
        Rows r;
        std::vector<Var> halves{narrow(r.x, -1, 0, 4), narrow(r.x, 1, 4, 4)};
        if (splits) halves = split(r.x, {4, 4}, -1);
        Var y = silu(halves[gate_first ? 0 : 1]) * halves[gate_first ? 1 : 0];
        if (casts) y = cast(y, DType::f16);
        r.graph.add_output("y", y.value());
        const Graph fused = run_pipeline(r.graph, {.only = {"dce", "swiglu"}});
        EXPECT_EQ(test::op_line(fused), "FusedSwiGLU");
        EXPECT_EQ(the(fused, "FusedSwiGLU").boolean("gate_first"), gate_first);
        EXPECT_EQ(fused.type(fused.outputs()[0].value).dtype, casts ? DType::f16 : DType::f32);
      }
}

TEST(SwiGlu, LeavesWhatItCannotTake) {
  const auto stays = [](const std::function<Var(Rows&)>& build) { return unchanged(rows(build), "swiglu"); };
  EXPECT_TRUE(stays([](Rows& r) { return silu(narrow(r.x, -1, 0, 4)) * narrow(r.x, -1, 0, 4); }));
  EXPECT_TRUE(stays([](Rows& r) { return gelu(narrow(r.x, -1, 0, 4)) * narrow(r.x, -1, 4, 4); }));
  EXPECT_TRUE(stays([](Rows& r) { return silu(narrow(r.x, -1, 0, 3)) * narrow(r.x, -1, 3, 3); }));
  EXPECT_EQ(missed(rows([](Rows& r) {
                     const Var gate = narrow(r.x, -1, 0, 4);
                     return silu(gate) * narrow(r.x, -1, 4, 4) + gate;
                   }),
                   "swiglu"),
            "MultiConsumer");
}

TEST(ResidualNorm, TakesTheSumAndKeepsIt) {
  for (const bool layer : {false, true}) {
    Rows r;
    const Var y = input(r.graph, "y", {Dim::symbol("n"), 8});
    const Var sum = (r.x + y).named("sum");
    const Var early = silu(sum);  // reads the sum in front of the norm
    const Var gain = r.weight({8});
    const Var normed = layer ? layer_norm(sum, gain, r.weight({8}), {.eps = 0.5}) : rms_norm(sum, gain, {.eps = 0.5});
    r.graph.add_output("normed", normed.named("normed").value());
    r.graph.add_output("sum", sum.value());
    r.graph.add_output("early", early.value());
    const Graph fused = run_pass(r.graph, layer ? "residual-layer-norm" : "residual-rms-norm").graph;
    const char* op = layer ? "FusedResidualLN" : "FusedResidualRmsNorm";
    EXPECT_EQ(test::op_line(fused), std::string(op) + " Activation");
    const Node& node = the(fused, op);
    EXPECT_EQ(node.real("eps"), 0.5);
    EXPECT_EQ(node.outputs[0].name, "normed");
    EXPECT_EQ(node.outputs[1].name, "sum");
    EXPECT_EQ(fused.outputs()[1].value.port, 1);
  }
}

TEST(ResidualNorm, LeavesWhatItCannotTake) {
  EXPECT_EQ(missed(rows([](Rows& r) { return rms_norm(r.x + r.weight({8}), r.weight({8})); }), "residual-rms-norm"),
            "BroadcastSum");
  EXPECT_EQ(op_line_after(rows([](Rows& r) { return rms_norm(r.x * r.x, r.weight({8})); }), "residual-rms-norm"),
            "Binary RmsNorm");
  // Of two norms of one sum the first takes it.
  EXPECT_EQ(op_line_after(rows([](Rows& r) {
                            const Var sum = r.x + r.x;
                            return rms_norm(sum, r.weight({8})) * rms_norm(sum, r.weight({8}));
                          }),
                          "residual-rms-norm"),
            "FusedResidualRmsNorm RmsNorm Binary");
  // A gain that a run computes after the sum.
  EXPECT_EQ(missed(rows([](Rows& r) {
                     const Var sum = r.x + r.x;
                     return rms_norm(sum, silu(r.weight({8})));
                   }),
                   "residual-rms-norm"),
            "GainComesLater");
}

}  // namespace
}  // namespace weft
