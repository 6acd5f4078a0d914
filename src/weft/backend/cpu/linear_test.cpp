#include "weft/backend/cpu/linear.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "weft/base/block_codec.h"
#include "weft/base/half.h"

namespace weft::cpu {
namespace {

constexpr DType integer_types[] = {DType::q4_0, DType::q4_1, DType::q5_0,   DType::q5_1, DType::q8_0,
                                   DType::q2_k, DType::q3_k, DType::q4_k,   DType::q5_k, DType::q6_k,
                                   DType::q4,   DType::q8,   DType::ternary};
constexpr DType float_types[] = {DType::f32, DType::f16, DType::bf16, DType::fx16_16, DType::fx8_8};

// Where a block has f16 values.
std::vector<std::size_t> halves_of(DType dtype) {
  switch (dtype) {
    case DType::q4_0:
    case DType::q5_0:
    case DType::q8_0: return {0};
    case DType::q2_k: return {80, 82};
    case DType::q3_k: return {108};
    case DType::q6_k: return {208};
    case DType::q4:
    case DType::q8:
    case DType::ternary:
    case DType::fx16_16:
    case DType::fx8_8: return {};
    default: return {0, 2};
  }
}

// Bytes that an encoder might not write: any codes, scales of both signs and zero, but finite.
Tensor random_weight(DType dtype, std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937 generator(seed);
  Tensor weight = Tensor::allocate(dtype, {rows, columns});
  auto* bytes = reinterpret_cast<std::uint8_t*>(weight.mutable_bytes().data());
  if (is_float(dtype)) {
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    for (float& value : values) value = normal(generator);
    encode_from_f32(dtype, values, weight.mutable_bytes());
    return weight;
  }
  for (std::size_t i = 0; i < weight.byte_size(); ++i) bytes[i] = static_cast<std::uint8_t>(generator());
  const std::size_t block = dtype_info(dtype).block_bytes;
  const std::vector<std::size_t> halves = halves_of(dtype);
  std::uniform_real_distribution<float> scale(-0.1f, 0.1f);
  for (std::size_t at = 0; at < weight.byte_size(); at += block)
    for (const std::size_t half : halves) {
      const std::uint16_t value = f32_to_f16(generator() % 16 == 0 ? 0.f : scale(generator));
      std::memcpy(bytes + at + half, &value, 2);
    }
  return weight;
}

std::vector<float> random_rows(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

// Activations quantized by a level, with the buffer that holds them.
struct Activations {
  std::vector<std::uint64_t> buffer;
  MutableQuantizedRows rows;

  Activations(const LinearKernels& kernels, const std::vector<float>& x, std::int64_t count, std::int64_t columns)
      : buffer(static_cast<std::size_t>(count) * quantized_row_bytes(columns) / 8) {
    rows = quantized_rows(std::as_writable_bytes(std::span(buffer)), count, columns);
    kernels.quantize(x.data(), columns, 0, count, rows);
  }
  float value(std::int64_t row, std::int64_t k) const {
    return rows.scales[row * rows.scale_stride + k / 32] * static_cast<float>(rows.values[row * rows.value_stride + k]);
  }
};

struct Scratch {
  std::vector<std::byte> bytes;
  std::byte* aligned;
  Scratch(const LinearKernels& kernels, std::int64_t rows) : bytes(kernels.scratch_bytes(rows) + 64) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    aligned = bytes.data() + ((address + 63) / 64 * 64 - address);
  }
};

constexpr float untouched = 12345.f;

// All rows in one call, with a y that has room for one more column and keeps it.
std::vector<float> integer_product(const LinearKernels& kernels, const PackedMatrix& weight, const QuantizedRows& x) {
  const std::int64_t stride = weight.rows() + 1;
  std::vector<float> y(static_cast<std::size_t>(x.rows * stride), untouched);
  Scratch scratch(kernels, x.rows);
  kernels.integer(weight, x, 0, weight.panels(), y.data(), stride, scratch.aligned);
  return y;
}
std::vector<float> float_product(const LinearKernels& kernels, const PackedMatrix& weight, const float* x,
                                 std::int64_t rows) {
  const std::int64_t stride = weight.rows() + 1;
  std::vector<float> y(static_cast<std::size_t>(rows * stride), untouched);
  Scratch scratch(kernels, rows);
  kernels.floating(weight, x, weight.columns(), rows, 0, weight.panels(), y.data(), stride, scratch.aligned);
  return y;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// |y - x W^T| <= 1e-6 (|x| |W|^T) per element, in f64; nothing beyond the columns is written.
template <class Value>
void expect_close(const std::vector<float>& y, const Tensor& weight, std::int64_t rows, Value&& x) {
  const Tensor decoded = weight.to_f32();
  const std::int64_t n = weight.dim(0), columns = weight.dim(1);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0, size = 0;
      for (std::int64_t k = 0; k < columns; ++k) {
        const double product = static_cast<double>(decoded.values<float>()[static_cast<std::size_t>(i * columns + k)]) *
                               static_cast<double>(x(r, k));
        sum += product;
        size += std::abs(product);
      }
      const double error = std::abs(static_cast<double>(y[static_cast<std::size_t>(r * (n + 1) + i)]) - sum);
      ASSERT_LE(error, 1e-6 * size + 1e-30) << "row " << r << ", column " << i;
    }
    ASSERT_EQ(y[static_cast<std::size_t>(r * (n + 1) + n)], untouched) << "row " << r;
  }
}

std::string named(DType dtype, CpuLevel level) {
  return std::string(to_string(dtype)) + " " + std::string(to_string(level));
}

std::int64_t block_of(DType dtype) { return dtype == DType::ternary ? 32 : dtype_info(dtype).block; }

TEST(Linear, IntegerTypesMatchDecodedWeightsAtEveryLevel) {
  ThreadPool pool(2);
  for (const DType dtype : integer_types)
    for (const std::int64_t blocks : {1, 3, block_of(dtype) == 32 ? 35 : 5})
      for (const std::int64_t n : {5, 16, 33, 49}) {
        const std::int64_t columns = blocks * block_of(dtype);
        const Tensor weight = random_weight(dtype, n, columns, static_cast<unsigned>(n + blocks));
        const PackedMatrix packed = PackedMatrix::pack(weight, pool);
        const std::vector<float> x = random_rows(17 * columns, 7);
        const Activations reference(linear_kernels(CpuLevel::portable), x, 17, columns);
        const std::vector<float> all = integer_product(linear_kernels(CpuLevel::portable), packed, reference.rows);
        expect_close(all, weight, 17, [&](std::int64_t r, std::int64_t k) { return reference.value(r, k); });
        for (const CpuLevel level : supported_cpu_levels()) {
          SCOPED_TRACE(named(dtype, level) + " " + std::to_string(n) + " x " + std::to_string(columns));
          const LinearKernels& kernels = linear_kernels(level);
          const Activations own(kernels, x, 17, columns);
          ASSERT_EQ(own.buffer, reference.buffer);
          for (std::int64_t rows = 1; rows <= 17; ++rows) {
            const QuantizedRows part = QuantizedRows(own.rows).from_row(0, rows);
            const std::vector<float> expected(all.begin(), all.begin() + rows * (n + 1));
            ASSERT_TRUE(same_bits(integer_product(kernels, packed, part), expected)) << rows << " rows";
          }
          const QuantizedRows last = QuantizedRows(own.rows).from_row(16, 1);
          ASSERT_TRUE(same_bits(integer_product(kernels, packed, last), {all.begin() + 16 * (n + 1), all.end()}));
        }
      }
}

TEST(Linear, FloatTypesMatchAtEveryLevel) {
  ThreadPool pool(2);
  for (const DType dtype : float_types)
    for (const std::int64_t columns : {1, 31, 64, 257, 600})
      for (const std::int64_t n : {3, 16, 83}) {
        const Tensor weight = random_weight(dtype, n, columns, static_cast<unsigned>(n + columns));
        const PackedMatrix packed = PackedMatrix::pack(weight, pool);
        const std::vector<float> x = random_rows(17 * columns, 9);
        const std::vector<float> all = float_product(linear_kernels(CpuLevel::portable), packed, x.data(), 17);
        expect_close(all, weight, 17,
                     [&](std::int64_t r, std::int64_t k) { return x[static_cast<std::size_t>(r * columns + k)]; });
        for (const CpuLevel level : supported_cpu_levels())
          for (std::int64_t rows = 1; rows <= 17; ++rows) {
            const std::vector<float> expected(all.begin(), all.begin() + rows * (n + 1));
            ASSERT_TRUE(same_bits(float_product(linear_kernels(level), packed, x.data(), rows), expected))
                << named(dtype, level) << " " << n << " x " << columns << ", " << rows << " rows";
          }
      }
}

// A part of the panels writes its columns and no others.
TEST(Linear, PanelRanges) {
  ThreadPool pool(1);
  for (const CpuLevel level : supported_cpu_levels()) {
    const LinearKernels& kernels = linear_kernels(level);
    for (const DType dtype : {DType::q4_0, DType::f16}) {
      const std::int64_t n = 120, columns = 96, rows = 7;
      const PackedMatrix packed = PackedMatrix::pack(random_weight(dtype, n, columns, 3), pool);
      const std::vector<float> x = random_rows(rows * columns, 5);
      const Activations quantized(kernels, x, rows, columns);
      const Scratch scratch(kernels, rows);
      const auto run = [&](std::int64_t count, std::int64_t first, std::int64_t last, float* y) {
        if (packed.integer())
          kernels.integer(packed, QuantizedRows(quantized.rows).from_row(0, count), first, last, y, n, scratch.aligned);
        else
          kernels.floating(packed, x.data(), columns, count, first, last, y, n, scratch.aligned);
      };
      for (const std::int64_t count : {1, 7}) {
        std::vector<float> all(static_cast<std::size_t>(count * n)), parts(all.size(), untouched);
        run(count, 0, packed.panels(), all.data());
        run(count, 3, 6, parts.data());
        for (std::int64_t i = 0; i < count * n; ++i) {
          const bool inside = i % n >= 48 && i % n < 96;
          const auto at = static_cast<std::size_t>(i);
          ASSERT_EQ(parts[at], inside ? all[at] : untouched) << named(dtype, level) << " " << i;
        }
      }
    }
  }
}

// The largest codes against the largest activations: nothing saturates.
TEST(Linear, ExtremeCodes) {
  ThreadPool pool(1);
  for (const DType dtype : integer_types)
    for (const int fill : {0x00, 0x7F, 0x80, 0xFF}) {
      const std::int64_t n = 20, columns = 256;
      Tensor weight = random_weight(dtype, n, columns, 1);
      // Codes and scales to one byte; a f16 scale of 0x7FFF or 0xFFFF would be NaN, so the high bytes of those get
      // 0x80.
      auto* bytes = reinterpret_cast<std::uint8_t*>(weight.mutable_bytes().data());
      const Tensor random = random_weight(dtype, n, columns, 2);
      for (std::size_t i = 0; i < weight.byte_size(); ++i) bytes[i] = static_cast<std::uint8_t>(fill);
      const std::size_t block = dtype_info(dtype).block_bytes;
      for (std::size_t at = 0; at < weight.byte_size(); at += block) {
        for (const std::size_t half : halves_of(dtype))
          std::memcpy(bytes + at + half, random.bytes().data() + at + half, 2);
      }
      const PackedMatrix packed = PackedMatrix::pack(weight, pool);
      std::vector<float> x(8 * columns);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t row = i / columns;
        x[i] = row % 4 == 0   ? 1.f
               : row % 4 == 1 ? -1.f
               : row % 4 == 2 ? (i % 2 == 0 ? 1.f : -1.f)
                              : (i % 4 < 2 ? 1.f : -1.f);
      }
      for (const CpuLevel level : supported_cpu_levels()) {
        SCOPED_TRACE(named(dtype, level) + " of " + std::to_string(fill));
        const LinearKernels& kernels = linear_kernels(level);
        const Activations own(kernels, x, 8, columns);
        const auto value = [&](std::int64_t r, std::int64_t k) { return own.value(r, k); };
        expect_close(integer_product(kernels, packed, own.rows), weight, 8, value);
        expect_close(integer_product(kernels, packed, QuantizedRows(own.rows).from_row(0, 2)), weight, 2, value);
      }
    }
}

