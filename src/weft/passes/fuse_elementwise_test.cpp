#include <gtest/gtest.h>

#include <functional>

#include "pass_cases.h"
#include "weft/ops/builder.h"
#include "weft/ops/elementwise_region.h"

namespace weft {
namespace {

using test::missed;
using test::op_line_after;
using test::run_pass;
using test::the;
using test::unchanged;

Graph of(const std::function<Var(Graph&, Var)>& build) {
  Graph graph("chain");
  const Var result = build(graph, input(graph, "x", {Dim::symbol("n"), 8}));
  graph.add_output("y", result.value());
  return graph;
}

TEST(Elementwise, AChainIsOneRegion) {
  const Graph graph = of([](Graph& g, Var x) {
    const Var row = param(g, "row", {8});
    const Var shifted = x * constant(g, 0.5) + row;
    return cast(where(gt(shifted, x), silu(shifted), row), DType::f16).named("result");
  });
  const Graph fused = run_pass(graph, "elementwise").graph;
  EXPECT_EQ(test::op_line(fused), "ElementwiseRegion");
  const Node& node = the(fused, "ElementwiseRegion");
  EXPECT_EQ(parse_region(node.text("chain")).size(), 6u);
  EXPECT_EQ(node.inputs.size(), 3u);
  EXPECT_EQ(node.outputs[0].name, "result");
}

TEST(Elementwise, TheTextSaysWhatHappens) {
  const Graph graph = of([](Graph& g, Var x) {
    const Var scaled = mul(x, constant(g, 0.5));
    return add(silu(scaled), scaled);
  });
  EXPECT_EQ(the(run_pass(graph, "elementwise").graph, "ElementwiseRegion").text("chain"),
            "t0 = mul(x0, x1); t1 = silu(t0); t2 = add(t1, t0)");
}

TEST(Elementwise, AValueThatOthersReadEndsARegion) {
  // The sum is an output too: two regions, one of which reads the other.
  const Graph graph = of([](Graph& g, Var x) {
    const Var sum = silu(x * x) + x;
    g.add_output("sum", sum.value());
    return gelu(sum) * sum;
  });
  EXPECT_EQ(op_line_after(graph, "elementwise"), "ElementwiseRegion ElementwiseRegion");
  EXPECT_TRUE(unchanged(of([](Graph& g, Var x) {
                          const Var y = silu(x);
                          g.add_output("early", y.value());
                          return gelu(y);
                        }),
                        "elementwise"));
}

TEST(Elementwise, AnotherOpBetweenTwoChainsSeparatesThem) {
  const Graph graph = of([](Graph& g, Var x) { return silu(rms_norm(silu(x * x), param(g, "gain", {8}))) * x; });
  EXPECT_EQ(op_line_after(graph, "elementwise"), "ElementwiseRegion RmsNorm ElementwiseRegion");
}

TEST(Elementwise, LeavesWhatItCannotTake) {
  EXPECT_TRUE(unchanged(of([](Graph&, Var x) { return silu(x); }), "elementwise"));
  // A column is no trailing broadcast.
  const Graph column = of([](Graph& g, Var x) { return silu(x * input(g, "column", {Dim::symbol("n"), 1})); });
  EXPECT_TRUE(unchanged(column, "elementwise"));
  EXPECT_EQ(missed(column, "elementwise"), "BroadcastNotTrailing, BroadcastNotTrailing");
  // Parts of another shape stay apart: each value is computed once.
  const Graph small = of([](Graph& g, Var x) { return x * silu(param(g, "row", {8})); });
  EXPECT_TRUE(unchanged(small, "elementwise"));
  // How a tie shares its cotangent would be lost.
  EXPECT_TRUE(unchanged(of([](Graph& g, Var x) {
                          return maximum(x, input(g, "z", {Dim::symbol("n"), 8}), Tie::all) * x;
                        }),
                        "elementwise"));
}

TEST(Elementwise, LimitsCutLongChains) {
  const Graph steps = of([](Graph&, Var x) {
    for (int i = 0; i < 70; ++i) x = silu(x);
    return x;
  });
  const Graph cut = run_pass(steps, "elementwise").graph;
  EXPECT_EQ(test::op_line(cut), "ElementwiseRegion ElementwiseRegion ElementwiseRegion");
  const Graph inputs = of([](Graph& g, Var x) {
    for (int i = 0; i < 20; ++i) x = x + input(g, "i" + std::to_string(i), {Dim::symbol("n"), 8});
    return x;
  });
  const auto [fused, report] = run_pass(inputs, "elementwise");
  EXPECT_EQ(test::op_line(fused), "ElementwiseRegion ElementwiseRegion");
  EXPECT_EQ(report.misses.at(0).reason, "TooManyInputs");
  for (const Node& node : fused.nodes()) {
    EXPECT_LE(node.inputs.size(), most_region_inputs);
  }
}

}  // namespace
}  // namespace weft
