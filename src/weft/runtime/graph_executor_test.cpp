#include "weft/runtime/graph_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "weft/backend/backend.h"
#include "weft/base/error.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/builder.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor f32(std::vector<float> values, std::vector<std::int64_t> dims) {
  return Tensor::from(std::span<const float>(values), std::move(dims));
}

std::vector<float> values_of(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

template <class Body>
std::string code_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

Var input(Graph& graph, const std::string& name, Shape shape, DType dtype = DType::f32) {
  return emit(graph, "Input", {},
              {{"name", name.c_str()}, {"shape", AttributeValue(shape)}, {"dtype", AttributeValue(dtype)}});
}

Var param(Graph& graph, const std::string& name, Shape shape, DType dtype = DType::f32) {
  return emit(graph, "Param", {},
              {{"name", name.c_str()}, {"shape", AttributeValue(shape)}, {"dtype", AttributeValue(dtype)}});
}

Var binary(Var a, const char* kind, Var b) { return emit(a.graph(), "Binary", {a, b}, {{"kind", kind}}); }

// y = x + w with an open number of rows.
Graph sum_graph() {
  Graph graph("sum");
  const Var x = input(graph, "x", {Dim::symbol("n"), 2});
  graph.add_output("y", binary(x, "add", param(graph, "w", {2})).value());
  return graph;
}

// k_full and v_full of a slot, next to the positions of the run.
Graph cache_graph(std::optional<std::int64_t> capacity = {}) {
  Graph graph("cache");
  const Dim n = Dim::symbol("n");
  graph.add_state({.name = "cache", .planes = {2, 1}, .length = Dim::symbol("past"), .capacity = capacity});
  const Var k = input(graph, "k", {n, 2}), v = input(graph, "v", {n, 1});
  const Var pos =
      emit(graph, "Input", {}, {{"name", "pos"}, {"shape", AttributeValue(Shape{n})}, {"source", "position"}});
  const auto full = emit_all(graph, "KvAppend", {k, v}, {{"slot", "cache"}});
  graph.add_output("k_full", full[0].value());
  graph.add_output("v_full", full[1].value());
  graph.add_output("pos", pos.value());
  return graph;
}

NamedTensors rows(std::int64_t n, float first) {
  std::vector<float> k, v;
  for (std::int64_t i = 0; i < n; ++i) {
    k.insert(k.end(), {first + static_cast<float>(i), 10 + first + static_cast<float>(i)});
    v.push_back(100 + first + static_cast<float>(i));
  }
  return {{"k", f32(k, {n, 2})}, {"v", f32(v, {n, 1})}};
}

WeightMap weights_of_sum() { return WeightMap({{"w", f32({10, 20}, {2})}}); }

TEST(GraphExecutor, RunsAnyNumberOfRows) {
  auto executor = GraphExecutor::prepare(sum_graph(), weights_of_sum());
  EXPECT_THAT(values_of(executor.run_first({{"x", f32({1, 2}, {1, 2})}})), ElementsAre(11, 22));
  EXPECT_THAT(values_of(executor.run_first({{"x", f32({1, 2, 3, 4}, {2, 2})}})), ElementsAre(11, 22, 13, 24));
  EXPECT_EQ(executor.run_first({{"x", f32({}, {0, 2})}}).numel(), 0);
}

TEST(GraphExecutor, InputsAreChecked) {
  auto executor = GraphExecutor::prepare(sum_graph(), weights_of_sum());
  const auto code = [&](NamedTensors inputs) { return code_of([&] { executor.run(inputs); }); };
  EXPECT_EQ(code({}), "MissingInput");
  EXPECT_EQ(code({{"x", f32({1, 2}, {1, 2})}, {"z", f32({1}, {1})}}), "UnexpectedInput");
  EXPECT_EQ(code({{"x", f32({1, 2, 3}, {1, 3})}}), "InputShapeMismatch");
  EXPECT_EQ(code({{"x", f32({1, 2}, {2})}}), "InputShapeMismatch");
  EXPECT_EQ(code({{"x", Tensor::zeros(DType::i32, {1, 2})}}), "InputDtypeMismatch");
  EXPECT_EQ(executor.past_length(), 0);
}

TEST(GraphExecutor, MessagesNameTheInputAndWhatWasExpected) {
  auto executor = GraphExecutor::prepare(sum_graph(), weights_of_sum());
  try {
    executor.run({{"x", f32({1, 2, 3}, {1, 3})}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"x\""));
    EXPECT_THAT(error.what(), HasSubstr("[n, 2]"));
    EXPECT_THAT(error.what(), HasSubstr("[1, 3]"));
  }
}

TEST(GraphExecutor, WeightsAreBoundAndChecked) {
  try {
    GraphExecutor::prepare(sum_graph(), WeightMap());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "MissingTensor");
    EXPECT_THAT(error.what(), HasSubstr("[Binary] node %2"));
  }
  EXPECT_EQ(code_of([] {
              GraphExecutor::prepare(sum_graph(), WeightMap({{"w", f32({1, 2, 3}, {3})}}));
            }),
            "WeightFormatMismatch");
}

