// The linear kernels for AVX-512 without VNNI.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/backend/cpu/linear_levels.h"
#include "weft/backend/cpu/packed_layout.h"
#include "weft/base/target.h"

WEFT_BEGIN_TARGET("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")
#include "weft/backend/cpu/avx512_operations-inl.h"
#include "weft/backend/cpu/linear_kernels-inl.h"

namespace weft::cpu {
namespace {

struct Avx512Plain : Avx512 {
  static constexpr bool signs_bytes = true;

  // As in linear_avx2.cpp.
  template <int bits>
  static WEFT_INLINE I dot(I acc, U8 codes, __m512i x) {
    if constexpr (bits == 8) {
      const __m512i centered = _mm512_xor_si512(codes, _mm512_set1_epi8(-128));
      codes = _mm512_abs_epi8(centered);
      x = _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(centered), _mm512_setzero_si512(), x);
    }
    const __m512i pairs = _mm512_maddubs_epi16(codes, x);
    return _mm512_add_epi32(acc, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
  }
};

constexpr LinearKernels table = Linear<Avx512Plain>::kernels(CpuLevel::avx512);

}  // namespace
WEFT_END_TARGET

constinit const LinearKernels avx512_linear = table;

}  // namespace weft::cpu
#endif
