// The kernels of each level. Internal to linear.cpp; each comes from a translation unit of its own.
#pragma once

#include <bit>
#include <cstdint>

#include "weft/backend/cpu/linear.h"

namespace weft::cpu {

extern const LinearKernels portable_linear;
#if defined(__x86_64__)
extern const LinearKernels avx2_linear, avx_vnni_linear, avx512_linear, avx512_vnni_linear, amx_linear;
#endif

// What quantizing 32 values starts from: the scale, and what values are multiplied with; zero when nothing is left
// of them. `magnitude` has the bits of max|x|, in which a NaN is the largest.
struct QuantizeScale {
  float scale, inverse;
};
inline QuantizeScale quantize_scale(std::uint32_t magnitude) {
  const float most = std::bit_cast<float>(magnitude);
  // Not finite: the scale says so, and codes of zero make every product of the block NaN.
  if (magnitude >= 0x7F800000u) return {most, 0};
  // Below 2^-100 the inverse nears overflow, and nothing such values add to is that small.
  if (most < 0x1p-100f) return {0, 0};
  return {most / 127.f, 127.f / most};
}

}  // namespace weft::cpu
