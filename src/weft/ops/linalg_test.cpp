#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "infer_node.h"
#include "random_tensor.h"
#include "run_threads.h"
#include "weft/ir/infer.h"

namespace weft::ops {
namespace {

using test::inferred;
using test::random_tensor;

const Attributes transpose_b = {{"transpose_b", true}};
const Attributes transpose_a = {{"transpose_a", true}};

TEST(MatMul, InfersMatricesAndVectors) {
  EXPECT_EQ(inferred("MatMul", {"[3, 4] f32", "[4, 5] f32"}), "[3, 5] f32");
  EXPECT_EQ(inferred("MatMul", {"[3, 4] f32", "[5, 4] f32"}, transpose_b), "[3, 5] f32");
  EXPECT_EQ(inferred("MatMul", {"[4, 3] bf16", "[4, 5] bf16"}, transpose_a), "[3, 5] bf16");
  EXPECT_EQ(inferred("MatMul", {"[4] f64", "[4, 5] f64"}), "[5] f64");
  EXPECT_EQ(inferred("MatMul", {"[3, 4] i32", "[4] i32"}), "[3] i32");
  EXPECT_EQ(inferred("MatMul", {"[4] f32", "[4] f32"}), "[] f32");
  EXPECT_EQ(inferred("MatMul", {"[4] f32", "[7, 4, 5] f32"}), "[7, 5] f32");
  EXPECT_EQ(inferred("MatMul", {"[2, 1, 3, 4] f32", "[6, 4, 5] f32"}), "[2, 6, 3, 5] f32");
}

TEST(MatMul, InfersSymbols) {
  EXPECT_EQ(inferred("MatMul", {"[n, 4] f32", "[4, 5] f32"}), "[n, 5] f32");
  EXPECT_EQ(inferred("MatMul", {"[b, n, k] f32", "[b, k, past + n] f32"}), "[b, n, n + past] f32");
  EXPECT_EQ(inferred("MatMul", {"[n, k] f32", "[4, 5] f32"}), "[n, 5] f32 if k == 4");
  EXPECT_EQ(inferred("MatMul", {"[b, 2, 4] f32", "[3, 4, 5] f32"}), "[broadcast(3, b), 2, 5] f32");
  EXPECT_EQ(inferred("MatMul", {"[b, 2, 4] f32", "[1, 4, 5] f32"}), "[b, 2, 5] f32");
}

TEST(MatMul, InfersPackedRightSides) {
  EXPECT_EQ(inferred("MatMul", {"[n, 64] f32", "[5, 64] q8_0"}, transpose_b), "[n, 5] f32");
  EXPECT_EQ(inferred("MatMul", {"[n, 64] f16", "[5, 64] q4_0"}, transpose_b), "[n, 5] f16");
  EXPECT_EQ(inferred("MatMul", {"[n, 64] f32", "[5, 64] fx16_16"}, transpose_b), "[n, 5] f32");
  EXPECT_EQ(inferred("MatMul", {"[n, 64] f32", "[5, 64] bf16"}, transpose_b), "[n, 5] f32");
  EXPECT_EQ(inferred("MatMul", {"[64] f32", "[5, 64] q8_0"}, transpose_b), "[5] f32");
  EXPECT_EQ(inferred("MatMul", {"[n, 64] f32", "[64, 64] q8_0"}), "DTypeMismatch");
  EXPECT_EQ(inferred("MatMul", {"[n, 64] f32", "[64, 64] f16"}), "DTypeMismatch");
  EXPECT_EQ(inferred("MatMul", {"[n, 64] f32", "[2, 5, 64] q8_0"}, transpose_b), "DTypeMismatch");
  EXPECT_EQ(inferred("MatMul", {"[n, 64] f64", "[5, 64] q8_0"}, transpose_b), "DTypeMismatch");
  EXPECT_EQ(inferred("MatMul", {"[5, 64] q8_0", "[64, 2] f32"}), "DTypeMismatch");
}

TEST(MatMul, RefusesWhatDoesNotFit) {
  EXPECT_EQ(inferred("MatMul", {"[3, 4] f32", "[5, 6] f32"}), "ShapeMismatch");
  EXPECT_EQ(inferred("MatMul", {"[2, 3, 4] f32", "[3, 4, 5] f32"}), "ShapeMismatch");
  EXPECT_EQ(inferred("MatMul", {"[] f32", "[4, 5] f32"}), "ShapeMismatch");
  EXPECT_EQ(inferred("MatMul", {"[4] f32", "[4, 5] f32"}, transpose_a), "BadAttribute");
  EXPECT_EQ(inferred("MatMul", {"[4, 5] f32", "[5] f32"}, transpose_b), "BadAttribute");
  EXPECT_EQ(inferred("MatMul", {"[3, 4] f32", "[4, 5] f64"}), "DTypeMismatch");
  EXPECT_EQ(inferred("MatMul", {"[3, 4] bool", "[4, 5] bool"}), "DTypeMismatch");
  EXPECT_EQ(inferred("MatMul", {"[3, 4] c64", "[4, 5] c64"}), "DTypeMismatch");
  EXPECT_EQ(inferred("MatMul", {"[3, 4] f32"}), "BadArity");
}

TEST(MatMul, CountsFlops) {
  Graph graph("g");
  const Var a = emit(graph, "Input", {}, {{"name", "a"}, {"shape", Shape::parse("[n, 8]")}});
  const Var b = emit(graph, "Input", {}, {{"name", "b"}, {"shape", Shape{5, 8}}});
  const Var y = emit(graph, "MatMul", {a, b}, transpose_b);
  Node node = graph.node(y.value().node);
  InferContext context(graph, node, "");
  node.schema->infer(context);
  EXPECT_EQ(node.schema->flops(context).text(), "80*n");
}

// y[m, n] by the definition: one f64 sum in ascending order, rounded once.
Tensor by_definition(const Tensor& x, const Tensor& w) {
  const Tensor left = x.to_f32(), right = w.to_f32();
  const std::int64_t m = x.dim(0), k = x.dim(1), n = w.dim(0);
  Tensor y = Tensor::allocate(DType::f32, {m, n});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t t = 0; t < k; ++t)
        sum += static_cast<double>(left.values<float>()[static_cast<std::size_t>(i * k + t)]) *
               static_cast<double>(right.values<float>()[static_cast<std::size_t>(j * k + t)]);
      y.mutable_values<float>()[static_cast<std::size_t>(i * n + j)] = static_cast<float>(sum);
    }
  return y;
}

