// y = x W^T with packed weights: the kernels of one level of the CPU, and the form activations take for them.
//
// Integer weights. Activations are int8 with one f32 scale per 32 values. For each group g of G values (G = 16 for
// q2_k, q3_k and q6_k, else 32), in ascending k:
//   acc = sum of (w - zero) * x      in exact integers
//   y   = fma(float(acc), s_g * dx, y)
//   y   = fma(m_g, dx * float(sum of x), y)      for types with a minimum
// with s_g and m_g, the group's scale and minimum, exact in f32. Float weights: y = fma(w, x, y) in ascending k.
// So every level gives the same bits, whatever the number of rows, threads or panels in a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/backend/cpu/packed_matrix.h"
#include "weft/base/cpu_features.h"

namespace weft::cpu {

// Rows of activations, each `columns` values, a multiple of 32. Values lie in [-127, 127].
struct QuantizedRows {
  const std::int8_t* values = nullptr;  // row r at values + r * value_stride
  const float* scales = nullptr;        // one per 32 values
  const std::int32_t* sums = nullptr;   // of 16 values each
  std::int64_t rows = 0, columns = 0;
  std::int64_t value_stride = 0, scale_stride = 0, sum_stride = 0;  // in elements

  QuantizedRows from_row(std::int64_t row, std::int64_t count) const {
    QuantizedRows part = *this;
    part.values += row * value_stride;
    part.scales += row * scale_stride;
    part.sums += row * sum_stride;
    part.rows = count;
    return part;
  }
};

struct MutableQuantizedRows {
  std::int8_t* values = nullptr;
  float* scales = nullptr;
  std::int32_t* sums = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t value_stride = 0, scale_stride = 0, sum_stride = 0;

  operator QuantizedRows() const {
    return {values, scales, sums, rows, columns, value_stride, scale_stride, sum_stride};
  }
};

// Bytes of a buffer for one more row, and rows laid over a buffer of rows * quantized_row_bytes(columns) bytes that
// is 64-byte aligned.
WEFT_API std::size_t quantized_row_bytes(std::int64_t columns);
WEFT_API MutableQuantizedRows quantized_rows(std::span<std::byte> buffer, std::int64_t rows, std::int64_t columns);

struct LinearKernels {
  CpuLevel level;
  // d = max|x| / 127 and q = x * (127 / max|x|) to the nearest integer, for each 32 values of the rows
  // [first_row, last_row) of x. A block with a value that is not finite has a scale that is not either.
  void (*quantize)(const float* x, std::int64_t x_stride, std::int64_t first_row, std::int64_t last_row,
                   const MutableQuantizedRows& out);
  // Bytes that a thread hands to `integer` or `floating` for this many rows, 64-byte aligned.
  std::size_t (*scratch_bytes)(std::int64_t rows);
  // Both write y[r * y_stride + n] for all rows r of x and the weight rows n of panels [first_panel, last_panel).
  void (*integer)(const PackedMatrix& weight, const QuantizedRows& x, std::int64_t first_panel, std::int64_t last_panel,
                  float* y, std::int64_t y_stride, std::byte* scratch);
  void (*floating)(const PackedMatrix& weight, const float* x, std::int64_t x_stride, std::int64_t rows,
                   std::int64_t first_panel, std::int64_t last_panel, float* y, std::int64_t y_stride,
                   std::byte* scratch);
};

// The kernels of a level that the CPU has. A level that this build does not know gets the portable ones.
WEFT_API const LinearKernels& linear_kernels(CpuLevel level);

}  // namespace weft::cpu
