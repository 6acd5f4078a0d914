#include "weft/base/block_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weft/base/byte_reader.h"
#include "weft/base/error.h"
#include "weft/base/half.h"

namespace weft {
namespace {

std::vector<std::byte> encoded(DType dtype, const std::vector<float>& values,
                               OutOfRange out_of_range = OutOfRange::saturate,
                               EncodeQuality quality = EncodeQuality::rule) {
  const DTypeInfo& info = dtype_info(dtype);
  std::vector<std::byte> bytes(values.size() / info.block * info.block_bytes);
  encode_from_f32(dtype, values, bytes, out_of_range, quality);
  return bytes;
}

std::vector<float> decoded(DType dtype, const std::vector<std::byte>& bytes) {
  const DTypeInfo& info = dtype_info(dtype);
  std::vector<float> values(bytes.size() / info.block_bytes * info.block);
  decode_to_f32(dtype, bytes, values);
  return values;
}

std::string code_of(DType dtype, const std::vector<float>& values, OutOfRange out_of_range = OutOfRange::saturate) {
  try {
    encoded(dtype, values, out_of_range);
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

std::vector<float> gaussian(std::size_t count, float sigma, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, sigma);
  std::vector<float> values(count);
  for (float& x : values) x = normal(generator);
  return values;
}

struct Golden {
  std::string name;  // '>' in front: for the encoder
  std::vector<float> values;
  std::vector<std::byte> bytes;
};

std::vector<Golden> goldens() {
  std::ifstream file(WEFT_SOURCE_DIR "/tests/data/blocks.bin", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ByteReader reader(std::as_bytes(std::span(text)), "blocks.bin");
  std::vector<Golden> all;
  while (!reader.done()) {
    Golden golden;
    golden.name = reader.text(reader.read<std::uint8_t>("length"), "name");
    golden.values.resize(reader.read<std::uint32_t>("count"));
    golden.bytes.resize(reader.read<std::uint32_t>("size"));
    const auto values = reader.take(golden.values.size() * 4, "values");
    std::memcpy(golden.values.data(), values.data(), values.size());
    const auto bytes = reader.take(golden.bytes.size(), "bytes");
    golden.bytes.assign(bytes.begin(), bytes.end());
    all.push_back(std::move(golden));
  }
  return all;
}

TEST(BlockCodec, AgreesWithNumpyOnEveryFormat) {
  std::set<DType> decoders, encoders;
  for (const Golden& golden : goldens()) {
    const bool encodes = golden.name[0] == '>';
    const auto dtype = dtype_from_name(encodes ? golden.name.substr(1) : golden.name);
    ASSERT_TRUE(dtype) << golden.name;
    if (encodes) {
      encoders.insert(*dtype);
      EXPECT_EQ(encoded(*dtype, golden.values), golden.bytes) << golden.name;
      continue;
    }
    decoders.insert(*dtype);
    const std::vector<float> values = decoded(*dtype, golden.bytes);
    ASSERT_EQ(values.size(), golden.values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i], golden.values[i]) << golden.name << " value " << i;
  }
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.cls != DTypeClass::block && info.cls != DTypeClass::fixed_point && info.cls != DTypeClass::integer)
      continue;
    EXPECT_TRUE(decoders.contains(info.dtype)) << info.name;
    EXPECT_TRUE(encoders.contains(info.dtype)) << info.name;
  }
}

TEST(BlockCodec, EncodersStayWithinTheirErrorBounds) {
  // Largest error over a block relative to the largest magnitude of 256 values, by rule and by search.
  const std::vector<std::pair<DType, double>> bounds = {
      {DType::q8_0, 0.005}, {DType::q4_0, 0.13},  {DType::q2_k, 0.35},  {DType::q3_k, 0.18}, {DType::q4_k, 0.075},
      {DType::q5_k, 0.037}, {DType::q6_k, 0.018}, {DType::q8, 0.006},   {DType::q4, 0.13},   {DType::q4_1, 0.07},
      {DType::q5_0, 0.065}, {DType::q5_1, 0.036}, {DType::f16, 0.0005}, {DType::bf16, 0.004}};
  for (const auto& [dtype, bound] : bounds)
    for (unsigned seed = 0; seed < 200; ++seed)
      for (const EncodeQuality quality : {EncodeQuality::rule, EncodeQuality::search}) {
        const bool rule_alone = dtype == DType::q4_1 || dtype == DType::q5_0 || dtype == DType::q5_1;
        if (rule_alone && quality == EncodeQuality::search) continue;
        const std::vector<float> x = gaussian(256, 0.3f, seed),
                                 y = decoded(dtype, encoded(dtype, x, OutOfRange::saturate, quality));
        double most = 0, error = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          most = std::max(most, std::fabs(double{x[i]}));
          error = std::max(error, std::fabs(double{x[i]} - y[i]));
        }
        EXPECT_LE(error, bound * most) << to_string(dtype) << " seed " << seed << " " << static_cast<int>(quality);
      }
}

