// Transposes, pieces of an axis, broadcasts and clamps of the CPU backend against their ops, on ragged sizes.
#include <gtest/gtest.h>

#include <limits>

#include "step_problem.h"
#include "weft/backend/cpu/strided_walk.h"

namespace weft::cpu {
namespace {

using test::random_tensor;
using test::StepProblem;
using Sizes = std::vector<std::int64_t>;

Attributes with(const char* name, Sizes sizes) { return {{name, AttributeValue(std::move(sizes))}}; }

TEST(LayoutSteps, Transposes) {
  const auto transpose = [](Sizes dims, Sizes perm) {
    for (const DType dtype : {DType::f32, DType::f16, DType::f64})
      StepProblem{"Transpose", {random_tensor(dims, 1, dtype)}, with("perm", perm)}.check(test::Rule::exact);
  };
  transpose({67, 35}, {1, 0});
  transpose({3, 17, 40}, {0, 2, 1});
  transpose({3, 17, 40}, {2, 0, 1});
  transpose({2, 5, 3, 7, 4}, {0, 3, 1, 4, 2});
  transpose({2, 1, 33, 5}, {3, 1, 0, 2});
  transpose({1, 1, 1}, {2, 1, 0});
  transpose({70}, {0});
  transpose({2, 3, 2, 3, 2, 3, 2, 3}, {7, 5, 3, 1, 0, 2, 4, 6});
  StepProblem{"Transpose", {random_tensor({4, 5, 6})}, {}}.check(test::Rule::exact);
}

TEST(LayoutSteps, PiecesOfAnAxis) {
  for (const std::int64_t axis : {0, 1, 2, -1}) {
    Sizes a{3, 5, 7}, b{3, 5, 7}, c{3, 5, 7};
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    a[at] = 1;
    b[at] = 34;
    c[at] = 0;
    StepProblem{"Concat", {random_tensor(a, 1), random_tensor(b, 2), random_tensor(c, 3)}, {{"axis", axis}}}.check(
        test::Rule::exact);
    b[at] = 36;
    StepProblem{"Narrow", {random_tensor(b, 4)}, {{"axis", axis}, {"start", 3}, {"len", 21}}}.check(test::Rule::exact);
    for (std::size_t port = 0; port < 3; ++port) {
      Attributes attributes = with("sizes", {4, 0, 32});
      attributes.emplace_back("axis", axis);
      StepProblem split{"Split", {random_tensor(b, 5)}, attributes};
      split.port = static_cast<std::int32_t>(port);
      split.check(test::Rule::exact);
    }
  }
}

TEST(LayoutSteps, BroadcastsOfAnyAxes) {
  const auto binary = [](Sizes a, Sizes b) {
    for (const char* kind : {"sub", "div"}) {
      StepProblem{"Binary", {random_tensor(a, 1), random_tensor(b, 2)}, {{"kind", kind}}}.check(
          test::Rule::elementwise);
      StepProblem{"Binary", {random_tensor(b, 2), random_tensor(a, 1)}, {{"kind", kind}}}.check(
          test::Rule::elementwise);
    }
  };
  binary({3, 5, 4, 7}, {5, 1, 1});
  binary({3, 5, 67}, {3, 1, 67});
  binary({3, 5, 67}, {3, 5, 1});
  binary({3, 1, 67}, {1, 5, 1});
  binary({4, 1}, {1, 33});
  binary({2, 3, 1, 5, 1}, {3, 4, 1, 6});
  binary({7}, {7, 1});
  binary({1, 1}, {1});
}

TEST(LayoutSteps, Clamps) {
  Tensor x = random_tensor({5, 37});
  x.mutable_values<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  x.mutable_values<float>()[40] = -std::numeric_limits<float>::infinity();
  for (const Attributes& bounds : {Attributes{}, Attributes{{"min", -0.5}}, Attributes{{"max", 0.25}},
                                   Attributes{{"min", -1.0}, {"max", 1.0}}, Attributes{{"min", 2.0}, {"max", 1.0}}})
    StepProblem{"Clamp", {x}, bounds}.check(test::Rule::exact);
}

TEST(LayoutSteps, WhatIsNotFiniteBecomesANumber) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t width : {0, 1, 7, 37, 300}) {
    Tensor x = random_tensor({3, width});
    const auto values = x.mutable_values<float>();
    for (std::size_t i = 0; i < values.size(); i += 5)
      values[i] = i % 3 == 0 ? std::numeric_limits<float>::quiet_NaN() : i % 3 == 1 ? infinity : -infinity;
    for (const Attributes& numbers :
         {Attributes{}, Attributes{{"nan", 1.5}}, Attributes{{"posinf", 3.0}, {"neginf", -0.1}}})
      StepProblem{"NanToNum", {x}, numbers}.check(test::Rule::exact);
  }
}

