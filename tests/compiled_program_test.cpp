// Whole models and small graphs through compiled programs: what a step allocates, which bits depend on what, bounds,
// sessions, and the compiled path against the walker.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <thread>

#include "allocation_count.h"
#include "weft/base/error.h"
#include "weft/base/thread_pool.h"
#include "weft/models/checkpoint.h"
#include "weft/ops/builder.h"
#include "weft/passes/pipeline.h"
#include "weft/passes/select_rows.h"
#include "weft/runtime/graph_executor.h"
#include "weft/runtime/session.h"

namespace weft {
namespace {

const std::vector<std::int32_t> ids{1, 300, 417, 261, 333, 480, 290, 350, 12, 77, 5, 401};

std::vector<std::filesystem::path> models() {
  std::vector<std::filesystem::path> found{WEFT_SOURCE_DIR "/models/demo.model"};
  for (const char* name : {"nano-qwen3-q4_0", "nano-qwen3-f32", "nano-qwen2-q4_0", "nano-qwen2-f32", "nano-llama-q4_0",
                           "nano-llama-f32", "dreams-260k-q8_0", "dreams-260k-f32"})
    found.push_back(std::filesystem::path(WEFT_SHARED_DIR "/models") / (std::string(name) + ".gguf"));
  std::erase_if(found, [](const auto& path) { return !std::filesystem::exists(path); });
  return found;
}

// A model's graph as LanguageModel prepares it.
GraphExecutor open(const std::filesystem::path& path, ExecConfig config = {}) {
  const auto checkpoint = Checkpoint::open(path);
  config.max_rows = 64;
  config.bounds = {{"n", 16}, {"input_ids.0", 16}, {"logit_rows", 16}};
  return GraphExecutor::prepare(select_rows(checkpoint->graph(), "logits", "logit_rows"), *checkpoint,
                                std::move(config));
}

// Logits of all rows of some ids.
std::vector<float> step(GraphExecutor& executor, std::span<const std::int32_t> tokens) {
  std::vector<std::int32_t> rows(tokens.size());
  std::iota(rows.begin(), rows.end(), 0);
  const auto count = static_cast<std::int64_t>(tokens.size());
  const Tensor logits = executor
                            .run({{"input_ids", Tensor::from(tokens, {count})},
                                  {"logit_rows", Tensor::from(std::span<const std::int32_t>(rows), {count})}})
                            .at("logits");
  const auto values = logits.values<float>();
  return {values.begin(), values.end()};
}

double relative_error(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double{a[i]} - double{b[i]}, 2);
    norm += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(difference / norm);
}

TEST(CompiledModel, ADecodeStepAllocatesNothing) {
  for (const auto& path : models())
    for (const DType kv : {DType::f16, DType::f32, DType::q8_0}) {
      GraphExecutor executor = open(path, {.kv_dtype = kv});
      std::int32_t token = 300 % 256, row = 0;
      const std::int64_t one = 1;
      // Inputs are in the graph's order: the rows come first.
      const TensorView inputs[] = {{reinterpret_cast<const std::byte*>(&row), DType::i32, {&one, 1}},
                                   {reinterpret_cast<const std::byte*>(&token), DType::i32, {&one, 1}}};
      for (int i = 0; i < 2; ++i) executor.run_views(inputs);
      const auto before = test::allocations();
      for (int i = 0; i < 20; ++i) {
        const auto logits = executor.run_views(inputs);
        token = (token + static_cast<std::int32_t>(logits[0].dims[1])) % 250;
      }
      EXPECT_EQ(test::allocations(), before) << path << " with " << to_string(kv) << " keys and values";
    }
}

TEST(CompiledModel, RowsOfOneStepEqualStepsOfOneRow) {
  for (const auto& path : models())
    for (const DType kv : {DType::f16, DType::q8_0})
      for (std::size_t rows = 1; rows <= 8; ++rows) {
        GraphExecutor together = open(path, {.kv_dtype = kv}), alone = together.another();
        const std::span<const std::int32_t> all(ids);
        step(together, all.first(4));
        step(alone, all.first(4));
        const auto at_once = step(together, all.subspan(4, rows));
        std::vector<float> one_by_one;
        for (std::size_t i = 0; i < rows; ++i) {
          const auto part = step(alone, all.subspan(4 + i, 1));
          one_by_one.insert(one_by_one.end(), part.begin(), part.end());
        }
        EXPECT_EQ(at_once, one_by_one) << path << ", " << rows << " rows";
      }
}

TEST(CompiledModel, ThreadsDoNotChangeABit) {
  for (const auto& path : models()) {
    GraphExecutor one = open(path, {.pool = std::make_shared<ThreadPool>(1)}),
                  three = open(path, {.pool = std::make_shared<ThreadPool>(3)});
    EXPECT_EQ(step(one, ids), step(three, ids)) << path;
    EXPECT_EQ(step(one, std::span(ids).first(1)), step(three, std::span(ids).first(1))) << path;
  }
}

TEST(CompiledModel, PassesChangeNothingBeyondRounding) {
  for (const auto& path : models()) {
    GraphExecutor fused = open(path);
    for (const Pass& pass : pipeline()) {
      GraphExecutor without = open(path, {.without_passes = {pass.name}});
      EXPECT_LE(relative_error(step(without, ids), step(fused, ids)), 1e-5) << path << " without " << pass.name;
      fused.reset();
    }
  }
}

TEST(CompiledModel, TheWalkerAgrees) {
  for (const auto& path : models()) {
    GraphExecutor compiled = open(path), walker = open(path, {.backend = "reference"});
    const auto a = step(compiled, ids), b = step(walker, ids);
    ASSERT_EQ(a.size(), b.size());
    // Packed weights meet int8 activations; float weights f32 ones.
    const bool f32 = path.string().find("f32") != std::string::npos;
    EXPECT_LE(relative_error(a, b), f32 ? 2e-5 : 1.8e-2) << path;
  }
}

TEST(CompiledModel, BoundsAreKeptAndTheStateSurvives) {
  GraphExecutor executor = open(models()[0]);
  const auto first = step(executor, std::span(ids).first(3));
  const std::vector<std::int32_t> many(17, 5);
  EXPECT_THROW(step(executor, many), Error);
  EXPECT_EQ(executor.past_length(), 3);
  for (int i = 0; i < 4; ++i) step(executor, std::vector<std::int32_t>(15, 5));
  try {
    step(executor, std::vector<std::int32_t>(2, 5));
    FAIL() << "64 rows are the context";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "ContextOverflow");
    EXPECT_NE(std::string(error.what()).find("65"), std::string::npos) << error.what();
  }
  EXPECT_EQ(executor.past_length(), 63);
  executor.truncate(0);
  EXPECT_EQ(step(executor, std::span(ids).first(3)), first);
}