TEST(BlockCodec, FixedPointIsHalfAStepOffAtMost) {
  const std::vector<float> x = gaussian(4096, 5, 11);
  const auto expect_within = [&](DType dtype, double half_step) {
    const std::vector<float> y = decoded(dtype, encoded(dtype, x, OutOfRange::refuse));
    for (std::size_t i = 0; i < x.size(); ++i)
      // One more rounding: the decoded value is an f32.
      EXPECT_LE(std::fabs(double{x[i]} - double{y[i]}), half_step + std::fabs(double{x[i]}) * 0x1p-24) << x[i];
  };
  expect_within(DType::fx16_16, 0x1p-17);
  expect_within(DType::fx8_8, 0x1p-9);
}

TEST(BlockCodec, TernaryTakesTheNearestOfThree) {
  const std::vector<float> x = {0.5f, 0.49f, -0.5f, -0.49f, 7, -7, 0, -0.f, 1, -1, 0.6f, -0.6f};
  EXPECT_EQ(decoded(DType::ternary, encoded(DType::ternary, x)),
            (std::vector<float>{1, 0, -1, 0, 1, -1, 0, 0, 1, -1, 1, -1}));
}

TEST(BlockCodec, FixedPointScalesKeepSmallWeights) {
  const auto relative_rms = [](DType dtype, float sigma) {
    const std::vector<float> x = gaussian(32 * 1000, sigma, 7), y = decoded(dtype, encoded(dtype, x));
    double error = 0, total = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      error += std::pow(double{x[i]} - y[i], 2);
      total += std::pow(double{x[i]}, 2);
    }
    return std::sqrt(error / total);
  };
  EXPECT_LT(relative_rms(DType::q8, 0.2f), 0.0056);
  EXPECT_LT(relative_rms(DType::q8, 0.02f), 0.0060);
  EXPECT_LT(relative_rms(DType::q8, 0.002f), 0.0085);
  EXPECT_LT(relative_rms(DType::q8, 0.0005f), 0.019);
  EXPECT_LT(relative_rms(DType::q8_0, 0.0005f), 0.0058);
}

TEST(BlockCodec, DecodedValuesAreFixedPoints) {
  // Where the extreme of a block has a code of its own, encoding what was decoded changes nothing.
  for (const DType dtype : {DType::f16, DType::bf16, DType::f64, DType::fx16_16, DType::fx8_8, DType::q8_0, DType::q4_0,
                            DType::q5_0, DType::ternary, DType::i8, DType::i16, DType::i32, DType::i64})
    for (unsigned seed = 0; seed < 50; ++seed) {
      const std::vector<std::byte> once = encoded(dtype, gaussian(256, 2, seed));
      EXPECT_EQ(encoded(dtype, decoded(dtype, once)), once) << to_string(dtype) << " seed " << seed;
    }
}

TEST(BlockCodec, ZeroBlocksStayZero) {
  const std::vector<float> zeros(256, 0.f);
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.cls == DTypeClass::complex) continue;
    for (const float x : decoded(info.dtype, encoded(info.dtype, zeros))) EXPECT_EQ(x, 0) << info.name;
  }
  EXPECT_EQ(encoded(DType::q4_0, std::vector<float>(32, 0.f))[2], std::byte{0x88});
}

