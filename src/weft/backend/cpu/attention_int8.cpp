// Scores of int8 queries against q8_0 key panels, for AVX2, AVX-VNNI and AVX-512 VNNI. The integer sums of 32 products
// are exact; the float sum over the blocks is in ascending order, the same at every level.
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "weft/backend/cpu/attention_kernels.h"
#include "weft/base/target.h"

namespace weft::cpu {
namespace {

constexpr std::int64_t groups = 8;  // of 4 dims in a block
constexpr std::int64_t codes_bytes = 512, key_block_bytes = codes_bytes + 32;

const std::byte* panel_of(const QuantizedQueries& q, KvBlocks keys, std::int64_t p) {
  return keys.data + p / block_panels * keys.stride + p % block_panels * q.blocks * key_block_bytes;
}

// Four codes as one number, to be broadcast.
inline std::int32_t four_codes(const std::int8_t* codes) {
  std::int32_t word;
  std::memcpy(&word, codes, sizeof(word));
  return word;
}

}  // namespace

WEFT_BEGIN_TARGET("avx2,fma,f16c")
namespace {

// sum + four products each, of key codes with their offset and query codes.
inline __m256i multiply_add(__m256i sum, __m256i keys, __m256i q) {
  const __m256i plain = _mm256_xor_si256(keys, _mm256_set1_epi8(-128));
  // |key| times q with the key's sign: two products stay below 2^15.
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(plain), _mm256_sign_epi8(q, plain));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

// R rows against the 16 keys of a panel, in two halves.
template <int R>
inline void tile_256(const QuantizedQueries& q, std::int64_t row, const std::byte* panel, float* out) {
  __m256 total[R][2];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) total[r][0] = total[r][1] = _mm256_setzero_ps();
  for (std::int64_t b = 0; b < q.blocks; ++b, panel += key_block_bytes) {
    __m256i sums[R][2];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sums[r][0] = sums[r][1] = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int group = 0; group < groups; ++group) {
      const auto* at = reinterpret_cast<const __m256i*>(panel + group * 64);
      const __m256i first = _mm256_loadu_si256(at), second = _mm256_loadu_si256(at + 1);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const __m256i codes = _mm256_set1_epi32(four_codes(q.codes + ((row + r) * q.blocks + b) * 32 + group * 4));
        sums[r][0] = multiply_add(sums[r][0], first, codes);
        sums[r][1] = multiply_add(sums[r][1], second, codes);
      }
    }
    const auto* scales = reinterpret_cast<const __m128i*>(panel + codes_bytes);
    const __m256 first = _mm256_cvtph_ps(_mm_loadu_si128(scales)),
                 second = _mm256_cvtph_ps(_mm_loadu_si128(scales + 1));
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const __m256 scale = _mm256_set1_ps(q.scales[(row + r) * q.blocks + b]);
      total[r][0] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[r][0]), _mm256_mul_ps(first, scale), total[r][0]);
      total[r][1] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[r][1]), _mm256_mul_ps(second, scale), total[r][1]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    _mm256_storeu_ps(out + r * chunk_keys, total[r][0]);
    _mm256_storeu_ps(out + r * chunk_keys + 8, total[r][1]);
  }
}

}  // namespace

void int8_scores_avx2(const QuantizedQueries& q, std::int64_t rows, KvBlocks keys, std::int64_t first,
                      std::int64_t last, float* scores) {
  for (std::int64_t p = first; p < last; ++p) {
    const std::byte* panel = panel_of(q, keys, p);
    std::int64_t r = 0;
    for (; r + 2 <= rows; r += 2) tile_256<2>(q, r, panel, scores + r * chunk_keys + p * 16);
    if (r < rows) tile_256<1>(q, r, panel, scores + r * chunk_keys + p * 16);
  }
}
WEFT_END_TARGET

WEFT_BEGIN_TARGET("avx2,fma,f16c,avxvnni")
namespace {

template <int R>
inline void tile_vnni(const QuantizedQueries& q, std::int64_t row, const std::byte* panel, float* out) {
  __m256 total[R][2];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) total[r][0] = total[r][1] = _mm256_setzero_ps();
  for (std::int64_t b = 0; b < q.blocks; ++b, panel += key_block_bytes) {
    __m256i sums[R][2];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sums[r][0] = sums[r][1] = _mm256_set1_epi32(q.sums[(row + r) * q.blocks + b]);
#pragma GCC unroll 8
    for (int group = 0; group < groups; ++group) {
      const auto* at = reinterpret_cast<const __m256i*>(panel + group * 64);
      const __m256i first = _mm256_loadu_si256(at), second = _mm256_loadu_si256(at + 1);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const __m256i codes = _mm256_set1_epi32(four_codes(q.codes + ((row + r) * q.blocks + b) * 32 + group * 4));
        sums[r][0] = _mm256_dpbusd_avx_epi32(sums[r][0], first, codes);
        sums[r][1] = _mm256_dpbusd_avx_epi32(sums[r][1], second, codes);
      }
    }
    const auto* scales = reinterpret_cast<const __m128i*>(panel + codes_bytes);
    const __m256 first = _mm256_cvtph_ps(_mm_loadu_si128(scales)),
                 second = _mm256_cvtph_ps(_mm_loadu_si128(scales + 1));
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const __m256 scale = _mm256_set1_ps(q.scales[(row + r) * q.blocks + b]);
      total[r][0] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[r][0]), _mm256_mul_ps(first, scale), total[r][0]);
      total[r][1] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[r][1]), _mm256_mul_ps(second, scale), total[r][1]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    _mm256_storeu_ps(out + r * chunk_keys, total[r][0]);
    _mm256_storeu_ps(out + r * chunk_keys + 8, total[r][1]);
  }
}

}  // namespace

