#include "weft/ir/builder.h"

#include <gtest/gtest.h>

#include "local_ops.h"

namespace weft {
namespace {

TEST(Builder, EmitAddsNodesAndNames) {
  Graph graph;
  const Var x = emit(graph, "Input", {}, {{"name", "x"}, {"shape", Shape{Dim::symbol("n"), 4}}}).named("ids");
  EXPECT_TRUE(x.defined());
  EXPECT_EQ(x.shape().text(), "[n, 4]");
  EXPECT_EQ(x.dtype(), DType::f32);
  EXPECT_EQ(graph.find_value("ids"), x.value());
  EXPECT_FALSE(Var().defined());
}

TEST(Builder, AnOperandOfAnotherGraphIsRefused) {
  Graph a, b;
  const Var x = emit(a, "Input", {}, {{"name", "x"}, {"shape", Shape{4}}});
  EXPECT_EQ(test::code_of([&] { emit(b, "Input", {x}, {{"name", "y"}, {"shape", Shape{4}}}); }), "ForeignValue");
}

TEST(Builder, AbsentOperandsAtTheEndVanish) {
  Graph graph;
  const Var x = emit(graph, "Input", {Var(), Var()}, {{"name", "x"}, {"shape", Shape{4}}});
  EXPECT_TRUE(graph.node(x.value().node).inputs.empty());
}

}  // namespace
}  // namespace weft