TEST(GraphExecutor, WeightsThatNoKernelReadsPackedAreDecodedOnce) {
  Graph graph;
  const Var x = input(graph, "x", {2});
  const Var gain = emit(graph, "Decode", {param(graph, "w", {2}, DType::f16)});
  graph.add_output("y", binary(x, "mul", gain).value());
  Tensor halves = Tensor::zeros(DType::f16, {2});
  const std::uint16_t bits[] = {0x3c00, 0x4000};  // 1, 2
  std::copy(std::begin(bits), std::end(bits), halves.mutable_values<std::uint16_t>().begin());
  auto executor = GraphExecutor::prepare(graph, WeightMap({{"w", halves}}), {.profile = true});
  EXPECT_THAT(values_of(executor.run_first({{"x", f32({3, 4}, {2})}})), ElementsAre(3, 8));
  ASSERT_EQ(executor.timings().size(), 1u);
  EXPECT_EQ(executor.timings()[0].op, "Binary");
  EXPECT_EQ(executor.placements().size(), 1u);
}

TEST(GraphExecutor, StateGrowsAcrossRunsAndResets) {
  auto executor = GraphExecutor::prepare(cache_graph(), WeightMap());
  auto first = executor.run(rows(2, 0));
  EXPECT_THAT(values_of(first.at("k_full")), ElementsAre(0, 10, 1, 11));
  EXPECT_THAT(values_of(first.at("pos")), ElementsAre(0, 1));
  auto second = executor.run(rows(1, 7));
  EXPECT_THAT(values_of(second.at("k_full")), ElementsAre(0, 10, 1, 11, 7, 17));
  EXPECT_THAT(values_of(second.at("v_full")), ElementsAre(100, 101, 107));
  EXPECT_THAT(values_of(second.at("pos")), ElementsAre(2));
  EXPECT_EQ(executor.past_length(), 3);
  EXPECT_THAT(values_of(first.at("k_full")), ElementsAre(0, 10, 1, 11)) << "results belong to the caller";
  executor.reset();
  EXPECT_EQ(executor.past_length(), 0);
  EXPECT_THAT(values_of(executor.run(rows(1, 5)).at("k_full")), ElementsAre(5, 15));
  EXPECT_THAT(values_of(second.at("k_full")), ElementsAre(0, 10, 1, 11, 7, 17));
}

TEST(GraphExecutor, PositionsOfTheSeedRuleAreOneScalarARun) {
  auto executor = GraphExecutor::prepare(cache_graph(), WeightMap(), {.position_mode = PositionMode::seed_scalar});
  EXPECT_THAT(values_of(executor.run(rows(3, 0)).at("pos")), ElementsAre(0));
  EXPECT_THAT(values_of(executor.run(rows(2, 0)).at("pos")), ElementsAre(1));
  EXPECT_EQ(executor.past_length(), 2);
}

TEST(GraphExecutor, CallersMayNotSupplyPositions) {
  auto executor = GraphExecutor::prepare(cache_graph(), WeightMap());
  auto inputs = rows(1, 0);
  inputs["pos"] = f32({5}, {1});
  EXPECT_EQ(code_of([&] { executor.run(inputs); }), "UnexpectedInput");
}

TEST(GraphExecutor, TruncateGoesBack) {
  auto executor = GraphExecutor::prepare(cache_graph(), WeightMap());
  executor.run(rows(4, 0));
  executor.truncate(2);
  EXPECT_EQ(executor.past_length(), 2);
  EXPECT_THAT(values_of(executor.run(rows(1, 9)).at("v_full")), ElementsAre(100, 101, 109));
}

