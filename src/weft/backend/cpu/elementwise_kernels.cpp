// Functions of one and two values over arrays.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "weft/backend/cpu/scalar_functions.h"
#include "weft/backend/cpu/vector_families.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/backend/cpu/vector_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/backend/cpu/elementwise_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/backend/cpu/vector_math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {
namespace {

// f of every element. The last ones go through a whole vector too, so that no element's result depends on its place.
template <class F>
HWY_INLINE void map_vectors(const float* x, float* out, std::int64_t count, F f) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(hn::LoadU(f32, x + i)), f32, out + i);
  if (i == count) return;
  HWY_ALIGN float tail[lanes] = {};
  std::copy_n(x + i, count - i, tail);
  hn::Store(f(hn::Load(f32, tail)), f32, tail);
  std::copy_n(tail, count - i, out + i);
}

HWY_INLINE VF one_if_above(VF x, VF otherwise) {
  return hn::IfThenElse(hn::Gt(x, hn::Zero(f32)), constant(1.f), otherwise);
}
HWY_INLINE VF six_of(VF x) {
  const VF y = hn::Add(x, constant(3.f));
  return hn::IfThenElse(hn::Gt(y, constant(6.f)), constant(6.f), hn::IfThenZeroElse(hn::Lt(y, hn::Zero(f32)), y));
}

void unary(UnaryKind kind, const float* x, float* out, std::int64_t n, float alpha) {
  const auto map = [&](auto f) { map_vectors(x, out, n, f); };
  const VF slope = constant(alpha);
  switch (kind) {
    case UnaryKind::gelu: return map([](VF v) { return gelu(v); });
    case UnaryKind::gelu_approx: return map([](VF v) { return gelu_approx(v); });
    case UnaryKind::gelu_quick: return map([](VF v) { return gelu_quick(v); });
    case UnaryKind::silu: return map([](VF v) { return silu(v); });
    case UnaryKind::relu: return map([](VF v) { return hn::IfThenZeroElse(hn::Lt(v, hn::Zero(f32)), v); });
    case UnaryKind::sigmoid: return map([](VF v) { return sigmoid(v); });
    case UnaryKind::tanh: return map([](VF v) { return tanh(v); });
    case UnaryKind::exp: return map([](VF v) { return exp(v); });
    case UnaryKind::log: return map([](VF v) { return log(v); });
    case UnaryKind::sqrt: return map([](VF v) { return hn::Sqrt(v); });
    case UnaryKind::rsqrt: return map([](VF v) { return hn::Div(constant(1.f), hn::Sqrt(v)); });
    case UnaryKind::neg: return map([](VF v) { return hn::Neg(v); });
    case UnaryKind::abs: return map([](VF v) { return hn::Abs(v); });
    case UnaryKind::round: return map([](VF v) { return hn::Round(v); });
    case UnaryKind::recip: return map([](VF v) { return hn::Div(constant(1.f), v); });
    case UnaryKind::floor: return map([](VF v) { return hn::Floor(v); });
    case UnaryKind::ceil: return map([](VF v) { return hn::Ceil(v); });
    case UnaryKind::trunc: return map([](VF v) { return hn::Trunc(v); });
    case UnaryKind::sign:
      return map([](VF v) { return one_if_above(v, hn::IfThenElse(hn::Lt(v, hn::Zero(f32)), constant(-1.f), v)); });
    case UnaryKind::softplus: return map([](VF v) { return softplus(v); });
    case UnaryKind::log_sigmoid: return map([](VF v) { return hn::Neg(softplus(hn::Neg(v))); });
    case UnaryKind::elu:
      return map([slope](VF v) { return hn::IfThenElse(hn::Gt(v, hn::Zero(f32)), v, hn::Mul(slope, expm1(v))); });
    case UnaryKind::leaky_relu:
      return map([slope](VF v) { return hn::IfThenElse(hn::Gt(v, hn::Zero(f32)), v, hn::Mul(slope, v)); });
    case UnaryKind::erf: return map([](VF v) { return erf(v); });
    case UnaryKind::expm1: return map([](VF v) { return expm1(v); });
    case UnaryKind::hard_sigmoid: return map([](VF v) { return hn::Div(six_of(v), constant(6.f)); });
    case UnaryKind::hard_swish: return map([](VF v) { return hn::Mul(v, hn::Div(six_of(v), constant(6.f))); });
    case UnaryKind::softsign: return map([](VF v) { return hn::Div(v, hn::Add(constant(1.f), hn::Abs(v))); });
    default: return scalar_unary(kind, x, out, n);
  }
}

// --- two operands -----------------------------------------------------------------------------------------------

// Elements [first, first + count) of an operand, all from one run of its memory or all the same.
struct Run {
  const float* data;
  bool same;
};
HWY_INLINE VF vector_of(const Run& run, std::int64_t i) {
  return run.same ? constant(*run.data) : hn::LoadU(f32, run.data + i);
}