TEST(BlockCodec, TinyMagnitudesNeitherTrapNorExplode) {
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.cls != DTypeClass::block || info.dtype == DType::ternary) continue;
    std::vector<float> tiny(256, 1e-44f);
    tiny[3] = -1e-42f;
    // q8 and q4 hold at least 1/256 as their scale, the others end in f16's subnormals.
    for (const float x : decoded(info.dtype, encoded(info.dtype, tiny))) EXPECT_LE(std::fabs(x), 1e-3f) << info.name;
  }
}

TEST(BlockCodec, NanIsRefusedWhereItHasNoCode) {
  std::vector<float> values(256, 1.f);
  values[77] = std::numeric_limits<float>::quiet_NaN();
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.cls == DTypeClass::complex) continue;
    const bool holds = info.cls == DTypeClass::floating || info.cls == DTypeClass::boolean;
    EXPECT_EQ(code_of(info.dtype, values), holds ? "" : "QuantNaN") << info.name;
  }
  try {
    encoded(DType::q8_0, values);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "element 77");
  }
}

TEST(BlockCodec, ScalesThatDoNotFitAreRefused) {
  std::vector<float> values(256, 0.5f);
  values[40] = std::numeric_limits<float>::infinity();
  for (const DTypeInfo& info : all_dtypes())
    if (info.cls == DTypeClass::block && info.dtype != DType::ternary) {
      EXPECT_EQ(code_of(info.dtype, values), "QuantRange") << info.name;
    }
  values[40] = 32767.f / 256;  // the largest scale of q8 and q4
  EXPECT_EQ(code_of(DType::q8, values), "");
  values[40] = std::nextafter(32767.f / 256, 1e3f);
  EXPECT_EQ(code_of(DType::q8, values), "QuantRange");
  EXPECT_EQ(code_of(DType::q4, values), "QuantRange");
  EXPECT_EQ(code_of(DType::q8_0, values), "");
  values[40] = 9e6f;  // over 127 exceeds the f16 range
  EXPECT_EQ(code_of(DType::q8_0, values), "QuantRange");
}

TEST(BlockCodec, FixedPointSaturatesOrRefuses) {
  const std::vector<float> values = {40000.f, -40000.f, 1.5f / 65536, -1.5f / 65536, std::ldexp(-1.f, 15)};
  EXPECT_EQ(decoded(DType::fx16_16, encoded(DType::fx16_16, values)),
            (std::vector<float>{32768.f, -32768.f, 2.f / 65536, -2.f / 65536, -32768.f}));
  EXPECT_EQ(decoded(DType::fx8_8, encoded(DType::fx8_8, {200.f, -200.f}))[0], 32767.f / 256);
  EXPECT_EQ(code_of(DType::fx16_16, values, OutOfRange::refuse), "QuantRange");
  EXPECT_EQ(code_of(DType::fx16_16, {32767.5f, -32768.f}, OutOfRange::refuse), "");
  EXPECT_EQ(code_of(DType::fx8_8, {127.998f}, OutOfRange::refuse), "");
  EXPECT_EQ(code_of(DType::fx8_8, {127.999f}, OutOfRange::refuse), "QuantRange");
}

TEST(BlockCodec, IntegersSaturateAndInfinitiesToo) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(decoded(DType::i8, encoded(DType::i8, {inf, -inf, 127.5f, -128.5f})),
            (std::vector<float>{127, -128, 127, -128}));
  EXPECT_EQ(decoded(DType::u64, encoded(DType::u64, {inf, -1.f})), (std::vector<float>{0x1p64f, 0}));
  EXPECT_EQ(decoded(DType::i64, encoded(DType::i64, {inf, -inf})), (std::vector<float>{0x1p63f, -0x1p63f}));
}

TEST(BlockCodec, WrongSizesAreRefused) {
  std::vector<float> values(33);
  std::vector<std::byte> bytes(34);
  const auto code = [&](DType dtype) -> std::string {
    try {
      decode_to_f32(dtype, bytes, values);
    } catch (const Error& error) {
      return error.code();
    }
    return "";
  };
  EXPECT_EQ(code(DType::q8_0), "BlockMisaligned");
  EXPECT_EQ(code(DType::f32), "TensorSizeMismatch");
  values.resize(0);
  bytes.resize(0);
  EXPECT_EQ(code(DType::f32), "");
  EXPECT_EQ(code(DType::c64), "DTypeMismatch");
}

}  // namespace
}  // namespace weft
