#include <gtest/gtest.h>

#include "infer_node.h"
#include "run_node.h"

namespace weft::ops {
namespace {

using test::inferred;
using Integers = std::vector<std::int64_t>;

Attributes reduce(const char* op, Integers axes, bool keep = false) {
  return {{"op", op}, {"axes", AttributeValue(std::move(axes))}, {"keep_dim", keep}};
}

TEST(Reduce, Infers) {
  EXPECT_EQ(inferred("Reduce", {"[n, 3, m] f16"}, reduce("sum", {0, -1})), "[3] f16");
  EXPECT_EQ(inferred("Reduce", {"[n, 3, m] f16"}, reduce("sum", {0, -1}, true)), "[1, 3, 1] f16");
  EXPECT_EQ(inferred("Reduce", {"[n] f32"}, reduce("max", {})), "[n] f32");
  EXPECT_EQ(inferred("Reduce", {"[n] f32"}, reduce("max", {1})), "BadAttribute");
  EXPECT_EQ(inferred("Reduce", {"[n, 2] f32"}, reduce("max", {1, -1})), "BadAttribute");
  EXPECT_EQ(inferred("Reduce", {"[n] i32"}, reduce("mean", {0})), "DTypeMismatch");
  EXPECT_EQ(inferred("Reduce", {"[n] bool"}, reduce("sum", {0})), "[] i64");
  EXPECT_EQ(inferred("Reduce", {"[n] bool"}, reduce("max", {0})), "[] bool");
  EXPECT_EQ(inferred("Reduce", {"[32] q8_0"}, reduce("sum", {0})), "DTypeMismatch");
  EXPECT_EQ(inferred("Reduce", {"[n] f32"}, reduce("median", {0})), "BadAttribute");
}

TEST(ArgMax, Infers) {
  EXPECT_EQ(inferred("ArgMax", {"[n, 3] f32"}), "[n] i32");
  EXPECT_EQ(inferred("ArgMin", {"[n, 3] u8"}, {{"axis", 0}, {"keep_dim", true}, {"index_dtype", DType::i64}}),
            "[1, 3] i64");
  EXPECT_EQ(inferred("ArgMax", {"[n, 3] f32"}, {{"index_dtype", DType::i8}}), "BadAttribute");
  EXPECT_EQ(inferred("ArgMax", {"[] f32"}), "ShapeMismatch");
  EXPECT_EQ(inferred("ArgMax", {"[n, 0] f32"}), "ShapeMismatch");
}

TEST(ArgMax, NothingHasNoLargest) {
  Graph graph("g");
  const Var x = emit(graph, "Input", {}, {{"name", "x"}, {"shape", Shape{2, Dim::symbol("n")}}});
  graph.add_output("y", emit(graph, "ArgMax", {x}).value());
  EXPECT_EQ(test::error_code([&] {
              test::run_graph(graph, {{"x", Tensor::zeros(DType::f32, {2, 0})}});
            }),
            "EmptyReduction");
}

TEST(Softmax, Infers) {
  EXPECT_EQ(inferred("Softmax", {"[n, 3] bf16"}), "[n, 3] bf16");
  EXPECT_EQ(inferred("Softmax", {"[n, 3] f32"}, {{"axis", 2}}), "BadAttribute");
  EXPECT_EQ(inferred("Softmax", {"[] f32"}), "ShapeMismatch");
  EXPECT_EQ(inferred("Softmax", {"[n] i32"}), "DTypeMismatch");
  EXPECT_EQ(inferred("LogSoftmax", {"[n, 3] f64"}, {{"axis", 0}}), "[n, 3] f64");
}

// The number of threads never shows in the bits.
TEST(Reduce, ManyRowsAgreeWithOneByOne) {
  Tensor x = Tensor::allocate(DType::f32, {300, 257});
  auto values = x.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 2654435761u) % 1000) * 0.37f;
  const Tensor all = test::run_node("Softmax", {x})[0], sums = test::run_node("Reduce", {x}, reduce("sum", {1}))[0];
  for (std::int64_t row = 0; row < 300; row += 37) {
    const Tensor one = test::run_node("Softmax", {x.rows(row, 1)})[0];
    EXPECT_EQ(std::memcmp(one.bytes().data(), all.rows(row, 1).bytes().data(), one.byte_size()), 0);
    EXPECT_EQ(test::run_node("Reduce", {x.rows(row, 1)}, reduce("sum", {1}))[0].values<float>()[0],
              sums.values<float>()[static_cast<std::size_t>(row)]);
  }
}

}  // namespace
}  // namespace weft::ops