TEST(Linear, Quantize) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x = random_rows(10 * 32, 4);
  const auto block = [&](int index) { return std::span(x).subspan(static_cast<std::size_t>(32 * index), 32); };
  for (float& value : block(1)) value = 0;
  block(2)[5] = infinity;
  block(3)[9] = nan;
  for (float& value : block(4)) value *= 1e-40f;
  for (float& value : block(5)) value *= 1e36f;
  for (int i = 0; i < 32; ++i) block(6)[static_cast<std::size_t>(i)] = static_cast<float>(i) - 15.5f;  // halves
  block(6)[0] = 127;
  for (const CpuLevel level : supported_cpu_levels()) {
    SCOPED_TRACE(to_string(level));
    const Activations own(linear_kernels(level), x, 1, 320);
    for (int b = 0; b < 10; ++b) {
      float most = 0;
      for (const float value : block(b)) most = std::max(most, std::abs(value));
      const float scale = own.rows.scales[b];
      if (b == 2 || b == 3) {
        EXPECT_FALSE(std::isfinite(scale)) << b;
        EXPECT_TRUE(std::isnan(own.value(0, 32 * b))) << b;
        continue;
      }
      EXPECT_EQ(scale, b == 4 ? 0.f : most / 127.f) << b;
      std::int32_t sums[2] = {0, 0};
      for (int i = 0; i < 32; ++i) {
        const int code = own.rows.values[32 * b + i];
        sums[i / 16] += code;
        const float scaled = scale == 0 ? 0 : block(b)[static_cast<std::size_t>(i)] * (127.f / most);
        EXPECT_EQ(code, std::nearbyint(scaled)) << b << " " << i;
      }
      EXPECT_EQ(own.rows.sums[2 * b], sums[0]) << b;
      EXPECT_EQ(own.rows.sums[2 * b + 1], sums[1]) << b;
    }
  }
}

}  // namespace
}  // namespace weft::cpu
