// Operands of up to eight axes walked in step: axes of one element dropped, axes that all operands cross evenly merged.
// Values; nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::cpu {

template <int operands>
struct StridedWalk {
  static constexpr std::size_t max_axes = 8;
  int axes = 0;
  std::int64_t dims[max_axes] = {};
  std::int64_t strides[max_axes][operands] = {};

  // The next axis inward, in steps of each operand.
  void add(std::int64_t dim, const std::int64_t (&steps)[operands]) {
    if (dim == 1) return;
    bool even = axes > 0;
    for (int k = 0; k < operands && even; ++k) even = strides[axes - 1][k] == dim * steps[k];
    if (even)
      dims[axes - 1] *= dim;
    else
      dims[axes++] = dim;
    for (int k = 0; k < operands; ++k) strides[axes - 1][k] = steps[k];
  }
  // Axis `i` counted from the innermost; one element where there is none.
  std::int64_t dim_from_end(int i) const { return i < axes ? dims[axes - 1 - i] : 1; }
  std::int64_t stride_from_end(int i, int operand) const { return i < axes ? strides[axes - 1 - i][operand] : 0; }

  // Where the operands are at index `at` of all axes but the `inner` last.
  void offsets(std::int64_t at, int inner, std::int64_t (&result)[operands]) const {
    for (int k = 0; k < operands; ++k) result[k] = 0;
    for (int axis = axes - 1 - inner; axis >= 0; --axis) {
      const std::int64_t index = at % dims[axis];
      at /= dims[axis];
      for (int k = 0; k < operands; ++k) result[k] += index * strides[axis][k];
    }
  }
  // How many indices those are.
  std::int64_t outer(int inner) const {
    std::int64_t count = 1;
    for (int axis = 0; axis < axes - inner; ++axis) count *= dims[axis];
    return count;
  }
};

}  // namespace weft::cpu
