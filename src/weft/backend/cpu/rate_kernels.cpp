#include "weft/backend/cpu/rate_kernels.h"

#include <array>

#include "weft/base/target.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

// In the sections for newer CPUs stand loops over intrinsics and nothing else. Empty assembly hides the operands from
// the compiler, which would otherwise see that all sums of a loop are equal and keep one.
namespace weft::cpu {
namespace {

volatile float sink;  // what is added up here has to be computed

using Floats4 __attribute__((vector_size(16))) = float;

std::int64_t f32_portable(std::int64_t steps) {
  constexpr int chains = 12;
  Floats4 sums[chains];
  for (int c = 0; c < chains; ++c) sums[c] = Floats4{} + static_cast<float>(c);
  const Floats4 a = {0.5f, 0.25f, 0.125f, 1.0f}, b = {1e-3f, 1e-3f, 1e-3f, 1e-3f};
  for (std::int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c) sums[c] = sums[c] * a + b;
  }
  float total = 0;
  for (const Floats4& sum : sums) total += sum[0];
  sink = total;
  return steps * chains * 4 * 2;
}

#ifdef __x86_64__

WEFT_BEGIN_TARGET("avx2,fma,f16c")

std::int64_t f32_avx2(std::int64_t steps) {
  constexpr int chains = 12;
  __m256 sums[chains];
#pragma GCC unroll 12
  for (int c = 0; c < chains; ++c) {
    sums[c] = _mm256_setzero_ps();
    __asm__ volatile("" : "+x"(sums[c]));
  }
  __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(1e-3f);
  for (std::int64_t i = 0; i < steps; ++i) {
    __asm__ volatile("" : "+x"(a), "+x"(b));
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c) sums[c] = _mm256_fmadd_ps(a, b, sums[c]);
  }
  float total = 0;
#pragma GCC unroll 12
  for (int c = 0; c < chains; ++c) total += _mm256_cvtss_f32(sums[c]);
  sink = total;
  return steps * chains * 8 * 2;
}

std::int64_t int8_avx2(std::int64_t steps) {
  constexpr int chains = 8;
  __m256i sums[chains];
#pragma GCC unroll 8
  for (int c = 0; c < chains; ++c) {
    sums[c] = _mm256_setzero_si256();
    __asm__ volatile("" : "+x"(sums[c]));
  }
  __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5), ones = _mm256_set1_epi16(1);
  for (std::int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 8
    for (int c = 0; c < chains; ++c) {
      __asm__ volatile("" : "+x"(a), "+x"(b));
      sums[c] = _mm256_add_epi32(sums[c], _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    }
  }
  int total = 0;
#pragma GCC unroll 8
  for (int c = 0; c < chains; ++c) total ^= _mm256_cvtsi256_si32(sums[c]);
  sink = static_cast<float>(total);
  return steps * chains * 32 * 2;
}

WEFT_END_TARGET
WEFT_BEGIN_TARGET("avx2,fma,f16c,avxvnni")

std::int64_t int8_avx_vnni(std::int64_t steps) {
  constexpr int chains = 12;
  __m256i sums[chains];
#pragma GCC unroll 12
  for (int c = 0; c < chains; ++c) {
    sums[c] = _mm256_setzero_si256();
    __asm__ volatile("" : "+x"(sums[c]));
  }
  __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5);
  for (std::int64_t i = 0; i < steps; ++i) {
    __asm__ volatile("" : "+x"(a), "+x"(b));
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c) sums[c] = _mm256_dpbusd_avx_epi32(sums[c], a, b);
  }
  int total = 0;
#pragma GCC unroll 12
  for (int c = 0; c < chains; ++c) total ^= _mm256_cvtsi256_si32(sums[c]);
  sink = static_cast<float>(total);
  return steps * chains * 32 * 2;
}

WEFT_END_TARGET
WEFT_BEGIN_TARGET("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16")

std::int64_t f32_avx512(std::int64_t steps) {
  constexpr int chains = 16;
  __m512 sums[chains];
#pragma GCC unroll 16
  for (int c = 0; c < chains; ++c) {
    sums[c] = _mm512_setzero_ps();
    __asm__ volatile("" : "+v"(sums[c]));
  }
  __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(1e-3f);
  for (std::int64_t i = 0; i < steps; ++i) {
    __asm__ volatile("" : "+v"(a), "+v"(b));
#pragma GCC unroll 16
    for (int c = 0; c < chains; ++c) sums[c] = _mm512_fmadd_ps(a, b, sums[c]);
  }
  float total = 0;
#pragma GCC unroll 16
  for (int c = 0; c < chains; ++c) total += _mm512_cvtss_f32(sums[c]);
  sink = total;
  return steps * chains * 16 * 2;
}