TEST(GraphExecutor, AnotherHasAStateOfItsOwn) {
  auto executor = GraphExecutor::prepare(cache_graph(), WeightMap());
  executor.run(rows(2, 0));
  auto second = executor.another();
  EXPECT_THAT(values_of(second.run(rows(1, 3)).at("v_full")), ElementsAre(103));
  EXPECT_EQ(executor.past_length(), 2);
}

TEST(GraphExecutor, ContextOverflowIsSeenBeforeAnythingRuns) {
  auto declared = GraphExecutor::prepare(cache_graph(3), WeightMap());
  auto configured = GraphExecutor::prepare(cache_graph(), WeightMap(), {.max_rows = 3});
  for (GraphExecutor* executor : {&declared, &configured}) {
    executor->run(rows(2, 0));
    EXPECT_EQ(code_of([&] { executor->run(rows(2, 0)); }), "ContextOverflow");
    EXPECT_EQ(executor->past_length(), 2);
    EXPECT_THAT(values_of(executor->run(rows(1, 4)).at("v_full")), ElementsAre(100, 101, 104));
  }
}

// A backend that runs what the reference runs, until it is told to break.
class Fragile final : public Backend {
 public:
  static inline std::atomic<int> runs_left{-1};
  static inline std::string only_op;
  std::string_view name() const override { return "fragile"; }
  Support supports(const Graph& graph, std::int32_t node) const override {
    if (only_op.empty() || graph.node(node).schema->name == only_op) return {};
    return {false, "it takes " + only_op + " only"};
  }
  void execute(const KernelContext& context) const override {
    if (runs_left == 0) throw Error(ErrorKind::unsupported_backend, "BackendFailure", "", "told to break");
    --runs_left;
    context.node().schema->reference(context);
  }
  static void install(std::string op = "") {
    if (!BackendRegistry::global().has("fragile"))
      BackendRegistry::global().add("fragile", [] { return std::make_unique<Fragile>(); });
    only_op = std::move(op);
    runs_left = -1;
  }
};

TEST(GraphExecutor, AFailedRunLeavesTheStateAsItWas) {
  Fragile::install();
  Graph graph = cache_graph();
  const Value k_full = graph.outputs()[0].value;
  const std::int32_t negated = graph.add("Activation", {k_full}, {{"kind", "neg"}});
  graph.add_output("negated", {negated, 0});
  auto executor = GraphExecutor::prepare(graph, WeightMap(), {.backend = "fragile"});
  executor.run(rows(2, 0));
  Fragile::runs_left = 1;  // KvAppend appends, then Activation breaks
  try {
    executor.run(rows(1, 50));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "BackendFailure");
    EXPECT_THAT(error.where(), HasSubstr("[Activation]"));
  }
  Fragile::runs_left = -1;
  EXPECT_EQ(executor.past_length(), 2);
  EXPECT_THAT(values_of(executor.run(rows(1, 4)).at("v_full")), ElementsAre(100, 101, 104));
}

// A backend that takes every node and runs none.
class Boaster final : public Backend {
 public:
  std::string_view name() const override { return "boaster"; }
  Support supports(const Graph&, std::int32_t) const override { return {}; }
  void execute(const KernelContext&) const override {
    throw Error(ErrorKind::unsupported_op, "UnsupportedOp", "", "no kernel after all");
  }
};

TEST(GraphExecutor, ABackendThatRefusesWhatItClaimedIsAFailureAndNoFallback) {
  const auto add = [] { BackendRegistry::global().add("boaster", [] { return std::make_unique<Boaster>(); }); };
  add();
  try {
    add();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "BackendInit");
  }
  auto executor = GraphExecutor::prepare(cache_graph(), WeightMap(), {.backend = "boaster"});
  try {
    executor.run(rows(2, 0));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "BackendFailure");
    EXPECT_THAT(error.what(), HasSubstr("backend boaster said that it takes this node"));
    EXPECT_THAT(error.where(), HasSubstr("[KvAppend]"));
  }
  EXPECT_EQ(executor.past_length(), 0);
}