template <class F>
HWY_INLINE void map_runs(const Run& a, const Run& b, float* out, std::int64_t count, F f) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(vector_of(a, i), vector_of(b, i)), f32, out + i);
  if (i == count) return;
  HWY_ALIGN float tail[2][lanes] = {};
  const auto fill = [&](const Run& run, float* to) {
    for (std::int64_t j = i; j < count; ++j) to[j - i] = run.same ? *run.data : run.data[j];
  };
  fill(a, tail[0]);
  fill(b, tail[1]);
  hn::Store(f(hn::Load(f32, tail[0]), hn::Load(f32, tail[1])), f32, tail[0]);
  std::copy_n(tail[0], count - i, out + i);
}

void binary_run(BinaryKind kind, const Run& a, const Run& b, float* out, std::int64_t n) {
  const auto map = [&](auto f) { map_runs(a, b, out, n, f); };
  switch (kind) {
    case BinaryKind::add: return map([](VF x, VF y) { return hn::Add(x, y); });
    case BinaryKind::sub: return map([](VF x, VF y) { return hn::Sub(x, y); });
    case BinaryKind::mul: return map([](VF x, VF y) { return hn::Mul(x, y); });
    case BinaryKind::div: return map([](VF x, VF y) { return hn::Div(x, y); });
    case BinaryKind::max:
      return map([](VF x, VF y) { return hn::IfThenElse(hn::Or(hn::Gt(y, x), hn::IsNaN(y)), y, x); });
    case BinaryKind::min:
      return map([](VF x, VF y) { return hn::IfThenElse(hn::Or(hn::Lt(y, x), hn::IsNaN(y)), y, x); });
    default:
      for (std::int64_t i = 0; i < n; ++i)
        out[i] = scalar_binary(kind, a.same ? *a.data : a.data[i], b.same ? *b.data : b.data[i]);
  }
}

void binary(BinaryKind kind, VectorOperand a, VectorOperand b, float* out, std::int64_t count) {
  const auto length = [&](const VectorOperand& operand, std::int64_t at) {
    return operand.period <= 1 ? count - at : operand.period - at % operand.period;
  };
  const auto run = [](const VectorOperand& operand, std::int64_t at) {
    return Run{operand.period == 0 ? operand.data + at : operand.data + at % operand.period, operand.period == 1};
  };
  for (std::int64_t at = 0; at < count;) {
    const std::int64_t n = std::min({count - at, length(a, at), length(b, at)});
    binary_run(kind, run(a, at), run(b, at), out + at, n);
    at += n;
  }
}

void gated(UnaryKind kind, const float* gate, const float* up, float* out, std::int64_t count) {
  if (kind == UnaryKind::silu)
    return map_runs({gate, false}, {up, false}, out, count, [](VF g, VF u) { return hn::Mul(silu(g), u); });
  constexpr std::int64_t piece = 256;
  HWY_ALIGN float values[piece];
  for (std::int64_t i = 0; i < count; i += piece) {
    const std::int64_t n = std::min(piece, count - i);
    unary(kind, gate + i, values, n, 1);
    map_runs({values, false}, {up + i, false}, out + i, n, [](VF g, VF u) { return hn::Mul(g, u); });
  }
}

void scaled_add(const float* x, float scale, const float* y, float* out, std::int64_t count) {
  map_runs({x, false}, {y, false}, out, count, [scale](VF a, VF b) { return hn::MulAdd(a, constant(scale), b); });
}

void fma(const float* a, const float* b, const float* c, float* out, std::int64_t count) {
  std::int64_t i = 0;
#if HWY_NATIVE_FMA
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::MulAdd(hn::LoadU(f32, a + i), hn::LoadU(f32, b + i), hn::LoadU(f32, c + i)), f32, out + i);
#endif
  for (; i < count; ++i) out[i] = std::fma(a[i], b[i], c[i]);
}

void clamp(const float* x, float low, float high, float* out, std::int64_t count) {
  map_vectors(x, out, count, [=](VF v) {
    const VF above = hn::IfThenElse(hn::Lt(v, constant(low)), constant(low), v);
    return hn::IfThenElse(hn::Gt(above, constant(high)), constant(high), above);
  });
}

void where(const float* condition, const float* a, const float* b, float* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto is_zero = hn::Eq(hn::LoadU(f32, condition + i), hn::Zero(f32));
    hn::StoreU(hn::IfThenElse(is_zero, hn::LoadU(f32, b + i), hn::LoadU(f32, a + i)), f32, out + i);
  }
  for (; i < count; ++i) out[i] = condition[i] != 0 ? a[i] : b[i];
}

}  // namespace

void set_elementwise_kernels(VectorKernels& kernels) {
  kernels.unary = unary;
  kernels.binary = binary;
  kernels.gated = gated;
  kernels.scaled_add = scaled_add;
  kernels.fma = fma;
  kernels.clamp = clamp;
  kernels.where = where;
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::cpu {

void set_elementwise_kernels(VectorTarget target, VectorKernels& kernels) {
  WEFT_TARGET_FUNCTION(target, set_elementwise_kernels)(kernels);
}

}  // namespace weft::cpu
#endif
