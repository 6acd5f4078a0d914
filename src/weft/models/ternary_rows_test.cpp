#include "weft/models/ternary_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/thread_pool.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

std::vector<float> decoded(const TernaryRows& rows) {
  const Tensor codes = rows.codes.to_f32(), scales = rows.scales.to_f32();
  std::vector<float> values(codes.values<float>().begin(), codes.values<float>().end());
  const auto columns = static_cast<std::size_t>(rows.codes.dims().back());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= scales.values<float>()[i / columns];
  return values;
}

double relative_rms(const std::vector<float>& x, const std::vector<float>& y) {
  double error = 0, total = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error += std::pow(double{x[i]} - double{y[i]}, 2);
    total += std::pow(double{x[i]}, 2);
  }
  return std::sqrt(error / total);
}

TEST(TernaryRows, RowsOfOneMagnitudeComeBackExactly) {
  std::vector<float> values(3 * 32, 0.f);
  for (std::size_t i = 0; i < 32; ++i) {
    values[i] = i % 3 == 0 ? 0.f : i % 3 == 1 ? 0.37f : -0.37f;
    values[32 + i] = i % 2 == 0 ? -1e-9f : 1e-9f;
  }
  ThreadPool pool(2);
  const TernaryRows rows = ternary_rows("w", Tensor::from(values, {3, 32}), DType::f32, pool);
  EXPECT_THAT(rows.scales.values<float>(), ElementsAre(0.37f, 1e-9f, 0.f));
  EXPECT_EQ(decoded(rows), values);
}

TEST(TernaryRows, TheErrorIsTheLeastThatThreeLevelsAllow) {
  std::mt19937 generator(3);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> values(64 * 512);
  for (float& x : values) x = normal(generator);
  ThreadPool one(1), three(3);
  const Tensor source = Tensor::from(values, {64, 512});
  const TernaryRows rows = ternary_rows("w", source, DType::f32, one);
  // The best three-level quantizer of a Gaussian leaves 0.1902 of its variance.
  const double error = relative_rms(values, decoded(rows));
  EXPECT_LT(error, 0.44);
  EXPECT_GT(error, 0.42);
  // In a file that has fixed point alone, the codes are taken against the scale as it is stored.
  const TernaryRows fixed = ternary_rows("w", source, DType::fx16_16, three);
  EXPECT_EQ(fixed.scales.dtype(), DType::fx16_16);
  EXPECT_NEAR(relative_rms(values, decoded(fixed)), error, 1e-4);
  const TernaryRows again = ternary_rows("w", source, DType::f32, three);
  EXPECT_EQ(decoded(again), decoded(rows));
}

TEST(TernaryRows, WhatIsNoNumberIsRefusedByItsRow) {
  ThreadPool pool(2);
  const auto refusal = [&](float wrong) -> std::string {
    std::vector<float> values(40 * 32, 1.f);
    values[32 * 17 + 3] = wrong;
    values[32 * 30] = std::nanf("");
    try {
      ternary_rows("w", Tensor::from(values, {40, 32}), DType::f32, pool);
    } catch (const Error& error) {
      return error.code() + " " + error.where();
    }
    return "";
  };
  EXPECT_EQ(refusal(std::nanf("")), "QuantNaN tensor \"w\", row 17");
  EXPECT_EQ(refusal(HUGE_VALF), "QuantRange tensor \"w\", row 17");
}

}  // namespace
}  // namespace weft