TEST(GraphExecutor, BackendsAreChosenPerNodeWithAReason) {
  Fragile::install("Activation");
  Graph graph;
  const Var x = input(graph, "x", {2});
  const Var hinted = emit(graph, "Activation", {x}, {{"kind", "neg"}}, {.backend_hint = "fragile"});
  const Var refused = emit(graph, "Binary", {hinted, x}, {{"kind", "add"}}, {.backend_hint = "fragile"});
  const Var absent = emit(graph, "Activation", {refused}, {{"kind", "neg"}}, {.backend_hint = "honeycrisp"});
  graph.add_output("y", absent.value());
  const auto by_hint = GraphExecutor::prepare(graph, WeightMap(), {.without_passes = {"elementwise"}});
  ASSERT_EQ(by_hint.placements().size(), 3u);
  EXPECT_EQ(by_hint.placements()[0].backend, "fragile");
  EXPECT_EQ(by_hint.placements()[0].reason, "hint");
  EXPECT_EQ(by_hint.placements()[1].backend, "cpu");
  EXPECT_THAT(by_hint.placements()[1].reason, HasSubstr("it takes Activation only"));
  EXPECT_EQ(by_hint.placements()[2].backend, "cpu");
  EXPECT_THAT(by_hint.placements()[2].reason, HasSubstr("honeycrisp: not in this build"));

  const auto forced = GraphExecutor::prepare(graph, WeightMap(), {.backend = "fragile"});
  EXPECT_EQ(forced.placements()[0].reason, "forced");
  EXPECT_THAT(forced.placements()[1].reason, HasSubstr("fallback"));
  EXPECT_EQ(forced.placements()[2].backend, "fragile");
  EXPECT_EQ(code_of([&] { GraphExecutor::prepare(graph, WeightMap(), {.backend = "abacus"}); }), "UnknownBackend");
}

// A chain of negations: two intermediates of 400 bytes live at once, five in sum.
Graph chain() {
  Graph graph;
  Var x = input(graph, "x", {Dim::symbol("n")});
  for (int i = 0; i < 5; ++i) x = emit(graph, "Activation", {x}, {{"kind", "neg"}});
  graph.add_output("y", x.value());
  return graph;
}

TEST(GraphExecutor, ValuesAreFreedAfterTheirLastUse) {
  auto executor = GraphExecutor::prepare(chain(), WeightMap(), {.backend = "reference"});
  executor.run({{"x", Tensor::zeros(DType::f32, {100})}});
  EXPECT_EQ(executor.counters().allocated_bytes, 2000u);
  EXPECT_EQ(executor.counters().peak_live_bytes, 800u);
}

TEST(GraphExecutor, MemoryIsCheckedBeforeTheRun) {
  const NamedTensors inputs{{"x", Tensor::zeros(DType::f32, {100})}};
  const auto runs = [&](std::uint64_t limit, MemoryRule rule) {
    auto executor = GraphExecutor::prepare(chain(), WeightMap(),
                                           {.backend = "reference", .memory_limit = limit, .memory_rule = rule});
    const std::string code = code_of([&] { executor.run(inputs); });
    EXPECT_TRUE(code.empty() || executor.counters().allocations == 0u);
    return code;
  };
  EXPECT_EQ(runs(1200, MemoryRule::peak), "") << "equality passes";
  EXPECT_EQ(runs(1199, MemoryRule::peak), "MemoryLimitExceeded");
  EXPECT_EQ(runs(2400, MemoryRule::sum), "");
  EXPECT_EQ(runs(2399, MemoryRule::sum), "MemoryLimitExceeded");
}

TEST(GraphExecutor, ACompiledProgramChecksItsArenaBeforeTheRun) {
  const NamedTensors inputs{{"x", Tensor::zeros(DType::f32, {100})}};
  // Five chained ops are one pass over tiles: an output of 400 bytes beside the input, and scratch.
  std::uint64_t need = 0;
  for (std::uint64_t limit = 1; need == 0; limit *= 2) {
    auto executor = GraphExecutor::prepare(chain(), WeightMap(), {.memory_limit = limit});
    if (code_of([&] { executor.run(inputs); }).empty()) need = limit;
    ASSERT_LT(limit, std::uint64_t{1} << 40);
  }
  auto executor = GraphExecutor::prepare(chain(), WeightMap(), {.memory_limit = 500});
  EXPECT_EQ(code_of([&] { executor.run(inputs); }), "MemoryLimitExceeded");
  EXPECT_EQ(executor.counters().allocations, 0u);
  EXPECT_GT(need, 800u);
}

