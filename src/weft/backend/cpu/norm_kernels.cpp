// Norms, softmax and rope.
#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/backend/cpu/vector_families.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/backend/cpu/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/backend/cpu/norm_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/backend/cpu/vector_math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {
namespace {

// Sums over a row have 32 partial sums, by place modulo 32, whatever the vector's width.
constexpr std::int64_t unroll = 32 / lanes;

// term(i) of each vector of a row; term_of_tail(i) of each element behind the last whole vector.
template <class Term, class TailTerm>
HWY_INLINE float sum_of(std::int64_t width, Term term, TailTerm term_of_tail) {
  VF sums[unroll];
#pragma GCC unroll 8
  for (VF& sum : sums) sum = hn::Zero(f32);
  std::int64_t i = 0;
  for (; i + unroll * lanes <= width; i += unroll * lanes)
#pragma GCC unroll 8
    for (std::int64_t u = 0; u < unroll; ++u) sums[u] = term(i + u * lanes, sums[u]);
  for (std::int64_t u = 0; i + lanes <= width; i += lanes, ++u) sums[u] = term(i, sums[u]);
  float tail = 0;
  for (; i < width; ++i) tail += term_of_tail(i);
  for (std::int64_t step = unroll / 2; step > 0; step /= 2)
    for (std::int64_t u = 0; u < step; ++u) sums[u] = hn::Add(sums[u], sums[u + step]);
  return hn::GetLane(hn::SumOfLanes(f32, sums[0])) + tail;
}

// out = (x - origin - shift) * scale * gain + bias
template <bool centered>
HWY_INLINE void apply_norm(const float* x, std::int64_t width, float origin, float shift, float scale,
                           const float* gain, const float* bias, float* out) {
  std::int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    VF y = hn::LoadU(f32, x + i);
    if constexpr (centered) y = hn::Sub(hn::Sub(y, constant(origin)), constant(shift));
    y = hn::Mul(y, constant(scale));
    if (gain != nullptr) y = hn::Mul(y, hn::LoadU(f32, gain + i));
    if (bias != nullptr) y = hn::Add(y, hn::LoadU(f32, bias + i));
    hn::StoreU(y, f32, out + i);
  }
  for (; i < width; ++i) {
    float y = (centered ? x[i] - origin - shift : x[i]) * scale;
    if (gain != nullptr) y *= gain[i];
    if (bias != nullptr) y += bias[i];
    out[i] = y;
  }
}

HWY_INLINE void rms_norm_row(const float* x, std::int64_t width, const float* gain, const float* bias, float eps,
                             float* out) {
  const float squares = sum_of(
      width,
      [x](std::int64_t i, VF sum) {
        const VF v = hn::LoadU(f32, x + i);
        return hn::MulAdd(v, v, sum);
      },
      [x](std::int64_t i) { return x[i] * x[i]; });
  float mean = squares / static_cast<float>(width), factor = 1;
  if (mean > 1e37f || mean < 1e-30f) {
    // Squares out of range: once more in f64. NaN takes the other way.
    double wide = 0;
    for (std::int64_t i = 0; i < width; ++i) wide += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    factor = static_cast<float>(1 / std::sqrt(wide / static_cast<double>(width) + static_cast<double>(eps)));
  } else {
    factor = 1 / std::sqrt(mean + eps);
  }
  apply_norm<false>(x, width, 0, 0, factor, gain, bias, out);
}

HWY_INLINE void layer_norm_row(const float* x, std::int64_t width, const float* gain, const float* bias, float eps,
                               float* out) {
  const auto count = static_cast<float>(width);
  // Differences to the first element, so that a large common part does not drown them.
  const float origin = x[0];
  const float shift = sum_of(
                          width,
                          [x, origin](std::int64_t i, VF sum) {
                            return hn::Add(sum, hn::Sub(hn::LoadU(f32, x + i), constant(origin)));
                          },
                          [x, origin](std::int64_t i) { return x[i] - origin; }) /
                      count;
  const float squares = sum_of(
      width,
      [=](std::int64_t i, VF sum) {
        const VF v = hn::Sub(hn::Sub(hn::LoadU(f32, x + i), constant(origin)), constant(shift));
        return hn::MulAdd(v, v, sum);
      },
      [=](std::int64_t i) { return (x[i] - origin - shift) * (x[i] - origin - shift); });
  float factor = 1 / std::sqrt(squares / count + eps);
  if (squares > 1e37f || squares < 1e-30f) {
    double wide = 0;
    for (std::int64_t i = 0; i < width; ++i) {
      const auto difference = static_cast<double>(x[i] - origin - shift);
      wide += difference * difference;
    }
    factor = static_cast<float>(1 / std::sqrt(wide / static_cast<double>(width) + static_cast<double>(eps)));
  }
  apply_norm<true>(x, width, origin, shift, factor, gain, bias, out);
}

using NormRow = void (*)(const float*, std::int64_t, const float*, const float*, float, float*);

template <NormRow row>
void norm_rows(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t width, const float* gain,
               const float* bias, float eps, float* out, std::int64_t out_stride) {
  if (width == 0) return;
  for (std::int64_t r = 0; r < rows; ++r) row(x + r * x_stride, width, gain, bias, eps, out + r * out_stride);
}