TEST(LayoutSteps, RowsOfFewBits) {
  for (std::int64_t bits = 1; bits <= 8; ++bits)
    for (const std::int64_t width : {1, 7, 64, 129}) {
      const Attributes codes{{"head_dim", width}, {"bits", bits}};
      Tensor x = random_tensor({5, 3 * width}, static_cast<std::uint64_t>(bits));
      const auto values = x.mutable_values<float>();
      std::fill_n(values.begin(), width, 0.0f);
      for (std::int64_t i = width; i < 3 * width; ++i)  // halves of steps among them
        values[static_cast<std::size_t>(i)] = std::nearbyint(4 * values[static_cast<std::size_t>(i)]) / 8;
      for (std::int64_t i = 3 * width; i < 4 * width; ++i) values[static_cast<std::size_t>(i)] *= 1e-42f;
      const StepProblem compress{"KvCompress", {x}, codes};
      compress.check(test::Rule::exact);
      StepProblem{"KvDecompress", {compress.reference({x})}, codes}.check(test::Rule::exact);
      StepProblem{"KvCompress", {random_tensor({0, width})}, codes}.check(test::Rule::exact);
    }
}

TEST(LayoutSteps, IndicesOfWholeNumbers) {
  const std::int64_t wide[] = {0, -3, 2147483647, -2147483648};
  const float whole[] = {0, -3, 16777216, 7};
  StepProblem{"ToIndex", {Tensor::from(std::span<const std::int64_t>(wide), {4})}, {}}.check(test::Rule::exact);
  StepProblem{"ToIndex", {Tensor::from(std::span<const float>(whole), {2, 2})}, {}}.check(test::Rule::exact);
  const auto code_of = [](const Tensor& x) -> std::string {
    try {
      StepProblem{"ToIndex", {x}, {}}.run(supported_cpu_levels().back(), false, 1);
    } catch (const Error& error) {
      return error.code();
    }
    return "";
  };
  const float broken[] = {1.5f}, far[] = {3e9f};
  const std::int64_t beyond[] = {2147483648};
  EXPECT_EQ(code_of(Tensor::from(std::span<const float>(broken), {1})), "NonIntegralIndex");
  EXPECT_EQ(code_of(Tensor::from(std::span<const float>(far), {1})), "IndexOutOfRange");
  EXPECT_EQ(code_of(Tensor::from(std::span<const std::int64_t>(beyond), {1})), "IndexOutOfRange");
}

TEST(StridedWalk, MergesWhatIsCrossedEvenly) {
  StridedWalk<2> walk;
  walk.add(4, {30, 0});
  walk.add(1, {7, 7});
  walk.add(3, {10, 0});
  walk.add(5, {2, 1});
  walk.add(2, {1, 0});
  ASSERT_EQ(walk.axes, 3);
  EXPECT_EQ(walk.dims[0], 12);  // 4 and 3
  EXPECT_EQ(walk.strides[0][0], 10);
  EXPECT_EQ(walk.outer(1), 60);
  std::int64_t offsets[2];
  walk.offsets(7, 1, offsets);  // (1, 2) of 12 x 5
  EXPECT_EQ(offsets[0], 14);
  EXPECT_EQ(offsets[1], 2);
}

}  // namespace
}  // namespace weft::cpu
