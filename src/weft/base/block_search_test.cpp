#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "weft/base/block_codec.h"
#include "weft/base/error.h"
#include "weft/base/thread_pool.h"

namespace weft {
namespace {

using Values = std::vector<float>;
using Bytes = std::vector<std::byte>;

constexpr DType searched[] = {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q2_k,
                              DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k};

Bytes encoded(DType dtype, const Values& values, EncodeQuality quality = EncodeQuality::search) {
  const DTypeInfo& info = dtype_info(dtype);
  Bytes bytes(values.size() / info.block * info.block_bytes);
  encode_from_f32(dtype, values, bytes, OutOfRange::saturate, quality);
  return bytes;
}

Values through(DType dtype, const Values& values, EncodeQuality quality = EncodeQuality::search) {
  const Bytes bytes = encoded(dtype, values, quality);
  Values result(values.size());
  decode_to_f32(dtype, bytes, result);
  return result;
}

std::string code_of(DType dtype, const Values& values) {
  try {
    encoded(dtype, values);
  } catch (const Error& error) {
    return error.code() + " " + error.where();
  }
  return "";
}

Values gaussian(std::size_t count, float sigma, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, sigma);
  Values values(count);
  for (float& x : values) x = normal(generator);
  return values;
}

// As weights are: mostly small, some large.
Values heavy_tailed(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::student_t_distribution<float> student(4);
  Values values(count);
  for (float& x : values) x = 0.02f * student(generator);
  return values;
}

double relative_rms(const Values& values, const Values& back) {
  double error = 0, total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += std::pow(double{values[i]} - double{back[i]}, 2);
    total += std::pow(double{values[i]}, 2);
  }
  return std::sqrt(error / total);
}

TEST(BlockSearch, ErrorsStayBelowTheirBounds) {
  // Relative root mean square error of Gaussian and of heavy-tailed values.
  struct Bound {
    DType dtype;
    double gaussian, heavy;
  };
  const Bound bounds[] = {{DType::q4_0, 0.083, 0.115}, {DType::q4_1, 0.072, 0.087},  {DType::q5_0, 0.0415, 0.058},
                          {DType::q5_1, 0.035, 0.042}, {DType::q2_k, 0.272, 0.305},  {DType::q3_k, 0.148, 0.182},
                          {DType::q4_k, 0.072, 0.088}, {DType::q5_k, 0.0355, 0.043}, {DType::q6_k, 0.0178, 0.023}};
  const Values normal = gaussian(256 * 256, 0.03f, 1), heavy = heavy_tailed(256 * 256, 2);
  for (const Bound& bound : bounds) {
    EXPECT_LT(relative_rms(normal, through(bound.dtype, normal)), bound.gaussian) << to_string(bound.dtype);
    EXPECT_LT(relative_rms(heavy, through(bound.dtype, heavy)), bound.heavy) << to_string(bound.dtype);
  }
}

TEST(BlockSearch, IsBetterThanTheRule) {
  for (const DType dtype : searched)
    for (unsigned seed = 0; seed < 4; ++seed)
      for (const Values& values : {gaussian(8192, 0.7f, seed), heavy_tailed(8192, seed)}) {
        const double rule = relative_rms(values, through(dtype, values, EncodeQuality::rule));
        EXPECT_LT(relative_rms(values, through(dtype, values)), 0.99 * rule) << to_string(dtype) << " seed " << seed;
      }
}

TEST(BlockSearch, MoreBitsMeanLessError) {
  const Values values = heavy_tailed(256 * 64, 3);
  double before = 1;
  for (const DType dtype : {DType::q2_k, DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k, DType::q8_0}) {
    const double error = relative_rms(values, through(dtype, values));
    EXPECT_LT(error, 0.75 * before) << to_string(dtype);
    before = error;
  }
  EXPECT_LT(relative_rms(values, through(DType::q4_1, values)), relative_rms(values, through(DType::q4_0, values)));
  EXPECT_LT(relative_rms(values, through(DType::q5_0, values)), relative_rms(values, through(DType::q4_1, values)));
  EXPECT_LT(relative_rms(values, through(DType::q5_1, values)), relative_rms(values, through(DType::q5_0, values)));
}