template <NormRow row>
void add_norm_rows(const float* x, const float* y, float* sum, std::int64_t stride, std::int64_t rows,
                   std::int64_t width, const float* gain, const float* bias, float eps, float* out,
                   std::int64_t out_stride) {
  if (width == 0) return;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float *a = x + r * stride, *b = y + r * stride;
    float* s = sum + r * stride;
    std::int64_t i = 0;
    for (; i + lanes <= width; i += lanes)
      hn::StoreU(hn::Add(hn::LoadU(f32, a + i), hn::LoadU(f32, b + i)), f32, s + i);
    for (; i < width; ++i) s[i] = a[i] + b[i];
    row(s, width, gain, bias, eps, out + r * out_stride);
  }
}

void softmax(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t width, float empty, float* out,
             std::int64_t out_stride) {
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  for (std::int64_t r = 0; r < rows; ++r, x += x_stride, out += out_stride) {
    VF tops = constant(lowest);
    bool has_nan = false;
    std::int64_t i = 0;
    for (; i + lanes <= width; i += lanes) tops = hn::Max(tops, hn::LoadU(f32, x + i));
    float top = hn::GetLane(hn::MaxOfLanes(f32, tops));
    for (; i < width; ++i) top = std::max(top, x[i]);
    if (!(top > lowest)) {
      // Nothing but -inf, or NaN hides the rest from the maximum.
      for (i = 0; i < width; ++i) has_nan = has_nan || !(x[i] <= lowest);
      if (!has_nan) {
        std::fill_n(out, width, empty);
        continue;
      }
      top = std::numeric_limits<float>::quiet_NaN();
    }
    // A last vector that is not whole goes through a buffer, so that each element meets the same function.
    HWY_ALIGN float tail[lanes];
    const auto weight = [top](VF v) { return exp(hn::Sub(v, constant(top))); };
    VF sums = hn::Zero(f32);
    for (i = 0; i + lanes <= width; i += lanes) {
      const VF w = weight(hn::LoadU(f32, x + i));
      hn::StoreU(w, f32, out + i);
      sums = hn::Add(sums, w);
    }
    if (i < width) {
      std::fill_n(tail, lanes, lowest);
      std::copy_n(x + i, width - i, tail);
      const VF w = weight(hn::Load(f32, tail));
      hn::Store(w, f32, tail);
      std::copy_n(tail, width - i, out + i);
      sums = hn::Add(sums, w);
    }
    const float sum = hn::GetLane(hn::SumOfLanes(f32, sums));
    for (i = 0; i + lanes <= width; i += lanes)
      hn::StoreU(hn::Div(hn::LoadU(f32, out + i), constant(sum)), f32, out + i);
    for (; i < width; ++i) out[i] /= sum;
  }
}

// --- rope -------------------------------------------------------------------------------------------------------

HWY_INLINE void turn_halves(const float* x, const float* cos, const float* sin, std::int64_t pairs, std::int64_t half,
                            float* out) {
  std::int64_t j = 0;
  for (; j + lanes <= pairs; j += lanes) {
    const VF a = hn::LoadU(f32, x + j), b = hn::LoadU(f32, x + j + half);
    const VF c = hn::LoadU(f32, cos + j), s = hn::LoadU(f32, sin + j);
    hn::StoreU(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), f32, out + j);
    hn::StoreU(hn::Add(hn::Mul(b, c), hn::Mul(a, s)), f32, out + j + half);
  }
  for (; j < pairs; ++j) {
    const float a = x[j], b = x[j + half];
    out[j] = a * cos[j] - b * sin[j];
    out[j + half] = b * cos[j] + a * sin[j];
  }
}

HWY_INLINE void turn_neighbors(const float* x, const float* cos, const float* sin, std::int64_t pairs, float* out) {
  std::int64_t j = 0;
  for (; j + lanes <= pairs; j += lanes) {
    VF a, b;
    hn::LoadInterleaved2(f32, x + 2 * j, a, b);
    const VF c = hn::LoadU(f32, cos + j), s = hn::LoadU(f32, sin + j);
    hn::StoreInterleaved2(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), hn::Add(hn::Mul(b, c), hn::Mul(a, s)), f32,
                          out + 2 * j);
  }
  for (; j < pairs; ++j) {
    const float a = x[2 * j], b = x[2 * j + 1];
    out[2 * j] = a * cos[j] - b * sin[j];
    out[2 * j + 1] = b * cos[j] + a * sin[j];
  }
}

void rope(const RopeArgs& a) {
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const float *cos = a.cos + r * a.table_stride, *sin = a.sin + r * a.table_stride;
    for (std::int64_t h = 0; h < a.heads; ++h) {
      const float* x = a.x + r * a.x_stride + h * a.head_dim;
      float* out = a.out + r * a.out_stride + h * a.head_dim;
      if (out != x && 2 * a.pairs != a.head_dim) std::copy_n(x, a.head_dim, out);
      if (a.style == RopeStyle::interleaved)
        turn_neighbors(x, cos, sin, a.pairs, out);
      else
        turn_halves(x, cos, sin, a.pairs, a.half, out);
    }
  }
}

}  // namespace

void set_norm_kernels(VectorKernels& kernels) {
  kernels.rms_norm = norm_rows<rms_norm_row>;
  kernels.layer_norm = norm_rows<layer_norm_row>;
  kernels.add_rms_norm = add_norm_rows<rms_norm_row>;
  kernels.add_layer_norm = add_norm_rows<layer_norm_row>;
  kernels.softmax = softmax;
  kernels.rope = rope;
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::cpu {

void set_norm_kernels(VectorTarget target, VectorKernels& kernels) {
  WEFT_TARGET_FUNCTION(target, set_norm_kernels)(kernels);
}

}  // namespace weft::cpu
#endif
