// The linear kernels for AVX2.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/backend/cpu/linear_levels.h"
#include "weft/backend/cpu/packed_layout.h"
#include "weft/base/target.h"

WEFT_BEGIN_TARGET("avx2,fma,f16c")
#include "weft/backend/cpu/avx2_operations-inl.h"
#include "weft/backend/cpu/linear_kernels-inl.h"

namespace weft::cpu {
namespace {

struct Avx2 : Avx2Halves {
  static constexpr bool signs_bytes = true;

  // Pairs of products are added in 16 bits. Up to 7 bits of code they fit; codes of 8 bits become signed and give
  // their sign to the activations, which leaves 128 * 127 * 2 at most.
  template <int bits>
  static WEFT_INLINE __m256i dot256(__m256i acc, __m256i codes, __m256i x) {
    if constexpr (bits == 8) {
      const __m256i centered = _mm256_xor_si256(codes, _mm256_set1_epi8(-128));
      codes = _mm256_abs_epi8(centered);
      x = _mm256_sign_epi8(x, centered);
    }
    const __m256i pairs = _mm256_maddubs_epi16(codes, x);
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  template <int bits>
  static WEFT_INLINE I dot(const I& acc, const U8& codes, __m256i x) {
    return {dot256<bits>(acc.low, codes.low, x), dot256<bits>(acc.high, codes.high, x)};
  }
};

constexpr LinearKernels table = Linear<Avx2>::kernels(CpuLevel::avx2);

}  // namespace
WEFT_END_TARGET

constinit const LinearKernels avx2_linear = table;

}  // namespace weft::cpu
#endif