void int8_scores_avx_vnni(const QuantizedQueries& q, std::int64_t rows, KvBlocks keys, std::int64_t first,
                          std::int64_t last, float* scores) {
  for (std::int64_t p = first; p < last; ++p) {
    const std::byte* panel = panel_of(q, keys, p);
    std::int64_t r = 0;
    for (; r + 2 <= rows; r += 2) tile_vnni<2>(q, r, panel, scores + r * chunk_keys + p * 16);
    if (r < rows) tile_vnni<1>(q, r, panel, scores + r * chunk_keys + p * 16);
  }
}
WEFT_END_TARGET

WEFT_BEGIN_TARGET("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma,f16c")
namespace {

template <int R, int P>
inline void tile_512(const QuantizedQueries& q, std::int64_t row, const std::byte* panels, std::int64_t stride,
                     float* out, std::int64_t out_stride) {
  __m512 total[R][P];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) total[r][p] = _mm512_setzero_ps();
  for (std::int64_t b = 0; b < q.blocks; ++b, panels += key_block_bytes) {
    __m512i sums[R][P];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) sums[r][p] = _mm512_set1_epi32(q.sums[(row + r) * q.blocks + b]);
#pragma GCC unroll 8
    for (int group = 0; group < groups; ++group) {
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) __builtin_prefetch(panels + p * stride + group * 64 + ahead_bytes);
      __m512i keys[P];
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) keys[p] = _mm512_loadu_si512(panels + p * stride + group * 64);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const __m512i codes = _mm512_set1_epi32(four_codes(q.codes + ((row + r) * q.blocks + b) * 32 + group * 4));
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) sums[r][p] = _mm512_dpbusd_epi32(sums[r][p], keys[p], codes);
      }
    }
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const __m512 scales =
          _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(panels + p * stride + codes_bytes)));
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r)
        total[r][p] =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[r][p]),
                            _mm512_mul_ps(scales, _mm512_set1_ps(q.scales[(row + r) * q.blocks + b])), total[r][p]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) _mm512_storeu_ps(out + r * chunk_keys + p * out_stride, total[r][p]);
}

template <int P>
inline void panels_512(const QuantizedQueries& q, std::int64_t rows, const std::byte* panels, std::int64_t stride,
                       float* scores) {
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) tile_512<4, P>(q, r, panels, stride, scores + r * chunk_keys, block_keys);
  for (; r + 2 <= rows; r += 2) tile_512<2, P>(q, r, panels, stride, scores + r * chunk_keys, block_keys);
  if (r < rows) tile_512<1, P>(q, r, panels, stride, scores + r * chunk_keys, block_keys);
}

// As many blocks side by side as there are, at most S at a time.
template <int S>
inline void blocks_512(const QuantizedQueries& q, std::int64_t rows, const std::byte* blocks, std::int64_t stride,
                       std::int64_t count, float* scores) {
  for (; count >= S; count -= S, blocks += S * stride, scores += S * block_keys)
    for (std::int64_t p = 0; p < block_panels; ++p)
      panels_512<S>(q, rows, blocks + p * q.blocks * key_block_bytes, stride, scores + p * 16);
  if constexpr (S > 1) blocks_512<S / 2>(q, rows, blocks, stride, count, scores);
}

}  // namespace

void int8_scores_avx512_vnni(const QuantizedQueries& q, std::int64_t rows, KvBlocks keys, std::int64_t first,
                             std::int64_t last, float* scores) {
  const auto single = [&](std::int64_t p) __attribute__((always_inline)) {
    panels_512<1>(q, rows, panel_of(q, keys, p), 0, scores + p * 16);
  };
  for (; first < last && first % block_panels != 0; ++first) single(first);
  const std::int64_t block = first / block_panels, blocks = std::max<std::int64_t>(last / block_panels - block, 0);
  blocks_512<4>(q, rows, keys.data + block * keys.stride, keys.stride, blocks, scores + block * block_keys);
  for (first += blocks * block_panels; first < last; ++first) single(first);
}
WEFT_END_TARGET

}  // namespace weft::cpu

#endif
