// CPU kernels on rows of f32 that are neither matmuls nor attention, one table for each instruction set. Pointers and
// sizes are the caller's word; nothing is allocated and nothing starts threads: callers split rows among them. What a
// row's result is depends on the row alone. Unless said otherwise, outputs may be the inputs but not overlap them else,
// and the row stride is the distance between the first elements of two rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/cpu_features.h"

namespace weft::cpu {

// Functions of one value. The names and meanings are those of the op Activation.
enum class UnaryKind : std::uint8_t {
  gelu,
  gelu_approx,
  gelu_quick,
  silu,
  relu,
  sigmoid,
  tanh,
  exp,
  log,
  sqrt,
  rsqrt,
  neg,
  abs,
  sin,
  cos,
  tan,
  atan,
  round,
  recip,
  floor,
  ceil,
  sign,
  softplus,
  elu,
  erf,
  hard_swish,
  hard_sigmoid,
  mish,
  softsign,
  log_sigmoid,
  log1p,
  expm1,
  asin,
  acos,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  leaky_relu,
  trunc,
  cbrt,
};
inline constexpr int unary_kinds = static_cast<int>(UnaryKind::cbrt) + 1;

// Functions of two values. The names and meanings are those of the op Binary.
enum class BinaryKind : std::uint8_t { add, sub, mul, div, max, min, pow, mod, atan2 };
inline constexpr int binary_kinds = static_cast<int>(BinaryKind::atan2) + 1;

// Element i of an operand is data[i] for period 0, else data[i mod period]: 1 is a scalar, the width of a row a row.
struct VectorOperand {
  const float* data = nullptr;
  std::int64_t period = 0;
};

// Which elements of a head form a pair: (j, j + half) or (2j, 2j + 1).
enum class RopeStyle : std::uint8_t { neox, interleaved };

struct RopeArgs {
  const float* x = nullptr;  // head h of row r at x + r * x_stride + h * head_dim
  float* out = nullptr;      // the same with out_stride; may be x
  std::int64_t rows = 0, heads = 0, head_dim = 0;
  std::int64_t x_stride = 0, out_stride = 0;
  const float* cos = nullptr;  // pair j of row r at [r * table_stride + j]
  const float* sin = nullptr;
  std::int64_t table_stride = 0;
  std::int64_t pairs = 0;  // rotary_dim / 2
  std::int64_t half = 0;   // neox: distance of the two; pairs for the layout prefix, head_dim / 2 for proportional
  RopeStyle style = RopeStyle::neox;
};

// Tiles of convolutions and pooling: rows of tile_columns neighboring results, weights in panels of so many rows.
inline constexpr std::int64_t tile_columns = 64, tile_panel_rows = 4;

struct TileProduct {
  const float* x = nullptr;  // [depth] rows of tile_columns, x_stride apart
  const float* w = nullptr;  // panel p at w + p * w_stride, as [depth][tile_panel_rows]
  float* sums = nullptr;     // [panels * tile_panel_rows][tile_columns]
  std::int64_t x_stride = tile_columns, w_stride = 0;
  std::int64_t depth = 0, panels = 0;
  std::int64_t columns = 0;  // that count; up to tile_columns are read and written
  bool add = false;          // to what sums hold
};

// out[i] = bias + sum over t of weights[t] * x[i * step + offsets[t]]
struct FilterRow {
  const float* x = nullptr;  // readable for 16 further results too, which are not stored
  const std::int64_t* offsets = nullptr;
  const float* weights = nullptr;
  std::int64_t taps = 0, step = 1;
  float bias = 0;
  float* out = nullptr;  // not x
  std::int64_t count = 0;
};

struct VectorKernels {
  // --- norms: gain and bias [width] may be null ---
  void (*rms_norm)(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t width, const float* gain,
                   const float* bias, float eps, float* out, std::int64_t out_stride);
  void (*layer_norm)(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t width, const float* gain,
                     const float* bias, float eps, float* out, std::int64_t out_stride);
  // sum = x + y, out = the norm of sum. `sum` may be x or y.
  void (*add_rms_norm)(const float* x, const float* y, float* sum, std::int64_t stride, std::int64_t rows,
                       std::int64_t width, const float* gain, const float* bias, float eps, float* out,
                       std::int64_t out_stride);
  void (*add_layer_norm)(const float* x, const float* y, float* sum, std::int64_t stride, std::int64_t rows,
                         std::int64_t width, const float* gain, const float* bias, float eps, float* out,
                         std::int64_t out_stride);
  // A row of -inf, or of no elements, becomes `empty`.
  void (*softmax)(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t width, float empty, float* out,
                  std::int64_t out_stride);

