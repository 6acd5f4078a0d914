#include "weft/passes/pipeline.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "infer_node.h"
#include "pass_cases.h"
#include "weft/ir/verify.h"
#include "weft/ops/builder.h"
#include "weft/passes/use_index.h"

namespace weft {
namespace {

using test::op_line;

// silu(x w + b) + x, with a node that nothing needs.
Graph small() {
  Graph graph("small");
  const Var x = input(graph, "x", {Dim::symbol("n"), 8});
  gelu(x);
  const Var product = matmul(x, param(graph, "w", {8, 8})), sum = add(product, param(graph, "b", {8}));
  const Var y = silu(sum) + x;
  int labels = 0;
  for (const Var& v : {product, sum, y})
    graph.set_origin(v.value().node,
                     {.format = "t", .id = {}, .op = "", .label = std::string(1, static_cast<char>('a' + labels++))});
  graph.add_output("y", y.value());
  return graph;
}

TEST(Pipeline, NamesAreUniqueAndDocumented) {
  std::set<std::string> names;
  for (const Pass& pass : pipeline()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_GE(std::string(pass.doc).size(), 10u) << pass.name;
    EXPECT_NE(pass.run, nullptr);
    if (*pass.makes != '\0') {
      EXPECT_NE(OpRegistry::global().find(pass.makes), nullptr) << pass.makes;
    }
  }
}

TEST(Pipeline, OptionsLeaveOutPickAndStop) {
  EXPECT_EQ(op_line(run_pipeline(small())), "FusedMatMulBiasAct");
  EXPECT_EQ(op_line(run_pipeline(small(), {.after = "all"})), "FusedMatMulBiasAct");
  EXPECT_EQ(op_line(run_pipeline(small(), {.after = "dce"})), "MatMul Binary Activation Binary");
  EXPECT_EQ(op_line(run_pipeline(small(), {.after = "matmul-bias"})), "FusedMatMulBiasAct Activation Binary");
  EXPECT_EQ(op_line(run_pipeline(small(), {.without = {"matmul-bias", "elementwise"}})),
            "MatMul Binary Activation Binary");
  EXPECT_EQ(op_line(run_pipeline(small(), {.without = {"matmul-bias"}})), "MatMul ElementwiseRegion");
  EXPECT_EQ(op_line(run_pipeline(small(), {.only = {"dce"}})), "MatMul Binary Activation Binary");
  for (const PipelineOptions& options :
       {PipelineOptions{.without = {"x"}}, PipelineOptions{.only = {"x"}}, PipelineOptions{.after = "x"}})
    EXPECT_EQ(test::error_code([&] { run_pipeline(small(), options); }), "UnknownPass");
}

TEST(Pipeline, WhatNobodyClaimsIsNotMade) {
  PipelineReport report;
  PipelineOptions options;
  options.claims = [](std::string_view op) { return op == "ElementwiseRegion"; };
  EXPECT_EQ(op_line(run_pipeline(small(), options, &report)), "MatMul ElementwiseRegion");
  for (const PassReport& pass : report)
    if (pass.name == "matmul-bias") {
      EXPECT_FALSE(pass.ran);
      EXPECT_EQ(pass.misses.at(0).reason, "NotClaimed");
    }
}

TEST(Pipeline, TheReportCountsMatchesAndNodes) {
  PipelineReport report;
  run_pipeline(small(), {}, &report);
  ASSERT_EQ(report.size(), pipeline().size());
  for (std::size_t i = 0; i < report.size(); ++i) EXPECT_EQ(report[i].name, pipeline()[i].name);
  const auto of = [&](const char* name) {
    return *std::find_if(report.begin(), report.end(), [&](const PassReport& pass) { return pass.name == name; });
  };
  EXPECT_EQ(of("dce").matches, 1u);
  EXPECT_EQ(of("dce").nodes_before, 8u);
  EXPECT_EQ(of("dce").nodes_after, 7u);
  EXPECT_EQ(of("matmul-bias").matches, 1u);
  EXPECT_EQ(of("matmul-epilogue").matches, 1u);
}

TEST(Pipeline, OriginsOfAllMembersAreKept) {
  const Graph fused = run_pipeline(small());
  const Node& node = test::the(fused, "FusedMatMulBiasAct");
  EXPECT_EQ(node.origin.label, "c");
  EXPECT_EQ((std::set<std::string>{node.origin.also.begin(), node.origin.also.end()}),
            (std::set<std::string>{"a", "b"}));
}

TEST(Pipeline, AGraphThatBreaksARuleIsRefused) {
  Graph graph = small();
  Node node = graph.node(graph.size() - 1);
  node.outputs[0].type.dtype = DType::i8;
  node.outputs[0].name.clear();
  graph.append_unchecked(std::move(node));
  EXPECT_THROW(run_pipeline(graph), Error);
}

TEST(Unfuse, TakesApartAllOrSome) {
  Graph graph("fused");
  const Var x = input(graph, "x", {2, 8});
  const Var y = fused_matmul_bias_act(x, param(graph, "w", {8, 8}), {.residual = x, .activation = "silu"}).named("y");
  const auto [normed, sum] = fused_residual_rms_norm(x, y);
  graph.set_origin(y.value().node, {.format = "t", .id = {}, .op = "", .label = "layer"});
  graph.add_output("normed", normed.named("normed").value());
  graph.add_output("sum", sum.named("sum").value());
  const Graph apart = unfuse(graph);
  verify(apart);
  EXPECT_EQ(op_line(apart), "MatMul Activation Binary Binary RmsNorm");
  for (const char* name : {"y", "normed", "sum"}) EXPECT_TRUE(apart.find_value(name)) << name;
  EXPECT_EQ(test::the(apart, "MatMul").origin.label, "layer");
  EXPECT_EQ(op_line(unfuse(graph, [](const Node& node) { return node.schema->name == "FusedResidualRmsNorm"; })),
            "FusedMatMulBiasAct Binary RmsNorm");
  EXPECT_EQ(run_pipeline(apart, {.without = {"dce"}}).find_value("y").has_value(), true);
}

TEST(Unfuse, KeepsHints) {
  Graph graph("hint");
  const std::int32_t x = graph.add("Input", {}, {{"name", "x"}, {"shape", Shape{2, 8}}});
  const std::int32_t y = graph.add("FusedSwiGLU", {{x, 0}}, {}, {.backend_hint = "cpu"});
  graph.add_output("y", {y, 0});
  const Graph apart = unfuse(graph);
  for (const Node& node : apart.nodes())
    if (node.schema->op_class != OpClass::leaf) {
      EXPECT_EQ(node.backend_hint, "cpu");
    }
}

TEST(UseIndex, AgreesWithTheGraph) {
  const Graph graph = small();
  const UseIndex uses(graph);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Value value{i, 0};
    const auto found = uses.users(value);
    EXPECT_EQ((std::vector<Value>{found.begin(), found.end()}), graph.users(value));
    EXPECT_EQ(found.size() + (uses.is_output(value) ? 1 : 0), graph.use_count(value));
    EXPECT_EQ(uses.is_private(value), graph.use_count(value) == 1 && !uses.is_output(value));
  }
}

// A wide or long graph takes time in proportion to its nodes.
TEST(Pipeline, LargeGraphsTakeNoSquareOfTime) {
  const auto seconds = [](const Graph& graph) {
    const auto start = std::chrono::steady_clock::now();
    run_pipeline(graph);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Graph wide("wide"), long_one("long");
  const Var x = input(wide, "x", {2, 8});
  for (int i = 0; i < 10000; ++i)
    wide.add_output("y" + std::to_string(i), silu(matmul(x, param(wide, "w" + std::to_string(i), {8, 8}))).value());
  Var y = input(long_one, "x", {8, 8});
  for (int i = 0; i < 5000; ++i) y = reshape(silu(transpose(reshape(y + y, {64})) + 0.0), {8, 8});
  long_one.add_output("y", y.value());
  EXPECT_LT(seconds(wide), 10);
  EXPECT_LT(seconds(long_one), 10);
}

}  // namespace
}  // namespace weft
