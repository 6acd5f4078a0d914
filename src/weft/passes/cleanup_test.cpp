// fold, simplify, layout, legalize, cse, dce.
#include <gtest/gtest.h>

#include <functional>

#include "pass_cases.h"
#include "run_node.h"
#include "weft/ops/builder.h"

namespace weft {
namespace {

using test::op_line_after;
using test::run_pass;
using test::the;
using test::unchanged;

Graph of(const std::function<Var(Graph&)>& build) {
  Graph graph("small");
  const Var result = build(graph);
  graph.add_output("y", result.value());
  return graph;
}

Var rows(Graph& graph) { return input(graph, "x", {Dim::symbol("n"), 8}); }

// --- fold -------------------------------------------------------------------------------------------------------

TEST(Fold, ComputesWhatOnlyConstantsDecide) {
  const Graph graph = of([](Graph& g) {
    const Var two = constant(g, 2.0), three = constant(g, 3.0);
    return rows(g) * (two * three + two).named("eight");
  });
  const Graph folded = run_pass(graph, "fold").graph;
  EXPECT_EQ(test::op_line(folded), "Binary");
  const auto eight = folded.find_value("eight");
  ASSERT_TRUE(eight);
  EXPECT_EQ(std::get<Tensor>(folded.node(eight->node).attribute("value")).values<float>()[0], 8.0f);
}

TEST(Fold, KeepsEveryResultOfANode) {
  const std::vector<float> values{1, 2, 3};
  const Graph graph = of([&](Graph& g) {
    const auto parts = split(constant(g, Tensor::from(std::span<const float>(values), {3})), {1, 2}, 0);
    g.add_output("first", parts[0].value());
    return parts[1];
  });
  const Graph folded = run_pass(graph, "fold").graph;
  EXPECT_EQ(test::op_line(folded), "");
  EXPECT_EQ(test::run_graph(folded)[1].values<float>()[1], 3.0f);
}

TEST(Fold, LeavesWhatItMustNotCompute) {
  // Weights are not known here.
  EXPECT_TRUE(unchanged(of([](Graph& g) { return silu(param(g, "w", {4})); }), "fold"));
  // More than 16 MiB.
  EXPECT_TRUE(unchanged(of([](Graph& g) { return expand(constant(g, 1.0), {5000, 1000}); }), "fold"));
  // Packed matrices.
  EXPECT_TRUE(unchanged(of([](Graph& g) { return decode(constant(g, Tensor::zeros(DType::q8_0, {4, 64}))); }), "fold"));
  // Randomness.
  EXPECT_TRUE(unchanged(of([](Graph& g) { return sample(constant(g, Tensor::zeros(DType::f32, {2, 4}))); }), "fold"));
  // An index that no run could look up.
  const std::vector<std::int32_t> far{7};
  EXPECT_TRUE(unchanged(of([&](Graph& g) {
                          return gather(constant(g, Tensor::zeros(DType::f32, {4})),
                                        constant(g, Tensor::from(std::span<const std::int32_t>(far), {1})));
                        }),
                        "fold"));
}

// --- simplify ---------------------------------------------------------------------------------------------------

TEST(Simplify, DropsWhatChangesNothing) {
  const std::vector<std::function<Var(Var)>> identities{
      [](Var x) { return x * 1.0; },
      [](Var x) { return 1.0 * x; },
      [](Var x) { return x + 0.0; },
      [](Var x) { return 0.0 + x; },
      [](Var x) { return x - 0.0; },
      [](Var x) { return x / 1.0; },
      [](Var x) {
        return emit(x.graph(), "Cast", {x}, {{"to", DType::f32}});
      },
      [](Var x) {
        return reshape(x, {-1, 8});
      },
      [](Var x) {
        return transpose(x, {0, 1});
      },
      [](Var x) { return narrow(x, 1, 0, 8); },
      [](Var x) {
        return expand(x, {-1, 8});
      },
      [](Var x) { return concat({x}, 0); },
      [](Var x) { return split(x, {8}, 1)[0]; },
      [](Var x) { return decode(x); },
      [](Var x) {
        return x * constant(x.graph(), Tensor::from(std::span<const float>(std::vector<float>(8, 1)), {8}));
      },
  };
  for (std::size_t i = 0; i < identities.size(); ++i) {
    SCOPED_TRACE(i);
    const Graph graph = of([&](Graph& g) { return silu(identities[i](rows(g))); });
    EXPECT_EQ(op_line_after(graph, "simplify"), "Activation");
  }
}

TEST(Simplify, LeavesWhatChangesSomething) {
  const std::vector<std::function<Var(Var)>> others{
      [](Var x) { return x * 2.0; },
      [](Var x) { return x * 0.0; },
      [](Var x) { return 0.0 - x; },
      [](Var x) { return 1.0 / x; },
      [](Var x) { return cast(x, DType::f16); },
      [](Var x) {
        return reshape(x, {-1, 4});
      },
      [](Var x) { return transpose(x); },
      [](Var x) { return narrow(x, 1, 0, 4); },
      [](Var x) { return stop_gradient(x); },
      // The result has more axes.
      [](Var x) {
        return x * constant(x.graph(), Tensor::from(std::span<const float>(std::vector<float>{1}), {1, 1, 1}));
      },
  };
  for (std::size_t i = 0; i < others.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_TRUE(unchanged(of([&](Graph& g) { return silu(others[i](rows(g))); }), "simplify"));
  }
}

TEST(Simplify, AnIdentityThatIsAnOutputHandsItsOperandOut) {
  const Graph graph = of([](Graph& g) { return (rows(g) * 1.0).named("same"); });
  const Graph simple = run_pass(graph, "simplify").graph;
  EXPECT_EQ(simple.outputs()[0], (GraphOutput{"y", {0, 0}}));
}

// --- layout -----------------------------------------------------------------------------------------------------

TEST(Layout, TransposesOfTransposesAreOne) {
  const auto cube = [](Graph& g) { return input(g, "x", {Dim::symbol("n"), 4, 8}); };
  const Graph turned = of([&](Graph& g) { return transpose(transpose(transpose(cube(g), {1, 2, 0}), {0, 2, 1}), {}); });
  PipelineOptions options;
  options.only = {"layout", "dce"};
  const Graph once = run_pipeline(turned, options);
  EXPECT_EQ(test::op_line(once), "Transpose");
  EXPECT_EQ(once.type(once.outputs()[0].value), turned.type(turned.outputs()[0].value));
  EXPECT_EQ(the(once, "Transpose").integers("perm"), (std::vector<std::int64_t>{2, 0, 1}));
  const Graph back = of([&](Graph& g) { return transpose(transpose(cube(g), {1, 2, 0}), {2, 0, 1}); });
  EXPECT_EQ(test::op_line(run_pipeline(back, options)), "");
}

TEST(Layout, ReshapesOfReshapesAreOne) {
  PipelineOptions options;
  options.only = {"layout", "dce"};
  EXPECT_EQ(test::op_line(run_pipeline(of([](Graph& g) {
                                         return reshape(reshape(rows(g), {-1, 2, 4}), {-1, 2});
                                       }),
                                       options)),
            "Reshape");
  EXPECT_EQ(test::op_line(run_pipeline(of([](Graph& g) {
                                         return silu(reshape(reshape(rows(g), {-1, 2, 4}), {-1, 8}));
                                       }),
                                       options)),
            "Activation");
  // What the first checks before a run is checked still.
  const Graph checked = of([](Graph& g) { return reshape(reshape(input(g, "x", {Dim::symbol("n")}), {2, -1}), {-1}); });
  EXPECT_EQ(test::op_line(run_pipeline(checked, options)), "Reshape Reshape");
}

TEST(Layout, ProductsTransposeByThemselves) {
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      const Graph graph = of([&](Graph& g) {
        const Var x = input(g, "x", {2, 4, 8}), w = input(g, "w", {2, 8, 5});
        return matmul(a ? x : transpose(transpose(x, {0, 2, 1}), {0, 1, 2}), b ? w : transpose(w, {0, 2, 1}),
                      {.transpose_a = !a, .transpose_b = !b});
      });
      const Graph plain = run_pass(graph, "layout").graph;
      const Node& product = the(plain, "MatMul");
      EXPECT_FALSE(product.boolean("transpose_a"));
      EXPECT_FALSE(product.boolean("transpose_b"));
    }
  // Only the last two axes.
  EXPECT_TRUE(unchanged(of([](Graph& g) {
                          return matmul(transpose(input(g, "x", {4, 2, 8}), {1, 0, 2}), input(g, "w", {8, 5}));
                        }),
                        "layout"));
  // Rows of 16-bit weights meet f32 rows only as rows.
  EXPECT_TRUE(unchanged(of([](Graph& g) {
                          return matmul(rows(g), transpose(param(g, "w", {8, 5}, DType::f16)), {.transpose_b = true});
                        }),
                        "layout"));
}

TEST(Legalize, ProductsReadWeightsAsTheyAreStored) {
  for (const DType dtype : {DType::q4_0, DType::f16, DType::bf16}) {
    const Graph graph = of([&](Graph& g) {
      return matmul(input(g, "x", {3, 64}), decode(param(g, "w", {5, 64}, dtype)), {.transpose_b = true});
    });
    PipelineOptions options;
    options.only = {"legalize", "dce"};
    EXPECT_EQ(test::op_line(run_pipeline(graph, options)), "MatMul");
  }
  EXPECT_TRUE(unchanged(of([](Graph& g) {
                          return matmul(input(g, "x", {3, 5}), decode(param(g, "w", {5, 64}, DType::q4_0)));
                        }),
                        "legalize"));
}

// --- cse, dce ---------------------------------------------------------------------------------------------------

TEST(Cse, MergesEqualNodesAndKeepsTheirOrigins) {
  const Graph graph = of([](Graph& g) {
    const Var x = rows(g);
    const Var a = silu(x), b = silu(x).named("b");
    g.set_origin(a.value().node, {.format = "", .id = {}, .op = "", .label = "first"});
    g.set_origin(b.value().node, {.format = "", .id = {}, .op = "", .label = "second"});
    return a * 2.0 + b * 2.0;
  });
  const Graph merged = run_pass(graph, "cse").graph;
  EXPECT_EQ(test::op_line(merged), "Activation Binary Binary");
  const Node& node = the(merged, "Activation");
  EXPECT_EQ(node.origin.label, "first");
  EXPECT_EQ(node.origin.also, (std::vector<std::string>{"second"}));
  EXPECT_EQ(node.outputs[0].name, "b");
}

TEST(Cse, LeavesWhatDiffersOrHasEffects) {
  EXPECT_TRUE(unchanged(of([](Graph& g) {
                          const Var x = rows(g);
                          return silu(x) + gelu(x) + elu(x, 0.5) + elu(x, 0.25) + constant(g, 0.0) + constant(g, -0.0);
                        }),
                        "cse"));
  EXPECT_TRUE(unchanged(of([](Graph& g) {
                          const Var x = input(g, "x", {2, 4});
                          return sample(x) + sample(x);
                        }),
                        "cse"));
  Graph state("state");
  state.add_state({.name = "kv", .planes = {8, 8}, .length = Dim::symbol("past"), .capacity = {}});
  const Var k = rows(state);
  state.add_output("a", kv_append("kv", k, k).first.value());
  state.add_output("b", kv_append("kv", k, k).first.value());
  EXPECT_TRUE(unchanged(state, "cse"));
}

TEST(Dce, DropsWhatNothingNeeds) {
  Graph graph("dead");
  graph.add_state({.name = "kv", .planes = {8, 8}, .length = Dim::symbol("past"), .capacity = {}});
  const Var x = rows(graph);
  input(graph, "unused", {4});
  gelu(param(graph, "dead", {4}));
  kv_append("kv", x, x);
  graph.add_output("y", silu(x).value());
  const auto [live, report] = run_pass(graph, "dce");
  EXPECT_EQ(test::op_line(live), "KvAppend Activation");
  EXPECT_TRUE(live.find_input("unused"));
  EXPECT_FALSE(live.find_param("dead"));
  EXPECT_EQ(report.matches, 2u);
  ASSERT_EQ(report.misses.size(), 1u);
  EXPECT_EQ(report.misses[0].reason, "UnusedParam");
}

}  // namespace
}  // namespace weft
