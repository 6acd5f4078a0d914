// Which instruction sets the Highway kernels are compiled for: the baseline, AVX2 and AVX-512. Included before
// hwy/foreach_target.h. Pure functions.
#pragma once

#include "weft/base/cpu_features.h"

// Only these three: each further target costs as much to compile and gains nothing for f32.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_AVX3_ZEN4)
#ifndef HWY_AVX3_ZEN4
#define HWY_AVX3_ZEN4 0
#endif

// Highway's own checks would need its library; its headers alone are enough.
#define HWY_IS_DEBUG_BUILD 0

namespace weft::cpu {

enum class VectorTarget { baseline, avx2, avx512 };

inline VectorTarget vector_target(CpuLevel level) {
  if (level >= CpuLevel::avx512) return VectorTarget::avx512;
  return level >= CpuLevel::avx2 ? VectorTarget::avx2 : VectorTarget::baseline;
}

// One of three functions, by target.
template <class Function>
Function* function_of(VectorTarget target, Function* baseline, Function* avx2, Function* avx512) {
  return target == VectorTarget::avx512 ? avx512 : target == VectorTarget::avx2 ? avx2 : baseline;
}

}  // namespace weft::cpu

// The function `name` of a target's namespace, for use under HWY_ONCE in weft::cpu.
#define WEFT_TARGET_FUNCTION(target, name) \
  function_of(target, HWY_NAMESPACE::name, WEFT_AVX2_NAMESPACE::name, WEFT_AVX512_NAMESPACE::name)
#if defined(__x86_64__)
#define WEFT_AVX2_NAMESPACE N_AVX2
#define WEFT_AVX512_NAMESPACE N_AVX3
#else
#define WEFT_AVX2_NAMESPACE HWY_NAMESPACE
#define WEFT_AVX512_NAMESPACE HWY_NAMESPACE
#endif
