// The operations of AVX-512 with VNNI for the linear kernels; as avx512_operations-inl.h.
#pragma once

#include "weft/backend/cpu/avx512_operations-inl.h"

namespace weft::cpu {
namespace {

struct Avx512Vnni : Avx512 {
  static constexpr int direct_rows = 4;
  static constexpr bool signs_bytes = false;

  template <int bits>
  static WEFT_INLINE I dot(I acc, U8 codes, __m512i x) {
    return _mm512_dpbusd_epi32(acc, codes, x);
  }
};

}  // namespace
}  // namespace weft::cpu