// --- sessions -----------------------------------------------------------------------------------------------------

Graph layer() {
  Graph graph("layer");
  const Var x = input(graph, "x", {Dim::symbol("n"), 32});
  const Var w = param(graph, "w", {48, 32}), b = param(graph, "b", {48});
  output(graph, "y", relu(add(matmul(x, w, {.transpose_b = true}), b)));
  return graph;
}

Tensor filled(std::vector<std::int64_t> dims, float scale) {
  Tensor tensor = Tensor::allocate(DType::f32, std::move(dims));
  float value = 0;
  for (float& element : tensor.mutable_values<float>()) element = scale * std::sin(value += 0.7f);
  return tensor;
}

std::vector<float> values_of(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

TEST(Session, RunsNamedAndPositionalTensors) {
  CompiledGraph compiled = Session().compile(layer());
  compiled.set_param("w", filled({48, 32}, 1));
  compiled.set_param("b", filled({48}, 0.5f));
  const Tensor x = filled({5, 32}, 2);
  const auto named = values_of(compiled.run({{"x", x}}).at("y"));
  const std::vector<Tensor> positional = compiled.run(std::vector<Tensor>{x});
  EXPECT_EQ(positional.at(0).dims(), (std::vector<std::int64_t>{5, 48}));
  EXPECT_EQ(values_of(positional[0]), named);
  const WeightMap weights({{"w", filled({48, 32}, 1)}, {"b", filled({48}, 0.5f)}});
  auto walker = GraphExecutor::prepare(layer(), weights, {.backend = "reference"});
  const auto expected = values_of(walker.run_first({{"x", x}}));
  for (std::size_t i = 0; i < named.size(); ++i) EXPECT_NEAR(named[i], expected[i], 2e-5) << i;
}

TEST(Session, RefusesWhatDoesNotFit) {
  CompiledGraph compiled = Session({.bounds = {{"n", 8}}}).compile(layer());
  const auto code = [](const auto& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.code();
    }
    return std::string("nothing");
  };
  EXPECT_EQ(code([&] { compiled.run({{"x", filled({1, 32}, 1)}}); }), "MissingTensor");
  EXPECT_EQ(code([&] { compiled.set_param("v", filled({48}, 1)); }), "UnknownParam");
  EXPECT_EQ(code([&] { compiled.set_param("b", filled({47}, 1)); }), "WeightFormatMismatch");
  compiled.set_params(WeightMap({{"w", filled({48, 32}, 1)}, {"b", filled({48}, 1)}}));
  EXPECT_EQ(code([&] { compiled.run({{"x", filled({9, 32}, 1)}}); }), "InputShapeMismatch");
  EXPECT_EQ(code([&] { compiled.run(std::vector<Tensor>()); }), "MissingInput");
  EXPECT_EQ(code([] { Session({.backend = "reference"}); }), "UnsupportedBackend");
  EXPECT_NO_THROW(compiled.run({{"x", filled({8, 32}, 1)}}));
}

