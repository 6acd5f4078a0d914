// The kernels of each level. Internal to linear.cpp; each comes from a translation unit of its own.
#pragma once

#include "weft/backend/cpu/linear.h"

namespace weft::cpu {

extern const LinearKernels portable_linear;

// What quantizing 32 values starts from: the scale, and what values are multiplied with; zero when nothing is left
// of them. `magnitude` has the bits of max|x|, in which a NaN is the largest.
struct QuantizeScale {
  float scale, inverse;
};
QuantizeScale quantize_scale(std::uint32_t magnitude);

}  // namespace weft::cpu
