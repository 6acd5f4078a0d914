#include "weft/cli/benchmark.h"

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

TEST(Benchmark, ASpreadIsMedianLeastAndMost) {
  const auto expect = [](const std::vector<double>& values, double median, double min, double max) {
    const Spread spread = spread_of(values);
    EXPECT_DOUBLE_EQ(spread.median, median);
    EXPECT_DOUBLE_EQ(spread.min, min);
    EXPECT_DOUBLE_EQ(spread.max, max);
  };
  expect({}, 0, 0, 0);
  expect({3}, 3, 3, 3);
  expect({5, 1}, 3, 1, 5);
  expect({9, 2, 4}, 4, 2, 9);
  expect({4, 3, 2, 1}, 2.5, 1, 4);
}

TEST(Benchmark, TheCeilingIsBandwidthOverBytesRead) {
  BenchReport report;
  EXPECT_EQ(report.decode_ceiling(), 0);
  EXPECT_EQ(report.decode_fraction(), 0);
  report.bandwidth = 40e9;
  report.weight_bytes = 300'000'000;
  report.kv_bytes = 100'000'000;
  report.decode_tok_s.median = 80;
  EXPECT_DOUBLE_EQ(report.decode_ceiling(), 100);
  EXPECT_DOUBLE_EQ(report.decode_fraction(), 0.8);
}

}  // namespace
}  // namespace weft::cli
