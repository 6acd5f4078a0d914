// The operations of AVX2 with FMA and F16C for the linear kernels, all but the dot product: sixteen lanes are two
// vectors. Included inside the target of a level, after linear_levels.h and <immintrin.h>.
#pragma once

#include "weft/backend/cpu/packed_codes-inl.h"

namespace weft::cpu {
namespace {

struct Avx2Halves {
  struct F {
    __m256 low, high;
  };
  struct I {
    __m256i low, high;
  };
  using U8 = I;

  static constexpr int tile_panels = 1, tile_rows = 4, float_rows = 6, row_panels = 4, direct_rows = 1;
  static constexpr int prefetch_distance = 2048;

  static WEFT_INLINE __m256i load256(const void* in) { return _mm256_loadu_si256(static_cast<const __m256i*>(in)); }
  static WEFT_INLINE U8 load(Bytes in) { return {load256(in), load256(in + 32)}; }
  static WEFT_INLINE void store(std::uint8_t* out, const U8& v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), v.low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 32), v.high);
  }
  template <int right>
  static WEFT_INLINE __m256i pick256(__m256i v, int mask) {
    if constexpr (right > 0) v = _mm256_srli_epi16(v, right);
    if constexpr (right < 0) v = _mm256_slli_epi16(v, -right);
    return _mm256_and_si256(v, _mm256_set1_epi8(static_cast<char>(mask)));
  }
  template <int right>
  static WEFT_INLINE U8 pick(const U8& v, int mask) {
    return {pick256<right>(v.low, mask), pick256<right>(v.high, mask)};
  }
  static WEFT_INLINE U8 shift(const U8& v, int right) {
    const __m128i by = _mm_cvtsi32_si128(right);
    return {_mm256_srl_epi32(v.low, by), _mm256_srl_epi32(v.high, by)};
  }
  static WEFT_INLINE U8 merge(const U8& a, const U8& b) {
    return {_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)};
  }

  static WEFT_INLINE __m128i eight_halves(Bytes in) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(in)); }
  static WEFT_INLINE __m128i eight_bytes(Bytes in) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in)); }
  static WEFT_INLINE F f16(Bytes in) {
    return {_mm256_cvtph_ps(eight_halves(in)), _mm256_cvtph_ps(eight_halves(in + 16))};
  }
  static WEFT_INLINE __m256 widened_bf16(Bytes in) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(eight_halves(in)), 16));
  }
  static WEFT_INLINE F bf16(Bytes in) { return {widened_bf16(in), widened_bf16(in + 16)}; }
  static WEFT_INLINE F i16(Bytes in) {
    return to_float({_mm256_cvtepi16_epi32(eight_halves(in)), _mm256_cvtepi16_epi32(eight_halves(in + 16))});
  }
  static WEFT_INLINE F i32(Bytes in) { return to_float(load(in)); }
  static WEFT_INLINE I widened(Bytes in) {
    return {_mm256_cvtepu8_epi32(eight_bytes(in)), _mm256_cvtepu8_epi32(eight_bytes(in + 8))};
  }
  static WEFT_INLINE F u8(Bytes in) { return to_float(widened(in)); }
  static WEFT_INLINE F i8(Bytes in) {
    return to_float({_mm256_cvtepi8_epi32(eight_bytes(in)), _mm256_cvtepi8_epi32(eight_bytes(in + 8))});
  }
  static WEFT_INLINE F u4(Bytes in, int right) {
    const I bytes = widened(in);
    if (right != 0) return to_float({_mm256_srli_epi32(bytes.low, 4), _mm256_srli_epi32(bytes.high, 4)});
    const __m256i mask = _mm256_set1_epi32(15);
    return to_float({_mm256_and_si256(bytes.low, mask), _mm256_and_si256(bytes.high, mask)});
  }

  static WEFT_INLINE F set(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
  static WEFT_INLINE F mul(const F& a, const F& b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  static WEFT_INLINE F negate(const F& a) {
    const __m256 sign = _mm256_set1_ps(-0.f);
    return {_mm256_xor_ps(a.low, sign), _mm256_xor_ps(a.high, sign)};
  }
  static WEFT_INLINE F fma(const F& a, const F& b, const F& c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static WEFT_INLINE F load_f(const float* in) { return {_mm256_loadu_ps(in), _mm256_loadu_ps(in + 8)}; }
  static WEFT_INLINE void store_f(float* out, const F& v) {
    _mm256_storeu_ps(out, v.low);
    _mm256_storeu_ps(out + 8, v.high);
  }
  static WEFT_INLINE __m256i first(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static WEFT_INLINE F load_lanes(const float* in, int count) {
    return {_mm256_maskload_ps(in, first(count)), _mm256_maskload_ps(in + 8, first(count - 8))};
  }
  static WEFT_INLINE void store_lanes(float* out, const F& v, int count) {
    _mm256_maskstore_ps(out, first(count), v.low);
    _mm256_maskstore_ps(out + 8, first(count - 8), v.high);
  }

  static WEFT_INLINE I seti(std::int32_t value) { return {_mm256_set1_epi32(value), _mm256_set1_epi32(value)}; }
  static WEFT_INLINE F to_float(const I& a) { return {_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)}; }
  static WEFT_INLINE __m256i quad(const std::int8_t* in) {
    std::int32_t four;
    std::memcpy(&four, in, 4);
    return _mm256_set1_epi32(four);
  }

  template <class Combine>
  static WEFT_INLINE std::int32_t reduce(__m256i v, Combine&& combine) {
    __m128i part = combine(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    part = combine(part, _mm_shuffle_epi32(part, 0x4E));
    part = combine(part, _mm_shuffle_epi32(part, 0xB1));
    return _mm_cvtsi128_si32(part);
  }
  static WEFT_INLINE __m256i magnitudes(__m256 v) {
    return _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x7FFFFFFF));
  }
  static WEFT_INLINE void quantize(const float* x, std::int8_t* codes, float* scale, std::int32_t* sums) {
    const F parts[2] = {load_f(x), load_f(x + 16)};
    const __m256i most = _mm256_max_epi32(_mm256_max_epi32(magnitudes(parts[0].low), magnitudes(parts[0].high)),
                                          _mm256_max_epi32(magnitudes(parts[1].low), magnitudes(parts[1].high)));
    const std::int32_t top = reduce(most, [](__m128i a, __m128i b) WEFT_INLINE_LAMBDA { return _mm_max_epi32(a, b); });
    const QuantizeScale by = quantize_scale(static_cast<std::uint32_t>(top));
    *scale = by.scale;
    const __m256 inverse = _mm256_set1_ps(by.inverse);
    // Products with infinity and NaN have no codes; a block that has any has an inverse of zero.
    const __m256i used = _mm256_set1_epi32(by.inverse == 0 ? 0 : -1);
    for (int half = 0; half < 2; ++half) {
      const __m256i low = _mm256_and_si256(used, _mm256_cvtps_epi32(_mm256_mul_ps(parts[half].low, inverse)));
      const __m256i high = _mm256_and_si256(used, _mm256_cvtps_epi32(_mm256_mul_ps(parts[half].high, inverse)));
      const __m256i shorts = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xD8);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + 16 * half),
                       _mm_packs_epi16(_mm256_castsi256_si128(shorts), _mm256_extracti128_si256(shorts, 1)));
      sums[half] = reduce(_mm256_add_epi32(low, high),
                          [](__m128i a, __m128i b) WEFT_INLINE_LAMBDA { return _mm_add_epi32(a, b); });
    }
  }
};

}  // namespace
}  // namespace weft::cpu