// The fit of one block by trying scales, and minimums, on a fine grid: no outcome of the search may be far above it.
TEST(BlockSearch, ComesCloseToAnExhaustiveSearch) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Values x = gaussian(32, 1, 100 + seed);
    float most = 0, low = 0, high = 0;
    for (const float v : x) {
      most = std::max(most, std::fabs(v));
      low = std::min(low, v);
      high = std::max(high, v);
    }
    const auto error_for = [&](double scale, double base, int from, int to) {
      double error = 0;
      for (const float v : x) {
        const double q = std::min<double>(to, std::max<double>(from, std::round((double{v} - base) / scale)));
        error += std::pow(q * scale + base - double{v}, 2);
      }
      return error;
    };
    const auto error_of = [&](DType dtype) {
      const Values back = through(dtype, x);
      double error = 0;
      for (std::size_t i = 0; i < x.size(); ++i) error += std::pow(double{back[i]} - double{x[i]}, 2);
      return error;
    };
    double symmetric = 1e9, asymmetric = 1e9;
    for (int i = 300; i < 1200; ++i)
      for (const double sign : {1.0, -1.0})
        symmetric = std::min(symmetric, error_for(sign * double{most} / 8 * i / 1000, 0, -8, 7));
    for (int i = 700; i < 1100; i += 4)
      for (int j = 700; j < 1100; j += 4)
        asymmetric = std::min(asymmetric, error_for(double{high - low} / 15 * i / 1000, double{low} * j / 1000, 0, 15));
    EXPECT_LT(error_of(DType::q4_0), 1.06 * symmetric) << seed;
    EXPECT_LT(error_of(DType::q4_1), 1.10 * asymmetric) << seed;
  }
}

TEST(BlockSearch, ZeroBlocksStayZero) {
  for (const DType dtype : searched) EXPECT_EQ(through(dtype, Values(512, 0.f)), Values(512, 0.f)) << to_string(dtype);
}

TEST(BlockSearch, ConstantBlocksComeBack) {
  for (const DType dtype : searched)
    for (const float value : {1.f, -1.f, 0.25f, -0.25f, 0.37f, -0.37f, 300.f, -300.f})
      for (const float x : through(dtype, Values(256, value)))
        EXPECT_NEAR(x, value, 0.002f * std::fabs(value)) << to_string(dtype);
}

TEST(BlockSearch, SubBlocksOfVeryDifferentSizesAreKeptApart) {
  for (const DType dtype : searched) {
    Values values = gaussian(256, 1, 9);
    for (std::size_t i = 0; i < 32; ++i) values[64 + i] = 0;
    for (std::size_t i = 0; i < 32; ++i) values[128 + i] *= 1e-20f;
    for (std::size_t i = 0; i < 32; ++i) values[160 + i] = -std::fabs(values[160 + i]) - 1;
    const Values back = through(dtype, values);
    for (std::size_t i = 0; i < 32; ++i) {
      EXPECT_EQ(back[64 + i], 0) << to_string(dtype);
      EXPECT_NEAR(back[128 + i], 0, 1e-6f) << to_string(dtype);
    }
  }
}

TEST(BlockSearch, ValuesAtTheEndsOfTheFloats) {
  for (const DType dtype : searched) {
    // Subnormal, vanishing in f16, small in f16, and as large as the smallest of the formats' scales takes them.
    for (const float size : {1e-44f, 1e-38f, 1e-9f, 1e-5f, 1e3f, 1.5e4f}) {
      Values values = gaussian(256, 1, 11);
      for (float& x : values) x *= size;
      for (const float x : through(dtype, values)) {
        ASSERT_TRUE(std::isfinite(x)) << to_string(dtype) << " " << size;
        EXPECT_LE(std::fabs(x), 5 * size + 1e-5f) << to_string(dtype) << " " << size;
      }
    }
    const Values large = gaussian(256, 1e4f, 12);
    EXPECT_LT(relative_rms(large, through(dtype, large)), 0.31) << to_string(dtype);
  }
}

TEST(BlockSearch, RefusesWhatHasNoCode) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const DType dtype : searched) {
    const std::int64_t width = dtype_info(dtype).block;
    Values values = gaussian(1024, 1, 13);
    values[700] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(code_of(dtype, values), "QuantNaN element 700");
    for (const float wrong : {inf, -inf, 1e38f, -3e38f}) {
      values[700] = wrong;
      EXPECT_EQ(code_of(dtype, values), "QuantRange element " + std::to_string(700 / width * width))
          << to_string(dtype) << " " << wrong;
    }
  }
}

TEST(BlockSearch, ThreadsChangeNothing) {
  const Values values = heavy_tailed(256 * 700, 5);
  for (const DType dtype : {DType::q8_0, DType::q4_0, DType::q4_k, DType::q6_k, DType::f16}) {
    const Bytes expected = encoded(dtype, values);
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      Bytes bytes(expected.size());
      encode_from_f32(dtype, values, bytes, pool, EncodeQuality::search);
      EXPECT_EQ(bytes, expected) << to_string(dtype) << " " << threads << " threads";
    }
  }
}

TEST(BlockSearch, TheFirstBadElementIsNamedAtAnyThreadCount) {
  Values values = heavy_tailed(256 * 700, 6);
  values[100000] = values[150000] = std::numeric_limits<float>::quiet_NaN();
  values[170000] = std::numeric_limits<float>::infinity();
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    Bytes bytes(values.size() / 256 * 144);
    try {
      encode_from_f32(DType::q4_k, values, bytes, pool, EncodeQuality::search);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code() + " " + error.where(), "QuantNaN element 100000");
    }
  }
}

}  // namespace
}  // namespace weft
