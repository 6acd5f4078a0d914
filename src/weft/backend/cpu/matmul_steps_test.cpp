// Products of two values on the CPU backend against MatMul's own kernel, on ragged sizes, batches and transposes.
#include <gtest/gtest.h>

#include "step_problem.h"

namespace weft::cpu {
namespace {

using test::random_tensor;
using test::StepProblem;
using Sizes = std::vector<std::int64_t>;

void multiply(const Sizes& a, const Sizes& b, bool transpose_a = false, bool transpose_b = false) {
  SCOPED_TRACE(dims_text(a) + (transpose_a ? "^T " : " ") + dims_text(b) + (transpose_b ? "^T" : ""));
  StepProblem{"MatMul",
              {random_tensor(a, 1), random_tensor(b, 2)},
              {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}}
      .check(test::Rule::sum);
}

TEST(MatMulSteps, RowsAndColumnsOfEveryRemainder) {
  for (std::int64_t m = 1; m <= 17; m += m < 6 ? 1 : 4)
    for (const std::int64_t n : {1, 7, 16, 64, 67})
      for (const std::int64_t k : {1, 5, 130}) multiply({m, k}, {k, n});
}

TEST(MatMulSteps, Transposes) {
  for (const auto& [m, k, n] : {std::tuple{3, 257, 33}, {40, 19, 80}, {1, 64, 129}, {300, 3, 2}}) {
    multiply({k, m}, {k, n}, true, false);
    multiply({m, k}, {n, k}, false, true);
    multiply({k, m}, {n, k}, true, true);
  }
}

TEST(MatMulSteps, Batches) {
  multiply({2, 3, 5, 7}, {2, 3, 7, 9});
  multiply({2, 3, 5, 7}, {3, 7, 9});
  multiply({5, 7}, {2, 3, 7, 9});
  multiply({2, 1, 5, 7}, {1, 3, 7, 9});
  multiply({4, 1, 5, 7}, {7, 9});
  multiply({3, 7, 5}, {9, 7}, true, true);
  multiply({2, 3, 7, 5}, {2, 1, 9, 7}, true, true);
  multiply({1, 5, 7}, {1, 1, 7, 9});
}

TEST(MatMulSteps, Vectors) {
  multiply({7}, {7});
  multiply({7}, {7, 5});
  multiply({5, 7}, {7});
  multiply({2, 5, 7}, {7});
  multiply({7}, {3, 7, 5});
  multiply({7}, {5, 7}, false, true);
  multiply({7, 5}, {7}, true, false);
}

TEST(MatMulSteps, EmptyOperands) {
  multiply({3, 0}, {0, 5});
  multiply({0, 4}, {4, 5});
  multiply({3, 4}, {4, 0});
  multiply({0, 3, 4}, {0, 4, 5});
  multiply({0, 3, 4}, {4, 5});
  multiply({0}, {0});
}

// A row of the result has the same bits, whatever stands above and below it.
TEST(MatMulSteps, RowsDoNotDependOnTheOthers) {
  for (const bool turned : {false, true}) {
    const Tensor b = random_tensor(turned ? Sizes{70, 300} : Sizes{300, 70}, 2), many = random_tensor({65, 300}, 1);
    const auto product = [&](const Tensor& a, int threads) {
      return StepProblem{"MatMul", {a, b}, {{"transpose_b", turned}}}.run(supported_cpu_levels().back(), false,
                                                                          threads);
    };
    const Tensor all = product(many, 3);
    for (const std::int64_t rows : {1, 3, 33, 64}) {
      const auto first = many.values<float>().first(static_cast<std::size_t>(rows * 300));
      const Tensor some = product(Tensor::from(first, {rows, 300}), 1);
      EXPECT_EQ(std::memcmp(some.bytes().data(), all.bytes().data(), some.byte_size()), 0) << rows;
    }
  }
}

TEST(MatMulSteps, LongSumsOfOneSignKeepTheirDigits) {
  Tensor a = random_tensor({2, 20000}, 1), b = random_tensor({20000, 5}, 2);
  for (Tensor* tensor : {&a, &b})
    for (float& value : tensor->mutable_values<float>()) value = std::abs(value);
  StepProblem{"MatMul", {a, b}, {}}.check(test::Rule::sum);
}

TEST(MatMulSteps, KroneckerProducts) {
  const auto kron = [](Sizes a, Sizes b) {
    StepProblem{"Kron", {random_tensor(a, 1), random_tensor(b, 2)}, {}}.check(test::Rule::exact);
  };
  kron({2, 3}, {4, 5});
  kron({17}, {33});
  kron({3, 1, 7}, {2, 67});
  kron({7}, {2, 3, 40});
  kron({}, {5, 3});
  kron({2, 3}, {0, 3});
}

TEST(MatMulSteps, InversesOfEverySize) {
  for (std::int64_t n = 1; n <= 17; ++n)
    StepProblem{"MatrixInverse", {random_tensor({3, n, n}, static_cast<std::uint64_t>(n))}, {}}.check(
        test::Rule::exact);
  StepProblem{"MatrixInverse", {random_tensor({67, 67})}, {}}.check(test::Rule::exact);
  StepProblem{"MatrixInverse", {random_tensor({2, 0, 5, 5})}, {}}.check(test::Rule::exact);
  const StepProblem singular{"MatrixInverse", {Tensor::zeros(DType::f32, {2, 3, 3})}, {}};
  try {
    singular.run(supported_cpu_levels().back(), false, 1);
    ADD_FAILURE() << "a singular matrix was inverted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "SingularMatrix");
  }
}

}  // namespace
}  // namespace weft::cpu