std::int64_t int8_avx512(std::int64_t steps) {
  constexpr int chains = 16;
  __m512i sums[chains];
#pragma GCC unroll 16
  for (int c = 0; c < chains; ++c) {
    sums[c] = _mm512_setzero_si512();
    __asm__ volatile("" : "+v"(sums[c]));
  }
  __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5), ones = _mm512_set1_epi16(1);
  for (std::int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < chains; ++c) {
      __asm__ volatile("" : "+v"(a), "+v"(b));
      sums[c] = _mm512_add_epi32(sums[c], _mm512_madd_epi16(_mm512_maddubs_epi16(a, b), ones));
    }
  }
  int total = 0;
#pragma GCC unroll 16
  for (int c = 0; c < chains; ++c) total ^= _mm512_cvtsi512_si32(sums[c]);
  sink = static_cast<float>(total);
  return steps * chains * 64 * 2;
}

std::int64_t int8_avx512_vnni(std::int64_t steps) {
  constexpr int chains = 16;
  __m512i sums[chains];
#pragma GCC unroll 16
  for (int c = 0; c < chains; ++c) {
    sums[c] = _mm512_setzero_si512();
    __asm__ volatile("" : "+v"(sums[c]));
  }
  __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
  for (std::int64_t i = 0; i < steps; ++i) {
    __asm__ volatile("" : "+v"(a), "+v"(b));
#pragma GCC unroll 16
    for (int c = 0; c < chains; ++c) sums[c] = _mm512_dpbusd_epi32(sums[c], a, b);
  }
  int total = 0;
#pragma GCC unroll 16
  for (int c = 0; c < chains; ++c) total ^= _mm512_cvtsi512_si32(sums[c]);
  sink = static_cast<float>(total);
  return steps * chains * 64 * 2;
}

std::int64_t bf16_avx512(std::int64_t steps) {
  constexpr int chains = 16;
  __m512 sums[chains];
#pragma GCC unroll 16
  for (int c = 0; c < chains; ++c) {
    sums[c] = _mm512_setzero_ps();
    __asm__ volatile("" : "+v"(sums[c]));
  }
  __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5f), _mm512_set1_ps(0.25f)), b = a;
  for (std::int64_t i = 0; i < steps; ++i) {
    __asm__ volatile("" : "+v"(a), "+v"(b));
#pragma GCC unroll 16
    for (int c = 0; c < chains; ++c) sums[c] = _mm512_dpbf16_ps(sums[c], a, b);
  }
  float total = 0;
#pragma GCC unroll 16
  for (int c = 0; c < chains; ++c) total += _mm512_cvtss_f32(sums[c]);
  sink = total;
  return steps * chains * 32 * 2;
}

WEFT_END_TARGET
WEFT_BEGIN_TARGET("amx-tile,amx-int8,amx-bf16")

// Palette 1: eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Sums in tiles 0 to 3, operands in 4 to 7: the shape of a real kernel, whose loads come on top.
std::int64_t int8_amx(std::int64_t steps) {
  const TileConfig config;
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (std::int64_t i = 0; i < steps; ++i) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  _tile_release();
  return steps * 4 * 16 * 16 * 64 * 2;
}

std::int64_t bf16_amx(std::int64_t steps) {
  const TileConfig config;
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (std::int64_t i = 0; i < steps; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
  return steps * 4 * 16 * 16 * 32 * 2;
}

WEFT_END_TARGET

constexpr std::array kernels = {
    RateKernel{CpuLevel::portable, RateKind::f32, nullptr, f32_portable},
    RateKernel{CpuLevel::avx2, RateKind::f32, nullptr, f32_avx2},
    RateKernel{CpuLevel::avx2, RateKind::int8, nullptr, int8_avx2},
    RateKernel{CpuLevel::avx_vnni, RateKind::int8, nullptr, int8_avx_vnni},
    RateKernel{CpuLevel::avx512, RateKind::f32, nullptr, f32_avx512},
    RateKernel{CpuLevel::avx512, RateKind::int8, nullptr, int8_avx512},
    RateKernel{CpuLevel::avx512_vnni, RateKind::int8, nullptr, int8_avx512_vnni},
    RateKernel{CpuLevel::avx512_vnni, RateKind::bf16, "avx512_bf16", bf16_avx512},
    RateKernel{CpuLevel::amx, RateKind::int8, nullptr, int8_amx},
    RateKernel{CpuLevel::amx, RateKind::bf16, nullptr, bf16_amx},
};

#else

constexpr std::array kernels = {RateKernel{CpuLevel::portable, RateKind::f32, nullptr, f32_portable}};

#endif

}  // namespace

std::span<const RateKernel> rate_kernels() { return kernels; }

}  // namespace weft::cpu
