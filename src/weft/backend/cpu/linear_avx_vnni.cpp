// The linear kernels for AVX2 with AVX-VNNI.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/backend/cpu/linear_levels.h"
#include "weft/backend/cpu/packed_layout.h"
#include "weft/base/target.h"

WEFT_BEGIN_TARGET("avx2,fma,f16c,avxvnni")
#include "weft/backend/cpu/avx2_operations-inl.h"
#include "weft/backend/cpu/linear_kernels-inl.h"

namespace weft::cpu {
namespace {

struct AvxVnni : Avx2Halves {
  static constexpr bool signs_bytes = false;

  template <int bits>
  static WEFT_INLINE I dot(const I& acc, const U8& codes, __m256i x) {
    return {_mm256_dpbusd_avx_epi32(acc.low, codes.low, x), _mm256_dpbusd_avx_epi32(acc.high, codes.high, x)};
  }
};

constexpr LinearKernels table = Linear<AvxVnni>::kernels(CpuLevel::avx_vnni);

}  // namespace
WEFT_END_TARGET

constinit const LinearKernels avx_vnni_linear = table;

}  // namespace weft::cpu
#endif
