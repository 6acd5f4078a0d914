// Fused ops of the Graph IR against the ops that they stand for, and fused programs against unfused ones: the same
// bits by the reference kernels, within 1e-4 of the largest result by the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "random_tensor.h"
#include "weft/formats/graph_ir/test_graphs.h"
#include "weft/formats/graph_ir/to_mir.h"
#include "weft/passes/pipeline.h"
#include "weft/runtime/graph_executor.h"

namespace weft::graph_ir {
namespace {

struct Fusion {
  const char* name;
  std::vector<std::pair<std::string, Shape>> operands;
  std::vector<Node> unfused, fused;
  const char* makes;  // the fused op that the compiler's passes make of either graph; empty: none
};

Node node(Op op, std::vector<std::string> inputs, std::vector<std::string> outputs, Attrs attrs = {}) {
  return {0, std::move(op), std::move(inputs), std::move(outputs), std::move(attrs), {}};
}

std::vector<Fusion> fusions() {
  const Op matmul = make_op(Tag::matmul), silu = make_op(Tag::silu), add = make_op(Tag::add), mul = make_op(Tag::mul);
  const auto eps = [](Tag tag) { return make_op(tag, {{"eps", 1e-5f}}); };
  const Op sdpa = make_op(Tag::sdpa, {{"num_heads", 4u}, {"kv_heads", 2u}, {"head_dim", 8u}, {"causal", true}});
  const Op flash = make_op(Tag::flash_attention, {{"num_heads", 4u}, {"kv_heads", 2u}, {"head_dim", 8u}});
  const Attrs seen{{"window", std::int64_t{5}}, {"softcap", 4.0f}, {"scale", 0.5f}};
  Attrs flash_seen = seen;
  flash_seen["causal"] = true;
  const std::vector<std::pair<std::string, Shape>> gate{{"x", {-1, 16}}, {"g", {12, 16}}, {"u", {12, 16}}};
  return {
      {"F1 gated product",
       gate,
       {node(matmul, {"x", "g"}, {"a"}), node(silu, {"a"}, {"b"}), node(matmul, {"x", "u"}, {"c"}),
        node(mul, {"b", "c"}, {"y"})},
       {node(make_op(Tag::fused_swi_glu), {"x", "g", "u"}, {"y"})},
       "FusedGatedMatMul"},
      {"F1 the other way round",
       gate,
       {node(matmul, {"x", "u"}, {"c"}), node(matmul, {"x", "g"}, {"a"}), node(silu, {"a"}, {"b"}),
        node(mul, {"c", "b"}, {"y"})},
       {node(make_op(Tag::fused_swi_glu), {"x", "g", "u"}, {"y"})},
       "FusedGatedMatMul"},
      {"F2 sum and norm",
       {{"x", {-1, 16}}, {"w", {16}}},
       {node(silu, {"x"}, {"s"}), node(add, {"x", "s"}, {"z"}), node(eps(Tag::rms_norm), {"z", "w"}, {"y"})},
       {node(silu, {"x"}, {"s"}), node(eps(Tag::fused_skip_norm), {"x", "s", "w"}, {"y", "z"})},
       "FusedResidualRmsNorm"},
      {"F3 norm and product",
       {{"x", {-1, 16}}, {"w", {16}}, {"u", {12, 16}}},
       {node(eps(Tag::rms_norm), {"x", "w"}, {"h"}), node(matmul, {"h", "u"}, {"y"})},
       {node(eps(Tag::fused_norm_matmul), {"x", "w", "u"}, {"y"})},
       ""},
      {"F4 product and activation",
       {{"x", {-1, 16}}, {"u", {12, 16}}},
       {node(matmul, {"x", "u"}, {"h"}), node(silu, {"h"}, {"y"})},
       {node(matmul, {"x", "u"}, {"h"}), node(silu, {"h"}, {"y"})},
       "FusedMatMulBiasAct"},
      {"F5 attention",
       {{"q", {-1, 4, 8}}, {"k", {-1, 2, 8}}, {"v", {-1, 2, 8}}},
       {node(sdpa, {"q", "k", "v"}, {"y"}, seen)},
       {node(flash, {"q", "k", "v"}, {"y"}, flash_seen)},
       ""},
  };
}

Graph graph_of(const Fusion& fusion, const std::vector<Node>& nodes) {
  Graph graph;
  for (const auto& [name, shape] : fusion.operands) {
    if (shape[0] == unknown_dim)
      graph.inputs.push_back({name, {shape, DType::f32, {}, {}}});
    else
      graph.weights[name] = {shape, DType::f32, {}, {}};
  }
  graph.nodes = nodes;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) graph.nodes[i].id = i;
  graph.outputs = {"y"};
  for (const Node& each : nodes)
    if (std::count(each.outputs.begin(), each.outputs.end(), "z") != 0) graph.outputs.push_back("z");
  return graph;
}

NamedTensors run(const Fusion& fusion, const std::vector<Node>& nodes, const std::string& backend, bool passes) {
  std::map<std::string, Tensor> weights;
  NamedTensors inputs;
  std::uint64_t seed = 1;
  for (auto [name, shape] : fusion.operands) {
    const bool is_input = shape[0] == unknown_dim;
    if (is_input) shape[0] = 7;
    (is_input ? inputs : weights)[name] = test::random_tensor(shape, seed++);
  }
  ExecConfig config;
  config.backend = backend;
  if (!passes)
    for (const Pass& pass : pipeline()) config.without_passes.emplace_back(pass.name);
  return GraphExecutor::prepare(to_mir(graph_of(fusion, nodes)), weft::WeightMap(weights), config).run(inputs);
}

double furthest(const NamedTensors& a, const NamedTensors& b) {
  double worst = 0, largest = 1;
  EXPECT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    const auto left = tensor.values<float>(), right = b.at(name).values<float>();
    for (std::size_t i = 0; i < left.size(); ++i) {
      worst = std::max(worst, std::abs(double{left[i]} - right[i]));
      largest = std::max(largest, std::abs(double{right[i]}));
    }
  }
  return worst / largest;
}

TEST(GraphIrFusions, FusedOpsAreTheOpsTheyStandFor) {
  for (const Fusion& fusion : fusions()) {
    SCOPED_TRACE(fusion.name);
    const NamedTensors unfused = run(fusion, fusion.unfused, "reference", false);
    EXPECT_EQ(furthest(run(fusion, fusion.fused, "reference", false), unfused), 0);
    for (const std::vector<Node>* nodes : {&fusion.unfused, &fusion.fused})
      for (const bool passes : {false, true}) EXPECT_LE(furthest(run(fusion, *nodes, "", passes), unfused), 1e-4);
  }
}

std::size_t count_after_passes(const Graph& graph, std::string_view op) {
  const weft::Graph compiled = run_pipeline(to_mir(graph));
  std::size_t count = 0;
  for (const weft::Node& each : compiled.nodes()) count += each.schema->name == op ? 1 : 0;
  return count;
}

TEST(GraphIrFusions, TheCompilerFindsThem) {
  for (const Fusion& fusion : fusions())
    for (const std::vector<Node>* nodes : {&fusion.unfused, &fusion.fused})
      EXPECT_EQ(count_after_passes(graph_of(fusion, *nodes), fusion.makes), *fusion.makes != 0 ? 1u : 0u)
          << fusion.name;
}

}  // namespace
}  // namespace weft::graph_ir
