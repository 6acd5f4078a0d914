// Reductions of a row, selection, conversions.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "weft/backend/cpu/vector_families.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/backend/cpu/vector_targets.h"
#include "weft/base/half.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/backend/cpu/row_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/backend/cpu/vector_math_inl.h"
#include "weft/backend/cpu/vector_memory_inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

float sum(const float* x, std::int64_t count) {
  constexpr std::int64_t unroll = 32 / lanes;
  VF sums[unroll];
  for (VF& part : sums) part = hn::Zero(f32);
  std::int64_t i = 0;
  for (; i + unroll * lanes <= count; i += unroll * lanes)
#pragma GCC unroll 8
    for (std::int64_t u = 0; u < unroll; ++u) sums[u] = hn::Add(sums[u], hn::LoadU(f32, x + i + u * lanes));
  for (std::int64_t u = 0; i + lanes <= count; i += lanes, ++u) sums[u] = hn::Add(sums[u], hn::LoadU(f32, x + i));
  float tail = 0;
  for (; i < count; ++i) tail += x[i];
  for (std::int64_t step = unroll / 2; step > 0; step /= 2)
    for (std::int64_t u = 0; u < step; ++u) sums[u] = hn::Add(sums[u], sums[u + step]);
  return hn::GetLane(hn::SumOfLanes(f32, sums[0])) + tail;
}

// The largest, or smallest, NaN aside, and whether there was one.
template <bool largest>
HWY_INLINE std::pair<float, bool> extreme(const float* x, std::int64_t count) {
  constexpr float start = largest ? -infinity : infinity;
  const auto better = [](VF a, VF b) {
    // The second operand where either is NaN: the best so far.
    return largest ? hn::Max(a, b) : hn::Min(a, b);
  };
  VF best[4];
  for (VF& part : best) part = constant(start);
  auto nan = hn::IsNaN(hn::Zero(f32));
  const auto take = [&](VF& part, VF v) {
    const auto is_nan = hn::IsNaN(v);
    part = better(hn::IfThenElse(is_nan, constant(start), v), part);
    nan = hn::Or(nan, is_nan);
  };
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes)
#pragma GCC unroll 4
    for (std::int64_t u = 0; u < 4; ++u) take(best[u], hn::LoadU(f32, x + i + u * lanes));
  for (; i + lanes <= count; i += lanes) take(best[0], hn::LoadU(f32, x + i));
  const VF all = better(better(best[0], best[1]), better(best[2], best[3]));
  float found = hn::GetLane(largest ? hn::MaxOfLanes(f32, all) : hn::MinOfLanes(f32, all));
  bool has_nan = !hn::AllFalse(f32, nan);
  for (; i < count; ++i) {
    has_nan = has_nan || std::isnan(x[i]);
    if (largest ? x[i] > found : x[i] < found) found = x[i];
  }
  return {found, has_nan};
}

float max(const float* x, std::int64_t count) {
  const auto [value, has_nan] = extreme<true>(x, count);
  return has_nan ? std::numeric_limits<float>::quiet_NaN() : value;
}
float min(const float* x, std::int64_t count) {
  const auto [value, has_nan] = extreme<false>(x, count);
  return has_nan ? std::numeric_limits<float>::quiet_NaN() : value;
}

template <bool largest>
std::int64_t find_extreme(const float* x, std::int64_t count, bool ignore_nan) {
  const auto [value, has_nan] = extreme<largest>(x, count);
  if (has_nan && !ignore_nan) return std::find_if(x, x + count, [](float v) { return std::isnan(v); }) - x;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const std::int64_t lane = hn::FindFirstTrue(f32, hn::Eq(hn::LoadU(f32, x + i), constant(value)));
    if (lane >= 0) return i + lane;
  }
  for (; i < count; ++i)
    if (x[i] == value) return i;
  return 0;  // nothing but NaN
}

// --- the k largest ----------------------------------------------------------------------------------------------

// A heap whose root is the one to go next: the smallest, and of equals the one of highest index.
class Selection {
 public:
  Selection(std::int32_t* indices, float* values, std::int64_t k) : indices_(indices), values_(values), k_(k) {}

  float worst() const { return values_[0]; }
  void place(std::int64_t at, float value, std::int64_t index) {
    values_[at] = value;
    indices_[at] = static_cast<std::int32_t>(index);
  }
  void build() {
    for (std::int64_t at = k_ / 2; at-- > 0;) sift(at, k_);
  }
  void replace_worst(float value, std::int64_t index) {
    place(0, value, index);
    sift(0, k_);
  }
  // By falling value: the worst moves to the end.
  void sort() {
    for (std::int64_t end = k_ - 1; end > 0; --end) {
      swap(0, end);
      sift(0, end);
    }
  }

 private:
  bool goes_before(std::int64_t a, std::int64_t b) const {
    return values_[a] < values_[b] || (values_[a] == values_[b] && indices_[a] > indices_[b]);
  }
  void swap(std::int64_t a, std::int64_t b) {
    std::swap(values_[a], values_[b]);
    std::swap(indices_[a], indices_[b]);
  }
  void sift(std::int64_t at, std::int64_t size) {
    for (std::int64_t child = 2 * at + 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && goes_before(child + 1, child)) ++child;
      if (!goes_before(child, at)) return;
      swap(child, at);
      at = child;
    }
  }

  std::int32_t* indices_;
  float* values_;
  std::int64_t k_;
};

