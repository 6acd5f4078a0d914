// Tiles of what windows see: for 64 neighboring results of a convolution or pooling, and for each tap, the elements
// that the tap reads. Pure functions on the caller's memory.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/backend/cpu/vector_kernels.h"
#include "weft/ops/windows.h"

namespace weft::cpu {

// Results first, first + step, ... of an axis; result number j reads inputs j * in_step + offset, one a tap.
struct AxisPhase {
  std::int64_t first = 0, step = 1, in_step = 1;
  struct Tap {
    std::int64_t kernel = 0, offset = 0;  // where it is in the kernel, and in the input
  };
  std::vector<Tap> taps;
};

// Results that read the same taps of each axis.
struct Phase {
  AxisPhase axes[3];
  std::int64_t taps() const {
    return std::int64_t(axes[0].taps.size()) * std::int64_t(axes[1].taps.size()) * std::int64_t(axes[2].taps.size());
  }
};
// A convolution has one phase, a transposed one as many as its strides have products.
std::vector<Phase> phases_of(const ops::Windows& windows, bool transposed);

// What stands outside of the input.
enum class Outside : std::uint8_t { zero, lowest, nearest };

// Results [first, first + count) of a phase that has count_0 x count_1 x count_2, as runs along the last axis.
class Tile {
 public:
  Tile(const Phase& phase, const std::int64_t (&counts)[3], std::int64_t first, std::int64_t count);

  // Rows [k, k + depth) of the tile, row (channel * taps + tap) in order, from planes of x; a row is tile_columns long,
  // 0 behind the results.
  void fill(const VectorKernels& kernels, const float* x, const ops::ImageDims& in, std::int64_t k, std::int64_t depth,
            Outside outside, float* rows) const;
  // Stores `values` [count] where the results are in a plane of y.
  void store(const float* values, const ops::ImageDims& out, float* y) const;
  std::int64_t count() const { return count_; }

 private:
  struct Run {
    std::int64_t at[3] = {0, 0, 0};  // of its first result, in the phase
    std::int64_t length = 0;
  };
  const Phase& phase_;
  std::int64_t count_ = 0;
  int runs_ = 0;
  Run run_[tile_columns];
};

// Elements start, start + step, ... of a row of `size`, `length` of them, with what stands before and behind it.
void copy_row(const VectorKernels& kernels, const float* row, std::int64_t size, std::int64_t start, std::int64_t step,
              std::int64_t length, float before, float behind, float* out);

}  // namespace weft::cpu
