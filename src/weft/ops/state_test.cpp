#include <gtest/gtest.h>

#include "infer_node.h"
#include "random_tensor.h"
#include "run_threads.h"

namespace weft::ops {
namespace {

StateDecl cache(std::vector<std::int64_t> planes = {6, 4}, DType dtype = DType::f32, StateKind kind = StateKind::rows) {
  return {.name = "cache",
          .kind = kind,
          .dtype = dtype,
          .planes = std::move(planes),
          .length = Dim::symbol("past"),
          .capacity = std::nullopt};
}

std::string appended(const StateDecl& state, const char* k, const char* v, DType dtype = DType::f32) {
  Graph graph("g");
  graph.add_state(state);
  std::vector<Var> rows;
  for (const char* shape : {k, v})
    rows.push_back(
        emit(graph, "Input", {},
             {{"name", "x" + std::to_string(rows.size())}, {"shape", Shape::parse(shape)}, {"dtype", dtype}}));
  std::string text;
  const std::string code = test::error_code([&] {
    for (const Var& plane : emit_all(graph, "KvAppend", rows, {{"slot", "cache"}}))
      text += (text.empty() ? "" : "; ") + plane.type().text();
    for (const Constraint& constraint : graph.nodes().back().constraints)
      text += " if " + constraint.a.text() + " == " + constraint.b.text();
  });
  return code.empty() ? text : code;
}

TEST(KvAppend, Infers) {
  EXPECT_EQ(appended(cache(), "[n, 6]", "[n, 4]"), "[n + past, 6] f32; [n + past, 4] f32");
  EXPECT_EQ(appended(cache(), "[1, 6]", "[1, 4]"), "[past + 1, 6] f32; [past + 1, 4] f32");
  EXPECT_EQ(appended(cache({6, 4}, DType::f16), "[n, 6]", "[n, 4]", DType::f16),
            "[n + past, 6] f16; [n + past, 4] f16");
  EXPECT_EQ(appended(cache(), "[n, w]", "[m, 4]"), "[n + past, 6] f32; [n + past, 4] f32 if w == 6 if n == m");
  EXPECT_EQ(appended(cache({6, 4}, DType::f32, StateKind::paged_rows), "[n, 6]", "[n, 4]"),
            "[n + past, 6] f32; [n + past, 4] f32");
}

TEST(KvAppend, RefusesWhatTheStateDoesNotHold) {
  EXPECT_EQ(appended(cache(), "[n, 5]", "[n, 4]"), "ShapeMismatch");
  EXPECT_EQ(appended(cache(), "[2, 6]", "[3, 4]"), "ShapeMismatch");
  EXPECT_EQ(appended(cache(), "[n, 2, 3]", "[n, 4]"), "ShapeMismatch");
  EXPECT_EQ(appended(cache(), "[n, 6]", "[n, 4]", DType::f16), "DTypeMismatch");
  EXPECT_EQ(appended(cache({6}), "[n, 6]", "[n, 4]"), "BadAttribute");
  EXPECT_EQ(appended(cache({6, 4}, DType::f32, StateKind::fixed), "[n, 6]", "[n, 4]"), "BadAttribute");
  StateDecl other = cache();
  other.name = "other";
  EXPECT_EQ(appended(other, "[n, 6]", "[n, 4]"), "UnknownState");
}

TEST(KvAppend, IsNoPureOp) {
  const OpSchema& schema = OpRegistry::global().at("KvAppend");
  EXPECT_FALSE(schema.effects.pure());
  EXPECT_EQ(schema.effects.slots, std::vector<std::string>{"slot"});
}

TEST(KvAppend, GrowsByRuns) {
  Graph graph("g");
  graph.add_state(cache());
  const Var k = emit(graph, "Input", {}, {{"name", "k"}, {"shape", Shape::parse("[n, 6]")}});
  const Var v = emit(graph, "Input", {}, {{"name", "v"}, {"shape", Shape::parse("[n, 4]")}});
  for (const Var& plane : emit_all(graph, "KvAppend", {k, v}, {{"slot", "cache"}}))
    graph.add_output("y", plane.value());
  const Tensor all_k = test::random_tensor({5, 6}), all_v = test::random_tensor({5, 4}, 2);
  test::RunState state;
  std::vector<Tensor> full;
  for (const auto& [first, count] : {std::pair{0, 3}, {3, 1}, {4, 1}})
    full = test::run_graph(graph, {{"k", all_k.rows(first, count)}, {"v", all_v.rows(first, count)}}, state);
  EXPECT_TRUE(test::same_bytes(full[0], all_k));
  EXPECT_TRUE(test::same_bytes(full[1], all_v));
}

}  // namespace
}  // namespace weft::ops
