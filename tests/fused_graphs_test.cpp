// The pipeline on whole models and on random graphs: the outputs stay what they were.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "random_graph.h"
#include "run_node.h"
#include "tolerance.h"
#include "weft/ir/text.h"
#include "weft/ir/verify.h"
#include "weft/models/checkpoint.h"
#include "weft/ops/builder.h"
#include "weft/passes/pipeline.h"
#include "weft/passes/select_rows.h"
#include "weft/runtime/graph_executor.h"

namespace weft {
namespace {

std::vector<std::filesystem::path> models() {
  std::vector<std::filesystem::path> found{WEFT_SOURCE_DIR "/models/demo.model"};
  if (std::filesystem::is_directory(WEFT_SHARED_DIR "/models"))
    for (const auto& entry : std::filesystem::directory_iterator(WEFT_SHARED_DIR "/models"))
      if (entry.path().extension() == ".gguf") found.push_back(entry.path());
  std::erase_if(found, [](const auto& path) { return !std::filesystem::exists(path); });
  std::sort(found.begin(), found.end());
  return found;
}

// Op names of the nodes that compute, with a count where one repeats.
std::map<std::string, int> op_counts(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const Node& node : graph.nodes())
    if (node.schema->op_class != OpClass::leaf) ++counts[node.schema->name];
  return counts;
}

std::set<std::string> labels(const Graph& graph) {
  std::set<std::string> found;
  for (const Node& node : graph.nodes()) {
    found.insert(node.origin.label);
    found.insert(node.origin.also.begin(), node.origin.also.end());
  }
  return found;
}

Tensor logits(Graph graph, const WeightSource& weights) {
  GraphExecutor executor = GraphExecutor::prepare(std::move(graph), weights, {.backend = "reference"});
  const std::vector<std::int32_t> ids{1, 300, 417, 261, 333, 480, 290}, more{350, 12};
  executor.run({{"input_ids", Tensor::from(std::span<const std::int32_t>(ids), {7})}});
  return executor.run_first({{"input_ids", Tensor::from(std::span<const std::int32_t>(more), {2})}});
}

TEST(FusedModels, LogitsAreThoseOfTheUnfusedGraph) {
  for (const auto& path : models()) {
    SCOPED_TRACE(path.string());
    const auto checkpoint = Checkpoint::open(path);
    const Graph graph = checkpoint->graph();
    const Graph fused = run_pipeline(graph);
    const auto found = test::difference(logits(fused, *checkpoint), logits(graph, *checkpoint), test::Rule::exact);
    EXPECT_FALSE(found) << *found;
    EXPECT_EQ(run_pipeline(fused), fused);
    EXPECT_EQ(graph_from_text(to_text(fused)), fused);
    EXPECT_EQ(labels(fused), labels(graph));
    verify(unfuse(fused));
    EXPECT_EQ(op_counts(unfuse(fused)), op_counts(graph));
  }
}

TEST(FusedModels, ALayerIsAFewOps) {
  for (const auto& path : models()) {
    SCOPED_TRACE(path.string());
    const auto checkpoint = Checkpoint::open(path);
    const int layers = static_cast<int>(checkpoint->config().num_hidden_layers);
    auto counts = op_counts(run_pipeline(checkpoint->graph()));
    EXPECT_EQ(counts["FusedSharedMatMul"], layers);
    EXPECT_EQ(counts["FusedGatedMatMul"], layers);
    EXPECT_EQ(counts["FusedMatMulBiasAct"], 2 * layers + 1);
    EXPECT_EQ(counts["MatMul"], 0);
    EXPECT_EQ(counts["Binary"], 0);
    EXPECT_EQ(counts["Activation"], 0);
    const bool head_norms_too = path.string().find("qwen3") != std::string::npos;
    EXPECT_EQ(counts["RmsNorm"], head_norms_too ? 2 * layers : 0);  // the others are part of products
  }
}

TEST(FusedModels, RowsWantedAreSelectedBeforeFusing) {
  for (const auto& path : models()) {
    SCOPED_TRACE(path.string());
    const Graph graph = select_rows(Checkpoint::open(path)->graph(), "logits", "rows");
    const Graph fused = run_pipeline(graph);
    EXPECT_EQ(fused.outputs().size(), graph.outputs().size());
    EXPECT_EQ(fused.type(fused.outputs()[0].value), graph.type(graph.outputs()[0].value));
  }
}

// --- random graphs ----------------------------------------------------------------------------------------------

// Values for everything that a run binds, with n = m = 4; nothing where a shape holds another symbol.
std::optional<test::Bindings> bindings_of(const Graph& graph, std::mt19937& random) {
  test::Bindings bindings;
  for (const Node& node : graph.nodes()) {
    if (node.schema->name != "Input" && node.schema->name != "Param") continue;
    const DType dtype = node.dtype("dtype");
    Tensor value = Tensor::zeros(dtype, node.shape("shape").eval({{"n", 4}, {"m", 4}, {"past", 2}}));
    if (dtype == DType::f32)
      for (float& x : value.mutable_values<float>()) x = std::uniform_real_distribution<float>(-2, 2)(random);
    if (dtype == DType::i32)
      for (std::int32_t& x : value.mutable_values<std::int32_t>()) x = static_cast<std::int32_t>(random() % 3);
    bindings[node.text("name")] = value;
  }
  return bindings;
}

test::RunState state_of(const Graph& graph) {
  test::RunState state;
  for (const StateDecl& declared : graph.states()) {
    std::vector<Tensor> planes;
    for (const std::int64_t width : declared.planes) planes.push_back(Tensor::zeros(declared.dtype, {2, width}));
    state.hold(declared.name, std::move(planes));
  }
  return state;
}

// Whether the graph could be run; compares every output then.
bool compare(const Graph& graph, const Graph& fused, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> expected;
  std::optional<test::Bindings> bindings;
  try {
    bindings = bindings_of(graph, random);
    test::RunState state = state_of(graph);
    expected = test::run_graph(graph, *bindings, state);
  } catch (const std::exception&) {
    return false;
  }
  test::RunState state = state_of(fused);
  const std::vector<Tensor> actual = test::run_graph(fused, *bindings, state);
  EXPECT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const auto found = test::difference(actual[i], expected[i], test::Rule::elementwise);
    EXPECT_FALSE(found) << "output " << i << ": " << *found;
  }
  return true;
}

