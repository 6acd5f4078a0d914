#include "weft/ir/infer.h"

#include <gtest/gtest.h>

#include "local_ops.h"

namespace weft {
namespace {

using test::code_of;
using test::input;

// Runs `body` as the inference of an op over the given types.
std::string infer_code(const std::vector<TensorType>& types, const std::function<void(InferContext&)>& body) {
  OpSchema schema = test::stack_schema();
  schema.infer = [&](InferContext& context) {
    body(context);
    context.output({}, DType::f32);
  };
  Graph graph;
  std::vector<Value> values;
  for (const TensorType& type : types)
    values.push_back(input(graph, "x" + std::to_string(values.size()), type.shape, type.dtype));
  return code_of([&] { graph.add(schema, values); });
}

const Dim n = Dim::symbol("n"), m = Dim::symbol("m");

TEST(Infer, SizesThatMayBeEqualBecomeConstraints) {
  Graph graph;
  const Value a = input(graph, "a", {n, 4}), b = input(graph, "b", {m, 4}), c = input(graph, "c", {n});
  const std::int32_t stack = graph.add(test::stack_schema(), {a, b, c});
  ASSERT_EQ(graph.node(stack).constraints.size(), 1u);
  EXPECT_EQ(graph.node(stack).constraints[0].a, n);
  EXPECT_EQ(graph.node(stack).constraints[0].b, m);
  EXPECT_EQ(graph.node(stack).constraints[0].what, "the first dims");
  EXPECT_EQ(
      infer_code({{{4}}, {{5}}}, [](InferContext& it) { it.require_equal(it.shape(0)[0], it.shape(1)[0], "sizes"); }),
      "ShapeMismatch");
}

TEST(Infer, RequirementsOnTypes) {
  const TensorType f32{{2, 3}, DType::f32}, i64{{2}, DType::i64}, q8{{32}, DType::q8_0};
  EXPECT_EQ(infer_code({f32}, [](InferContext& it) { it.require_float(0); }), "");
  EXPECT_EQ(infer_code({i64}, [](InferContext& it) { it.require_float(0); }), "DTypeMismatch");
  EXPECT_EQ(infer_code({q8}, [](InferContext& it) { it.require_float(0); }), "DTypeMismatch");
  EXPECT_EQ(infer_code({i64}, [](InferContext& it) { it.require_integer(0); }), "");
  EXPECT_EQ(infer_code({f32}, [](InferContext& it) { it.require_integer(0); }), "DTypeMismatch");
  EXPECT_EQ(infer_code({f32, i64}, [](InferContext& it) { it.require_same_dtype(0, 1); }), "DTypeMismatch");
  EXPECT_EQ(infer_code({f32}, [](InferContext& it) { it.require_dtype(0, {DType::f16, DType::f32}); }), "");
  EXPECT_EQ(infer_code({f32}, [](InferContext& it) { it.require_dtype(0, {DType::f16}); }), "DTypeMismatch");
  EXPECT_EQ(infer_code({f32}, [](InferContext& it) { it.require_rank(0, 1, 2); }), "");
  EXPECT_EQ(infer_code({f32}, [](InferContext& it) { it.require_rank(0, 3, 3); }), "ShapeMismatch");
  EXPECT_EQ(infer_code({f32}, [](InferContext& it) { it.input(1); }), "BadArity");
}

TEST(Infer, AxesCountFromTheEndWhenNegative) {
  Graph graph;
  const Value x = input(graph, "x", {2, 3});
  for (const int axis : {-2, -1, 0, 1})
    EXPECT_EQ(code_of([&] { graph.add(test::join_schema(), {x, x}, {{"axis", axis}}); }), "") << axis;
  for (const int axis : {-3, 2})
    EXPECT_EQ(code_of([&] { graph.add(test::join_schema(), {x, x}, {{"axis", axis}}); }), "BadAttribute") << axis;
}

TEST(Infer, ErrorsOfDimArithmeticGetTheNodesPlace) {
  Graph graph;
  const Value a = input(graph, "a", {2}), b = input(graph, "b", {3});
  try {
    graph.add(test::join_schema(), {a, b});
    FAIL() << "2 and 3 broadcast";
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "[Join] node %2");
    EXPECT_EQ(error.code(), "ShapeMismatch");
  }
}

TEST(Infer, InferringAgainKeepsNamesAndRenewsConstraints) {
  Graph graph;
  const Value a = input(graph, "a", {n}), b = input(graph, "b", {m});
  Node node = graph.node(graph.add(test::stack_schema(), {a, b}, {}, {.names = {"s"}}));
  node.outputs[0].type.dtype = DType::f16;
  infer_node(graph, node, "here");
  EXPECT_EQ(node.outputs[0].name, "s");
  EXPECT_EQ(node.outputs[0].type.dtype, DType::f32);
  EXPECT_EQ(node.constraints.size(), 1u);
}

}  // namespace
}  // namespace weft
