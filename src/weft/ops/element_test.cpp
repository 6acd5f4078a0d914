#include "weft/ops/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "infer_node.h"
#include "weft/ops/broadcast.h"

namespace weft::ops {
namespace {

using Integers = std::vector<std::int64_t>;

std::vector<std::uint16_t> stored(DType dtype, std::vector<double> values) {
  Tensor tensor = Tensor::allocate(dtype, {static_cast<std::int64_t>(values.size())});
  store_f64(tensor, values);
  const auto bits = tensor.values<std::uint16_t>();
  return {bits.begin(), bits.end()};
}

TEST(Element, HalfFloatsRoundOnceFromF64) {
  // A hair above the middle between 1 and its successor: rounded by way of f32 it would tie and go down.
  EXPECT_EQ(stored(DType::f16, {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, -1 - 0x1p-11 - 0x1p-40}),
            (std::vector<std::uint16_t>{0x3C01, 0x3C00, 0xBC01}));
  EXPECT_EQ(stored(DType::bf16, {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8, 1 + 3 * 0x1p-8 - 0x1p-40}),
            (std::vector<std::uint16_t>{0x3F81, 0x3F80, 0x3F81}));
  // Subnormals, what underflows, overflow and infinity.
  EXPECT_EQ(stored(DType::f16, {0x1p-25, 0x1p-25 + 0x1p-60, 1e-300, -1e-300, 65519.999, 65520, 1e300, -HUGE_VAL}),
            (std::vector<std::uint16_t>{0, 1, 0, 0x8000, 0x7BFF, 0x7C00, 0x7C00, 0xFC00}));
  EXPECT_TRUE(std::isnan(load_f64([] {
    Tensor nan = Tensor::allocate(DType::bf16, {});
    const double value[] = {std::numeric_limits<double>::quiet_NaN()};
    store_f64(nan, value);
    return nan;
  }())[0]));
}

TEST(Element, IntegersSaturateFromFloatsAndWrapFromIntegers) {
  Tensor bytes = Tensor::allocate(DType::i8, {5});
  store_f64(bytes, std::vector<double>{300, -300, 1.9, -1.9, NAN});
  EXPECT_EQ(load_i64(bytes), (Integers{127, -128, 1, -1, 0}));
  store_i64(bytes, Integers{300, -300, 128, -129, 5});
  EXPECT_EQ(load_i64(bytes), (Integers{44, -44, -128, 127, 5}));
  Tensor words = Tensor::allocate(DType::u64, {2});
  store_f64(words, std::vector<double>{1e30, -5});
  EXPECT_EQ(words.values<std::uint64_t>()[0], UINT64_MAX);
  EXPECT_EQ(load_f64(words)[0], 0x1p64);
  EXPECT_EQ(load_i64(words)[0], -1) << "u64 keeps its bits";
}

TEST(Element, OtherTypesAreRefused) {
  EXPECT_EQ(test::error_code([] { load_f64(Tensor::zeros(DType::c64, {1})); }), "UnsupportedDtype");
  EXPECT_EQ(test::error_code([] { load_i64(Tensor::zeros(DType::f32, {1})); }), "UnsupportedDtype");
}

TEST(Element, RoundingToOdd) {
  const double odd = 1 + 0x1p-52;
  EXPECT_EQ(rounded_to_odd(1.0, 0), 1.0);
  EXPECT_EQ(rounded_to_odd(1.0, 1e-30), odd);
  EXPECT_EQ(rounded_to_odd(odd, 1e-30), odd);
  EXPECT_EQ(rounded_to_odd(1 + 0x1p-51, -1e-30), odd);
  EXPECT_EQ(rounded_to_odd(HUGE_VAL, 1), HUGE_VAL);
}

TEST(Broadcast, EvenAxesMerge) {
  const std::vector<std::vector<std::int64_t>> same = {{4, 3, 5}, {4, 3, 5}};
  const Integers target = {4, 3, 5};
  EXPECT_EQ(broadcast_plan(target, same).dims, (Integers{60}));
  const std::vector<std::vector<std::int64_t>> row = {{4, 3, 5}, {5}};
  const StridedPlan plan = broadcast_plan(target, row);
  EXPECT_EQ(plan.dims, (Integers{12, 5}));
  EXPECT_EQ(plan.strides, (std::vector<Integers>{{5, 1}, {0, 1}}));
  const std::vector<std::vector<std::int64_t>> scalar = {{}, {4, 1, 5}};
  EXPECT_EQ(broadcast_plan(target, scalar).dims, (Integers{4, 3, 5}));
  const std::vector<std::vector<std::int64_t>> ones = {{1, 1}, {}};
  EXPECT_EQ(broadcast_plan(Integers{1, 1}, ones).dims, (Integers{1}));
}

TEST(Broadcast, RunsCoverAnyRangeInOrder) {
  const std::vector<std::vector<std::int64_t>> operands = {{4, 1, 5}, {3, 1}};
  const Integers target = {4, 3, 5};
  const StridedPlan plan = broadcast_plan(target, operands);
  for (const std::int64_t begin : {0, 7, 23}) {
    std::int64_t next = begin;
    for_each_run(plan, begin, 59, 4, [&](std::int64_t at, std::int64_t count, std::span<const std::int64_t> offsets) {
      EXPECT_EQ(at, next);
      EXPECT_LE(count, 4);
      EXPECT_EQ(offsets[0], at / 15 * 5 + at % 5);
      EXPECT_EQ(offsets[1], at / 5 % 3);
      next += count;
    });
    EXPECT_EQ(next, 59);
  }
}

}  // namespace
}  // namespace weft::ops