void top_k(const float* x, std::int64_t count, std::int64_t k, std::int32_t* indices, float* values) {
  if (k <= 0) return;
  Selection kept(indices, values, k);
  for (std::int64_t i = 0; i < k; ++i) kept.place(i, std::isnan(x[i]) ? -infinity : x[i], i);
  kept.build();
  // An equal value that comes later is never better, and NaN is above nothing.
  std::int64_t i = k;
  const auto offer = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t j = first; j < last; ++j)
      if (x[j] > kept.worst()) kept.replace_worst(x[j], j);
  };
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const VF worst = constant(kept.worst());
    auto above = hn::Gt(hn::LoadU(f32, x + i), worst);
#pragma GCC unroll 4
    for (std::int64_t u = 1; u < 4; ++u) above = hn::Or(above, hn::Gt(hn::LoadU(f32, x + i + u * lanes), worst));
    if (!hn::AllFalse(f32, above)) offer(i, i + 4 * lanes);
  }
  offer(i, count);
  kept.sort();
  for (std::int64_t at = 0; at < k; ++at) values[at] = x[indices[at]];
}

// --- conversions ------------------------------------------------------------------------------------------------

void to_f16(const float* x, std::uint16_t* out, std::int64_t count) {
  std::int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  const hn::Rebind<hwy::float16_t, F32> f16;
  const hn::Rebind<std::uint16_t, F32> u16;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::BitCast(u16, hn::DemoteTo(f16, hn::LoadU(f32, x + i))), u16, out + i);
#endif
  for (; i < count; ++i) out[i] = weft::f32_to_f16(x[i]);
}

void to_bf16(const float* x, std::uint16_t* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = weft::f32_to_bf16(x[i]);
}

template <class Element>
void widen(const std::uint16_t* x, float* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(load_as_f32<Element>(reinterpret_cast<const std::byte*>(x), i), f32, out + i);
  for (; i < count; ++i)
    out[i] = std::is_same_v<Element, hwy::bfloat16_t> ? weft::bf16_to_f32(x[i]) : weft::f16_to_f32(x[i]);
}

constexpr std::int64_t q8_block = 32, q8_bytes = 34;

void to_q8_0(const float* x, std::byte* out, std::int64_t blocks) {
  for (std::int64_t b = 0; b < blocks; ++b, x += q8_block, out += q8_bytes) {
    VF most = hn::Zero(f32), poison = hn::Zero(f32);
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < q8_block; i += lanes) {
      const VF v = hn::LoadU(f32, x + i);
      most = hn::Max(most, hn::Abs(v));
      poison = hn::Add(poison, hn::Mul(v, hn::Zero(f32)));  // NaN when any value is not finite
    }
    const float d = hn::GetLane(hn::MaxOfLanes(f32, most)) / 127.f + hn::GetLane(hn::SumOfLanes(f32, poison));
    const std::uint16_t scale = weft::f32_to_f16(d);
    std::memcpy(out, &scale, sizeof(scale));
    auto* codes = reinterpret_cast<std::int8_t*>(out + sizeof(scale));
    if (!(d > 0)) {
      std::memset(codes, 0, q8_block);
      continue;
    }
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < q8_block; i += lanes) {
      // Half away from zero: the part behind the point is exact.
      const VF t = hn::Div(hn::LoadU(f32, x + i), constant(d));
      const VF whole = hn::Trunc(t);
      const auto away = hn::Ge(hn::Abs(hn::Sub(t, whole)), constant(0.5f));
      const VF code = hn::Add(whole, hn::IfThenElseZero(away, hn::CopySign(constant(1.f), t)));
      const hn::Rebind<std::int8_t, F32> i8;
      hn::StoreU(hn::DemoteTo(i8, hn::ConvertTo(i32, code)), i8, codes + i);
    }
  }
}

void from_q8_0(const std::byte* x, float* out, std::int64_t blocks) {
  for (std::int64_t b = 0; b < blocks; ++b, x += q8_bytes, out += q8_block) {
    std::uint16_t bits;
    std::memcpy(&bits, x, sizeof(bits));
    const VF scale = constant(weft::f16_to_f32(bits));
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < q8_block; i += lanes)
      hn::StoreU(hn::Mul(load_as_f32<std::int8_t>(x + sizeof(bits), i), scale), f32, out + i);
  }
}

}  // namespace

void set_row_kernels(VectorKernels& kernels) {
  kernels.sum = sum;
  kernels.max = max;
  kernels.min = min;
  kernels.argmax = find_extreme<true>;
  kernels.argmin = find_extreme<false>;
  kernels.top_k = top_k;
  kernels.f32_to_f16 = to_f16;
  kernels.f16_to_f32 = widen<hwy::float16_t>;
  kernels.f32_to_bf16 = to_bf16;
  kernels.bf16_to_f32 = widen<hwy::bfloat16_t>;
  kernels.f32_to_q8_0 = to_q8_0;
  kernels.q8_0_to_f32 = from_q8_0;
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::cpu {

void set_row_kernels(VectorTarget target, VectorKernels& kernels) {
  WEFT_TARGET_FUNCTION(target, set_row_kernels)(kernels);
}

}  // namespace weft::cpu
#endif