TEST(FusedRandomGraphs, OfAnyOpsKeepTheirOutputs) {
  int ran = 0;  // most draws hold a node that refuses its values; what the graphs look like matters more here
  constexpr int seeds = 300;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = test::GraphGenerator(seed).graph(6, 200);
    Graph fused = run_pipeline(graph);
    ASSERT_EQ(fused.outputs().size(), graph.outputs().size());
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
      EXPECT_EQ(fused.outputs()[i].name, graph.outputs()[i].name);
      EXPECT_EQ(fused.type(fused.outputs()[i].value), graph.type(graph.outputs()[i].value));
    }
    EXPECT_EQ(graph_from_text(to_text(fused)), fused);
    verify(unfuse(fused));
    ran += compare(graph, fused, seed) ? 1 : 0;
    if (HasFailure()) FAIL() << to_text(graph) << to_text(fused);
  }
  EXPECT_GT(ran, 0);
}

// Rows [n, 8] through the ops that the fusions look for, wired at random.
Graph layered_graph(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random()) % count; };
  Graph graph("layered");
  constexpr std::int64_t width = 8;
  std::vector<Var> rows{input(graph, "x", {Dim::symbol("n"), width}), input(graph, "y", {Dim::symbol("n"), width})};
  int params = 0;
  const auto weight = [&](Shape shape) { return param(graph, "p" + std::to_string(params++), std::move(shape)); };
  const auto any = [&] { return below(3) == 0 ? rows[below(rows.size())] : rows.back(); };
  const std::vector<std::string> acts{"silu", "gelu", "relu", "tanh", "sigmoid"};
  for (int i = 0; i < 24; ++i) {
    const Var x = any();
    Var next;
    switch (below(14)) {
      case 0: next = matmul(x, weight({width, width}), {.transpose_b = below(2) == 0}); break;
      case 1: next = matmul(x, transpose(weight({width, width}))); break;
      case 2: next = add(matmul(x, weight({width, width})), weight({width})); break;
      case 3: next = activation(x, acts[below(acts.size())]); break;
      case 4: next = add(x, any()); break;
      case 5: next = mul(x, any()); break;
      case 6: next = rms_norm(x, below(2) == 0 ? weight({width}) : Var()); break;
      case 7: next = layer_norm(add(x, any()), weight({width}), weight({width})); break;
      case 8: next = mul(silu(matmul(x, weight({width, width}))), matmul(x, weight({width, width}))); break;
      case 9: {
        const Var both = matmul(x, weight({width, 2 * width}));
        next = mul(silu(narrow(both, -1, width, width)), narrow(both, -1, 0, width));
        break;
      }
      case 10: next = reshape(reshape(x, {-1, 2, 4}), {-1, width}); break;
      case 11: next = transpose(transpose(x)); break;
      case 12: next = add(mul(x, constant(graph, 0.5)), constant(graph, 1)); break;
      default: next = where(gt(x, any()), x, weight({width})); break;
    }
    rows.push_back(next);
    if (below(8) == 0) graph.add_output("out" + std::to_string(i), next.value());
  }
  graph.add_output("last", rows.back().value());
  return graph;
}

TEST(FusedRandomGraphs, OfLayersKeepTheirOutputs) {
  std::map<std::string, int> made;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = layered_graph(seed);
    const Graph fused = run_pipeline(graph);
    EXPECT_EQ(run_pipeline(fused), fused);
    EXPECT_EQ(graph_from_text(to_text(fused)), fused);
    EXPECT_TRUE(compare(graph, fused, seed));
    EXPECT_TRUE(compare(graph, unfuse(fused), seed));
    for (const auto& [op, count] : op_counts(fused)) made[op] += count;
    if (HasFailure()) FAIL() << to_text(graph) << to_text(fused);
  }
  for (const char* op : {"FusedMatMulBiasAct", "FusedSharedMatMul", "FusedGatedMatMul", "FusedSwiGLU",
                         "FusedResidualRmsNorm", "FusedResidualLN", "ElementwiseRegion"})
    EXPECT_GT(made[op], 10) << op;
}

// Each pass alone, too.
TEST(FusedRandomGraphs, EveryPassAloneKeepsTheOutputs) {
  for (const Pass& pass : pipeline())
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(std::string(pass.name) + ", seed " + std::to_string(seed));
      const Graph graph = layered_graph(seed);
      PipelineOptions options;
      options.only = {pass.name};
      const Graph changed = run_pipeline(graph, options);
      EXPECT_TRUE(compare(graph, changed, seed));
      if (HasFailure()) FAIL() << to_text(graph) << to_text(changed);
    }
}

}  // namespace
}  // namespace weft
