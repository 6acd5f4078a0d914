// Products and extremes of tiles: what convolutions, pooling and channel norms spend their time in.
#include <limits>

#include "weft/backend/cpu/vector_families.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/backend/cpu/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/backend/cpu/window_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/backend/cpu/vector_math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t rows = tile_panel_rows;
// Vectors side by side: with the rows of a panel as many sums as hide the latency of one.
constexpr int side_by_side = lanes >= 16 ? 4 : 2;

template <int vectors>
HWY_INLINE void multiply(const TileProduct& p, const float* w, std::int64_t column, float* sums) {
  VF sum[rows][vectors];
#pragma GCC unroll 4
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      sum[r][v] = p.add ? hn::LoadU(f32, sums + r * tile_columns + column + v * lanes) : hn::Zero(f32);
  const float* x = p.x + column;
  for (std::int64_t k = 0; k < p.depth; ++k, x += p.x_stride, w += rows) {
    VF values[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) values[v] = hn::LoadU(f32, x + v * lanes);
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < rows; ++r) {
      const VF factor = constant(w[r]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(values[v], factor, sum[r][v]);
    }
  }
#pragma GCC unroll 4
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) hn::StoreU(sum[r][v], f32, sums + r * tile_columns + column + v * lanes);
}

void tile_product(const TileProduct& p) {
  for (std::int64_t panel = 0; panel < p.panels; ++panel) {
    const float* w = p.w + panel * p.w_stride;
    float* sums = p.sums + panel * rows * tile_columns;
    std::int64_t column = 0;
    for (; p.columns - column > (side_by_side - 1) * lanes; column += side_by_side * lanes)
      multiply<side_by_side>(p, w, column, sums);
    for (; column < p.columns; column += lanes) multiply<1>(p, w, column, sums);
  }
}

void tile_max(const float* x, std::int64_t depth, float* out) {
  for (std::int64_t column = 0; column < tile_columns; column += lanes) {
    VF best = constant(-std::numeric_limits<float>::infinity());
    for (std::int64_t k = 0; k < depth; ++k) {
      const VF v = hn::LoadU(f32, x + k * tile_columns + column);
      // NaN is above all: kept once it is there, taken where it comes.
      const auto keep = hn::Or(hn::Ge(best, v), hn::IsNaN(best));
      best = hn::IfThenElse(keep, best, v);
    }
    hn::StoreU(best, f32, out + column);
  }
}

void tile_sum(const float* x, std::int64_t depth, float* out) {
  for (std::int64_t column = 0; column < tile_columns; column += lanes) {
    VF sum = hn::Zero(f32);
    for (std::int64_t k = 0; k < depth; ++k) sum = hn::Add(sum, hn::LoadU(f32, x + k * tile_columns + column));
    hn::StoreU(sum, f32, out + column);
  }
}

// Lanes x[0], x[step], ...; those behind the ones that count are read too.
template <int step>
HWY_INLINE VF load_every(const float* x, std::int64_t any_step) {
  if constexpr (step == 1) return hn::LoadU(f32, x);
  if constexpr (step == 2) {
    VF even, odd;
    hn::LoadInterleaved2(f32, x, even, odd);
    return even;
  }
  return hn::GatherIndex(f32, x, hn::Mul(hn::Iota(i32, 0), hn::Set(i32, static_cast<std::int32_t>(any_step))));
}

HWY_INLINE void store_first(VF v, float* out, std::int64_t count) {
  if (count >= lanes) return hn::StoreU(v, f32, out);
  float part[lanes];
  hn::StoreU(v, f32, part);
  for (std::int64_t i = 0; i < count; ++i) out[i] = part[i];
}

template <int step, int vectors>
HWY_INLINE void filter(const FilterRow& f, std::int64_t i) {
  VF sum[vectors];
#pragma GCC unroll 4
  for (VF& each : sum) each = hn::Zero(f32);
  const float* x = f.x + i * f.step;
  for (std::int64_t t = 0; t < f.taps; ++t) {
    const VF weight = constant(f.weights[t]);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      sum[v] = hn::MulAdd(load_every<step>(x + f.offsets[t] + v * lanes * f.step, f.step), weight, sum[v]);
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v)
    store_first(hn::Add(sum[v], constant(f.bias)), f.out + i + v * lanes, f.count - i - v * lanes);
}

template <int step>
void filter_all(const FilterRow& f) {
  std::int64_t i = 0;
  for (; i + 4 * lanes <= f.count; i += 4 * lanes) filter<step, 4>(f, i);
  for (; i < f.count; i += lanes) filter<step, 1>(f, i);
}

void filter_row(const FilterRow& f) {
  if (f.step == 1) return filter_all<1>(f);
  if (f.step == 2) return filter_all<2>(f);
  filter_all<0>(f);
}

void every(const float* x, std::int64_t step, float* out, std::int64_t count) {
  std::int64_t i = 0;
  // The last vector would read behind the last element.
  if (step == 2)
    for (; i + lanes < count; i += lanes) hn::StoreU(load_every<2>(x + i * step, step), f32, out + i);
  for (; i < count; ++i) out[i] = x[i * step];
}

void affine(const float* x, float origin, float scale, float bias, float* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Add(hn::Mul(hn::Sub(hn::LoadU(f32, x + i), constant(origin)), constant(scale)), constant(bias)), f32,
               out + i);
  for (; i < count; ++i) out[i] = (x[i] - origin) * scale + bias;
}

void blend(const float* a, const float* b, float weight, float* out, std::int64_t count) {
  const float rest = 1 - weight;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(
        hn::Add(hn::Mul(hn::LoadU(f32, a + i), constant(rest)), hn::Mul(hn::LoadU(f32, b + i), constant(weight))), f32,
        out + i);
  for (; i < count; ++i) out[i] = a[i] * rest + b[i] * weight;
}

void blend_picked(const float* x, const std::int32_t* first, const std::int32_t* second, const float* weights,
                  float* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const VF a = hn::GatherIndex(f32, x, hn::LoadU(i32, first + i)),
             b = hn::GatherIndex(f32, x, hn::LoadU(i32, second + i));
    const VF weight = hn::LoadU(f32, weights + i);
    hn::StoreU(hn::Add(hn::Mul(a, hn::Sub(constant(1), weight)), hn::Mul(b, weight)), f32, out + i);
  }
  for (; i < count; ++i) out[i] = x[first[i]] * (1 - weights[i]) + x[second[i]] * weights[i];
}

void pick(const float* x, const std::int32_t* indices, float* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::GatherIndex(f32, x, hn::LoadU(i32, indices + i)), f32, out + i);
  for (; i < count; ++i) out[i] = x[indices[i]];
}

}  // namespace

void set_window_kernels(VectorKernels& kernels) {
  kernels.tile_product = tile_product;
  kernels.tile_max = tile_max;
  kernels.tile_sum = tile_sum;
  kernels.filter_row = filter_row;
  kernels.every = every;
  kernels.affine = affine;
  kernels.blend = blend;
  kernels.blend_picked = blend_picked;
  kernels.pick = pick;
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::cpu {

void set_window_kernels(VectorTarget target, VectorKernels& kernels) {
  WEFT_TARGET_FUNCTION(target, set_window_kernels)(kernels);
}

}  // namespace weft::cpu
#endif