TEST(MatMul, BitsAreThoseOfTheDefinitionForEveryPackedType) {
  const Tensor x = random_tensor({5, 768});
  for (const DTypeInfo& info : all_dtypes()) {
    if (!is_packed(info.dtype) && info.dtype != DType::f16 && info.dtype != DType::bf16 && info.dtype != DType::f32)
      continue;
    const Tensor w = random_tensor({37, 768}, 2, info.dtype);
    const Tensor y = test::run_node("MatMul", {x, w}, transpose_b)[0];
    EXPECT_TRUE(test::same_bytes(y, by_definition(x, w))) << info.name;
  }
}

TEST(MatMul, BitsDependOnNeitherThreadsNorRows) {
  const Tensor x = random_tensor({70, 640});
  const Tensor w = random_tensor({100, 640}, 2, DType::q8_0);
  const Tensor one = test::run_with_threads(1, "MatMul", {x, w}, transpose_b);
  for (const int threads : {2, 3, 8})
    EXPECT_TRUE(test::same_bytes(test::run_with_threads(threads, "MatMul", {x, w}, transpose_b), one)) << threads;
  for (const std::int64_t rows : {1, 2, 5, 33})
    EXPECT_TRUE(
        test::same_bytes(test::run_with_threads(2, "MatMul", {x.rows(3, rows), w}, transpose_b), one.rows(3, rows)))
        << rows;
}

TEST(MatMul, SixteenBitResultsAreRoundedOnce) {
  // 1 + 2^-9 + 2^-27: f32 would lose the last bit and leave a tie of bf16 and f16 neighbors that rounds down.
  const float left[] = {1, 1, 0x1p-14f};
  const auto product = [&](DType dtype, float middle, float last) {
    const float right[] = {1, middle, last};
    Tensor a = Tensor::allocate(dtype, {1, 3}), b = Tensor::allocate(dtype, {3, 1});
    encode_from_f32(dtype, left, a.mutable_bytes());
    encode_from_f32(dtype, right, b.mutable_bytes());
    return test::run_node("MatMul", {a, b})[0].to_f32().values<float>()[0];
  };
  EXPECT_EQ(product(DType::f16, 0x1p-11f, 0x1p-14f), 1 + 0x1p-10f);
  EXPECT_EQ(product(DType::f16, 0x1p-11f, 0), 1);
  EXPECT_EQ(product(DType::bf16, 0x1p-8f, 0x1p-14f), 1 + 0x1p-7f);
  EXPECT_EQ(product(DType::bf16, 0x1p-8f, 0), 1);
}

TEST(MatMul, NotFiniteValuesStayInTheirColumn) {
  const float inf = std::numeric_limits<float>::infinity();
  const float a[] = {1, 0, 2, 3}, b[] = {1, inf, 2, 1, 0, 1};
  const Tensor y = test::run_node("MatMul", {Tensor::from(a, {2, 2}), Tensor::from(b, {2, 3})})[0];
  const auto values = y.values<float>();
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], inf);
  EXPECT_EQ(values[2], 2);
  EXPECT_EQ(values[3], 5);
  EXPECT_EQ(values[4], inf);
  EXPECT_EQ(values[5], 7);
}

}  // namespace
}  // namespace weft::ops