  void (*rope)(const RopeArgs& args);

  // --- elementwise, over `count` elements ---
  // alpha: the slope of elu and leaky_relu.
  void (*unary)(UnaryKind kind, const float* x, float* out, std::int64_t count, float alpha);
  void (*binary)(BinaryKind kind, VectorOperand a, VectorOperand b, float* out, std::int64_t count);
  // silu(g) u, gelu(g) u, ...: any kind of gate.
  void (*gated)(UnaryKind kind, const float* gate, const float* up, float* out, std::int64_t count);
  // x * scale + y
  void (*scaled_add)(const float* x, float scale, const float* y, float* out, std::int64_t count);

  void (*fma)(const float* a, const float* b, const float* c, float* out, std::int64_t count);  // rounded once
  void (*clamp)(const float* x, float low, float high, float* out, std::int64_t count);         // high where low > high
  // a where the condition is not 0, else b.
  void (*where)(const float* condition, const float* a, const float* b, float* out, std::int64_t count);

  // --- tiles: sums and extremes go down the rows in order, element by element ---
  void (*tile_product)(const TileProduct& product);
  void (*tile_max)(const float* x, std::int64_t depth, float* out);  // [tile_columns]; NaN where any element is
  void (*tile_sum)(const float* x, std::int64_t depth, float* out);

  void (*filter_row)(const FilterRow& row);
  void (*every)(const float* x, std::int64_t step, float* out, std::int64_t count);  // out[i] = x[i * step]

  // (x - origin) * scale + bias
  void (*affine)(const float* x, float origin, float scale, float bias, float* out, std::int64_t count);
  // a (1 - weight) + b weight; the second on elements of x by index, where out may not be x.
  void (*blend)(const float* a, const float* b, float weight, float* out, std::int64_t count);
  void (*blend_picked)(const float* x, const std::int32_t* first, const std::int32_t* second, const float* weights,
                       float* out, std::int64_t count);
  void (*pick)(const float* x, const std::int32_t* indices, float* out, std::int64_t count);

  // --- reductions of a row ---
  float (*sum)(const float* x, std::int64_t count);
  float (*max)(const float* x, std::int64_t count);  // NaN when any element is; -inf of nothing
  float (*min)(const float* x, std::int64_t count);  // NaN when any element is; +inf of nothing
  // The first of the largest, or smallest; the first NaN wins, or never where it is ignored.
  std::int64_t (*argmax)(const float* x, std::int64_t count, bool ignore_nan);
  std::int64_t (*argmin)(const float* x, std::int64_t count, bool ignore_nan);
  // The k largest by falling value, lower index first among equals, NaN last; k <= count. `indices` and `values` [k].
  void (*top_k)(const float* x, std::int64_t count, std::int64_t k, std::int32_t* indices, float* values);

  // --- conversions: rounded to nearest even, exact the other way ---
  void (*f32_to_f16)(const float* x, std::uint16_t* out, std::int64_t count);
  void (*f16_to_f32)(const std::uint16_t* x, float* out, std::int64_t count);
  void (*f32_to_bf16)(const float* x, std::uint16_t* out, std::int64_t count);
  void (*bf16_to_f32)(const std::uint16_t* x, float* out, std::int64_t count);
  // Whole blocks of 32, with the codes of the format's own encoder. A block with NaN or an infinity decodes to NaN.
  void (*f32_to_q8_0)(const float* x, std::byte* out, std::int64_t blocks);
  void (*q8_0_to_f32)(const std::byte* x, float* out, std::int64_t blocks);
};

const VectorKernels& vector_kernels(CpuLevel level);

// out[i0][i1][i2] = in, element by element of `element_bytes` (1, 2, 4 or 8), each side with its own strides in
// elements: the building block of transposes, concatenations and slices.
struct StridedCopy {
  std::int64_t dims[3] = {1, 1, 1};
  std::int64_t in_strides[3] = {0, 0, 0}, out_strides[3] = {0, 0, 0};
  std::int64_t element_bytes = 4;
};
void copy_strided(const std::byte* in, std::byte* out, const StridedCopy& copy);

}  // namespace weft::cpu
