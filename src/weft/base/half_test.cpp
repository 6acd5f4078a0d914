#include "weft/base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weft {
namespace {

// What the bits of an f16 mean, by the definition of the format.
double f16_value(std::uint32_t half) {
  const double sign = (half & 0x8000u) != 0 ? -1 : 1;
  const int exponent = static_cast<int>((half >> 10) & 31u), mantissa = static_cast<int>(half & 0x3FFu);
  if (exponent == 31) return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

TEST(Half, EveryF16IsWidenedExactlyAndComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = f16_to_f32(half);
    const double expected = f16_value(bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value)))) << bits;
      continue;
    }
    EXPECT_EQ(static_cast<double>(value), expected) << bits;
    EXPECT_EQ(std::signbit(value), (bits & 0x8000u) != 0) << bits;
    EXPECT_EQ(f32_to_f16(value), half);
  }
}

TEST(Half, NarrowingToF16RoundsToNearestEven) {
  // Between each two neighbors: just below the middle, the middle, just above it.
  for (std::uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits), high = static_cast<std::uint16_t>(bits + 1);
    const float middle = static_cast<float>((f16_value(low) + f16_value(high)) / 2);
    EXPECT_EQ(f32_to_f16(middle), bits % 2 == 0 ? low : high) << bits;
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, 0.f)), low) << bits;
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, 1e9f)), high) << bits;
    EXPECT_EQ(f32_to_f16(-middle), f32_to_f16(middle) | 0x8000u);
  }
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.f), 0x7C00);
  EXPECT_EQ(f32_to_f16(-std::numeric_limits<float>::infinity()), 0xFC00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::denorm_min()), 0);
}

TEST(Half, Bf16RoundsToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bf16_to_f32(static_cast<std::uint16_t>(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(value)))) << bits;
    else
      EXPECT_EQ(f32_to_bf16(value), bits);
  }
  const auto f32 = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  EXPECT_EQ(f32_to_bf16(f32(0x3F808000)), 0x3F80);  // ties go to the even neighbor
  EXPECT_EQ(f32_to_bf16(f32(0x3F818000)), 0x3F82);
  EXPECT_EQ(f32_to_bf16(f32(0x3F808001)), 0x3F81);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(f32(0x7F800001)))));
}

}  // namespace
}  // namespace weft