TEST(Session, ClonesShareWeightsAndRunSideBySide) {
  Session session({.pool = std::make_shared<ThreadPool>(2)});
  CompiledGraph first = session.compile(layer());
  first.set_params(WeightMap({{"w", filled({48, 32}, 1)}, {"b", filled({48}, 1)}}));
  CompiledGraph second = first.clone();
  const Tensor x = filled({7, 32}, 1);
  const auto expected = values_of(first.run({{"x", x}}).at("y"));
  std::vector<std::thread> threads;
  std::vector<int> wrong(2, 0);
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i)
        wrong[static_cast<std::size_t>(t)] += values_of((t == 0 ? first : second).run({{"x", x}}).at("y")) != expected;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::vector<int>{0, 0}));
  // What one is given the other does not see.
  second.set_param("b", filled({48}, 9));
  EXPECT_NE(values_of(second.run({{"x", x}}).at("y")), expected);
  EXPECT_EQ(values_of(first.run({{"x", x}}).at("y")), expected);
}

TEST(Session, SizesMayGrowFromRunToRun) {
  CompiledGraph compiled = Session().compile(layer());
  compiled.set_params(WeightMap({{"w", filled({48, 32}, 1)}, {"b", filled({48}, 1)}}));
  const Tensor long_x = filled({100, 32}, 1);
  const auto all = values_of(compiled.run({{"x", long_x}}).at("y"));
  for (const std::int64_t rows : {1, 3, 64, 100}) {
    const auto part = values_of(compiled.run({{"x", long_x.rows(0, rows)}}).at("y"));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin())) << rows;
  }
}

TEST(Session, TwoSymbolsThatBroadcastMayMeetInAnyLegalWay) {
  Graph graph("sum");
  const Var a = input(graph, "a", {Dim::symbol("n")}), b = input(graph, "b", {Dim::symbol("m")});
  output(graph, "y", neg(add(a, b)));
  CompiledGraph compiled = Session().compile(std::move(graph));
  for (const auto& [n, m] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 4}, {1, 5000}, {700, 1}, {900, 900}}) {
    const Tensor x = filled({n}, 1), y = filled({m}, 2);
    const auto sum = values_of(compiled.run({{"a", x}, {"b", y}}).at("y"));
    ASSERT_EQ(sum.size(), static_cast<std::size_t>(std::max(n, m)));
    for (std::size_t i = 0; i < sum.size(); ++i)
      EXPECT_EQ(sum[i], -(x.values<float>()[n == 1 ? 0 : i] + y.values<float>()[m == 1 ? 0 : i])) << i;
  }
  EXPECT_THROW(compiled.run({{"a", filled({3}, 1)}, {"b", filled({5}, 1)}}), Error);
  EXPECT_NO_THROW(compiled.run({{"a", filled({3}, 1)}, {"b", filled({3}, 1)}}));
}

TEST(Session, FewRowsFitWhereManyWerePlanned) {
  // A gated product of few rows takes all its columns at once, one of many rows a part at a time.
  Graph graph("gate");
  const Var x = input(graph, "x", {Dim::symbol("n"), 32});
  const Var w = param(graph, "w", {2000, 32}), u = param(graph, "u", {2000, 32});
  output(graph, "y", mul(silu(matmul(x, w, {.transpose_b = true})), matmul(x, u, {.transpose_b = true})));
  const WeightMap weights({{"w", filled({2000, 32}, 1)}, {"u", filled({2000, 32}, 0.5f)}});
  CompiledGraph compiled = Session({.pool = std::make_shared<ThreadPool>(1)}).compile(graph);
  compiled.set_params(weights);
  const Tensor rows = filled({16, 32}, 1);
  const auto all = values_of(compiled.run({{"x", rows}}).at("y"));
  for (const std::int64_t count : {8, 1, 5}) {
    const auto part = values_of(compiled.run({{"x", rows.rows(0, count)}}).at("y"));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin())) << count;
  }
}

TEST(Session, AWeightMayBeSpreadOverASizeOfTheRun) {
  Graph graph("token");
  const Var x = input(graph, "x", {Dim::symbol("n"), 3}), token = param(graph, "token", {1, 3});
  output(graph, "y", add(x, expand(token, Shape{Dim::symbol("n"), 3})));
  CompiledGraph compiled = Session().compile(std::move(graph));
  compiled.set_param("token", filled({1, 3}, 1));
  EXPECT_EQ(compiled.run({{"x", filled({5, 3}, 1)}}).at("y").dims(), (std::vector<std::int64_t>{5, 3}));
}

}  // namespace
}  // namespace weft