TEST(GraphExecutor, ViewsNeedNoMemory) {
  Graph graph;
  const Var x = input(graph, "x", {Dim::symbol("n"), 4});
  const Var neg = emit(graph, "Activation", {x}, {{"kind", "neg"}});
  const Var flat = emit(graph, "Reshape", {neg}, {{"shape", AttributeValue(std::vector<std::int64_t>{-1})}});
  graph.add_output("y", flat.value());
  auto executor = GraphExecutor::prepare(graph, WeightMap());
  executor.run({{"x", Tensor::zeros(DType::f32, {10, 4})}});
  EXPECT_EQ(executor.counters().allocations, 1u);
}

TEST(GraphExecutor, TokenTwoThousandCostsWhatTokenTwentyDoes) {
  auto executor = GraphExecutor::prepare(cache_graph(4096), WeightMap());
  const auto cost = [&] {
    const RunCounters before = executor.counters();
    executor.run(rows(1, 1));
    const RunCounters after = executor.counters();
    return std::array{after.allocated_bytes - before.allocated_bytes, after.allocations - before.allocations,
                      after.state_appended_bytes - before.state_appended_bytes,
                      after.state_moved_bytes - before.state_moved_bytes};
  };
  for (int i = 1; i < 20; ++i) executor.run(rows(1, 1));
  const auto early = cost();
  for (int i = 21; i < 2000; ++i) executor.run(rows(1, 1));
  EXPECT_EQ(executor.past_length(), 1999);
  EXPECT_EQ(cost(), early);
  EXPECT_EQ(early[2], 12u);
  EXPECT_EQ(early[3], 0u);
}

TEST(GraphExecutor, AnUnboundedSlotMovesRarely) {
  Graph graph("wide");
  const Dim n = Dim::symbol("n");
  graph.add_state({.name = "s", .planes = {1, 1}, .length = Dim::symbol("past"), .capacity = {}});
  const Var k = input(graph, "k", {n, 1}), v = input(graph, "v", {n, 1});
  const auto full = emit_all(graph, "KvAppend", {k, v}, {{"slot", "s"}});
  graph.add_output("k", full[0].value());
  auto executor = GraphExecutor::prepare(graph, WeightMap());
  const Tensor many = Tensor::zeros(DType::f32, {100000, 1});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(executor.run_first({{"k", many}, {"v", many}}).dim(0), 100000 * (i + 1));
  EXPECT_GT(executor.counters().state_moved_bytes, 0u);
}

TEST(GraphExecutor, NonFiniteOutputsAreFoundWhenAsked) {
  auto executor = GraphExecutor::prepare(chain(), WeightMap(), {.check_finite = true});
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(code_of([&] { executor.run({{"x", f32({1, inf}, {2})}}); }), "NonFiniteOutput");
}

TEST(GraphExecutor, ARunCanBeCanceled) {
  bool stop = false;
  auto executor = GraphExecutor::prepare(cache_graph(), WeightMap(), {.canceled = [&] { return stop; }});
  executor.run(rows(1, 0));
  stop = true;
  EXPECT_EQ(code_of([&] { executor.run(rows(1, 0)); }), "Canceled");
  stop = false;
  EXPECT_EQ(executor.past_length(), 1);
}

TEST(GraphExecutor, DimsThatMustBeEqualAreCheckedBeforeTheRun) {
  Graph graph;
  const Var a = input(graph, "a", {Dim::symbol("p")}), b = input(graph, "b", {Dim::symbol("q")});
  graph.add_output("y", binary(a, "add", b).value());
  auto executor = GraphExecutor::prepare(graph, WeightMap());
  EXPECT_EQ(executor.run_first({{"a", f32({1, 2}, {2})}, {"b", f32({5}, {1})}}).numel(), 2);
  EXPECT_EQ(code_of([&] { executor.run({{"a", f32({1, 2}, {2})}, {"b", f32({1, 2, 3}, {3})}}); }), "ShapeMismatch");
}

}  // namespace
}  // namespace weft
