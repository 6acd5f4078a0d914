// The algorithm of the AMX level on an emulated tile unit, on any CPU with AVX-512 VNNI.
#if defined(__x86_64__)
#include <gtest/gtest.h>
#include <immintrin.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "weft/backend/cpu/linear_levels.h"
#include "weft/backend/cpu/packed_layout.h"
#include "weft/base/block_codec.h"
#include "weft/base/target.h"

WEFT_BEGIN_TARGET("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#include "weft/backend/cpu/linear_amx-inl.h"

namespace weft::cpu {
namespace {

// What the instructions do, by their descriptions; a use before configure, after release or of a tile that holds
// nothing counts as misuse.
struct EmulatedUnit {
  static inline int misuses = 0;
  int depth = 0;
  bool has_a[2] = {}, has_b[2] = {}, has_c[4] = {};
  std::int8_t a[2][16][64], b[2][16][64];
  std::int32_t c[4][16][16];

  void check(bool right) { misuses += right ? 0 : 1; }
  void configure(int bytes) { depth = bytes; }
  void release() { depth = 0; }
  template <int i>
  void load_a(const std::int8_t* rows, std::int64_t stride) {
    check(depth > 0);
    for (int r = 0; r < 16; ++r) std::memcpy(a[i][r], rows + r * stride, static_cast<std::size_t>(depth));
    has_a[i] = true;
  }
  template <int j>
  void load_b(const std::uint8_t* groups) {
    check(depth > 0);
    for (int r = 0; r < depth / 4; ++r) std::memcpy(b[j][r], groups + 64 * r, 64);
    has_b[j] = true;
  }
  template <int t>
  void zero() {
    std::memset(c[t], 0, sizeof(c[t]));
    has_c[t] = true;
  }
  template <int t, int i, int j>
  void dot() {
    check(has_a[i] && has_b[j] && has_c[t]);
    for (int m = 0; m < 16; ++m)
      for (int k = 0; k < depth; ++k)
        for (int n = 0; n < 16; ++n) c[t][m][n] += a[i][m][k] * b[j][k / 4][4 * n + k % 4];
  }
  template <int t>
  void store(std::int32_t* sums, std::int64_t stride) {
    check(has_c[t]);
    for (int m = 0; m < 16; ++m) std::memcpy(reinterpret_cast<std::byte*>(sums) + m * stride, c[t][m], 64);
  }
};

constexpr LinearKernels emulated = AmxLinear<EmulatedUnit>::kernels();

}  // namespace
WEFT_END_TARGET

namespace {

struct FreeBytes {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
using AlignedBytes = std::unique_ptr<std::byte, FreeBytes>;
AlignedBytes aligned(std::size_t size) {
  return AlignedBytes(static_cast<std::byte*>(std::aligned_alloc(64, (size + 63) / 64 * 64)));
}

std::vector<float> product(const LinearKernels& kernels, const PackedMatrix& weight, const QuantizedRows& x) {
  const AlignedBytes scratch = aligned(kernels.scratch_bytes(x.rows));
  std::vector<float> y(static_cast<std::size_t>(x.rows * weight.rows()));
  kernels.integer(weight, x, 0, weight.panels(), y.data(), weight.rows(), scratch.get());
  return y;
}

TEST(LinearAmx, EmulatedTilesGiveTheBitsOfEveryLevel) {
  if (!cpu_supports(CpuLevel::avx512_vnni)) GTEST_SKIP() << "no AVX-512 VNNI";
  ThreadPool pool(1);
  std::mt19937 generator(6);
  std::normal_distribution<float> normal(0, 1);
  EmulatedUnit::misuses = 0;
  for (const DType dtype : {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0, DType::q2_k, DType::q3_k,
                            DType::q4_k, DType::q5_k, DType::q6_k, DType::q4, DType::q8, DType::ternary})
    for (const std::int64_t columns : {256, 768})
      for (const std::int64_t n : {16, 45}) {
        std::vector<float> values(static_cast<std::size_t>(n * columns)), x(static_cast<std::size_t>(67 * columns));
        for (float& value : values) value = normal(generator);
        for (float& value : x) value = normal(generator);
        Tensor weight = Tensor::allocate(dtype, {n, columns});
        encode_from_f32(dtype, values, weight.mutable_bytes());
        if (dtype == DType::q8_0) weight.mutable_bytes()[2] = std::byte{0x80};  // a code of -128
        const PackedMatrix packed = PackedMatrix::pack(weight, pool);
        const std::size_t size = 67 * quantized_row_bytes(columns);
        const AlignedBytes buffer = aligned(size);
        const MutableQuantizedRows rows = quantized_rows({buffer.get(), size}, 67, columns);
        emulated.quantize(x.data(), columns, 0, 67, rows);
        for (const std::int64_t count : {1, 16, 17, 32, 48, 67}) {
          const QuantizedRows part = QuantizedRows(rows).from_row(0, count);
          const std::vector<float> expected = product(linear_kernels(CpuLevel::portable), packed, part);
          const std::vector<float> got = product(emulated, packed, part);
          ASSERT_EQ(std::memcmp(expected.data(), got.data(), expected.size() * sizeof(float)), 0)
              << to_string(dtype) << " " << n << " x " << columns << ", " << count << " rows";
        }
      }
  EXPECT_EQ(EmulatedUnit::misuses, 0);
}

}  // namespace
}  // namespace weft::cpu
#endif
