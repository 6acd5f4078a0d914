// The operations of AVX-512 (F, BW, DQ, VL) for the linear kernels, all but the dot product. Included inside the
// target of a level, after linear_levels.h and <immintrin.h>.
#pragma once

#include "weft/backend/cpu/packed_codes-inl.h"

namespace weft::cpu {
namespace {

struct Avx512 {
  using F = __m512;
  using I = __m512i;
  using U8 = __m512i;

  static constexpr int tile_panels = 2, tile_rows = 7, float_rows = 12, row_panels = 4, direct_rows = 1;
  static constexpr int prefetch_distance = 1024;

  static WEFT_INLINE U8 load(Bytes in) { return _mm512_loadu_si512(in); }
  static WEFT_INLINE void store(std::uint8_t* out, U8 v) { _mm512_storeu_si512(out, v); }
  template <int right>
  static WEFT_INLINE U8 pick(U8 v, int mask) {
    if constexpr (right > 0) v = _mm512_srli_epi16(v, right);
    if constexpr (right < 0) v = _mm512_slli_epi16(v, -right);
    return _mm512_and_si512(v, _mm512_set1_epi8(static_cast<char>(mask)));
  }
  static WEFT_INLINE U8 shift(U8 v, int right) { return _mm512_srl_epi32(v, _mm_cvtsi32_si128(right)); }
  static WEFT_INLINE U8 merge(U8 a, U8 b) { return _mm512_or_si512(a, b); }

  static WEFT_INLINE F f16(Bytes in) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in)));
  }
  static WEFT_INLINE F bf16(Bytes in) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
  static WEFT_INLINE F i16(Bytes in) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in))));
  }
  static WEFT_INLINE F i32(Bytes in) { return _mm512_cvtepi32_ps(load(in)); }
  static WEFT_INLINE __m512i widened(Bytes in) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
  }
  static WEFT_INLINE F u8(Bytes in) { return _mm512_cvtepi32_ps(widened(in)); }
  static WEFT_INLINE F i8(Bytes in) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in))));
  }
  static WEFT_INLINE F u4(Bytes in, int right) {
    const __m512i bytes = widened(in);
    return _mm512_cvtepi32_ps(right == 0 ? _mm512_and_si512(bytes, _mm512_set1_epi32(15))
                                         : _mm512_srli_epi32(bytes, 4));
  }

  static WEFT_INLINE F set(float value) { return _mm512_set1_ps(value); }
  static WEFT_INLINE F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static WEFT_INLINE F negate(F a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.f)); }
  static WEFT_INLINE F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static WEFT_INLINE F load_f(const float* in) { return _mm512_loadu_ps(in); }
  static WEFT_INLINE void store_f(float* out, F v) { _mm512_storeu_ps(out, v); }
  static WEFT_INLINE __mmask16 first(int count) { return static_cast<__mmask16>((1u << count) - 1); }
  static WEFT_INLINE F load_lanes(const float* in, int count) { return _mm512_maskz_loadu_ps(first(count), in); }
  static WEFT_INLINE void store_lanes(float* out, F v, int count) { _mm512_mask_storeu_ps(out, first(count), v); }

  static WEFT_INLINE I seti(std::int32_t value) { return _mm512_set1_epi32(value); }
  static WEFT_INLINE F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  static WEFT_INLINE __m512i quad(const std::int8_t* in) {
    std::int32_t four;
    std::memcpy(&four, in, 4);
    return _mm512_set1_epi32(four);
  }

  static WEFT_INLINE void quantize(const float* x, std::int8_t* codes, float* scale, std::int32_t* sums) {
    const __m512 low = _mm512_loadu_ps(x), high = _mm512_loadu_ps(x + 16);
    const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
    const __m512i most = _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(low), magnitude),
                                          _mm512_and_si512(_mm512_castps_si512(high), magnitude));
    const QuantizeScale by = quantize_scale(static_cast<std::uint32_t>(_mm512_reduce_max_epi32(most)));
    *scale = by.scale;
    const __m512 inverse = _mm512_set1_ps(by.inverse);
    // Products with infinity and NaN have no codes; a block that has any has an inverse of zero.
    const __mmask16 used = by.inverse == 0 ? 0 : 0xFFFF;
    const __m512i parts[2] = {_mm512_maskz_cvtps_epi32(used, _mm512_mul_ps(low, inverse)),
                              _mm512_maskz_cvtps_epi32(used, _mm512_mul_ps(high, inverse))};
    for (int half = 0; half < 2; ++half) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + 16 * half), _mm512_cvtepi32_epi8(parts[half]));
      sums[half] = _mm512_reduce_add_epi32(parts[half]);
    }
  }
};

}  // namespace
}  // namespace weft::cpu
