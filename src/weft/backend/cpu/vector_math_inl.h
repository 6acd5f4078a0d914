// Functions of f32 vectors, compiled once for each Highway target: include it after hwy/highway.h. Errors are below 8
// units in the last place of the exact result over the whole range, subnormal results included; NaN stays NaN. The
// polynomials are minimax fits. A lane's result depends on its argument alone, never on its place.

#if defined(WEFT_BACKEND_CPU_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_BACKEND_CPU_VECTOR_MATH_INL_H
#undef WEFT_BACKEND_CPU_VECTOR_MATH_INL_H
#else
#define WEFT_BACKEND_CPU_VECTOR_MATH_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using VF = hn::Vec<F32>;
using VI = hn::Vec<I32>;
constexpr F32 f32;
constexpr I32 i32;
constexpr U32 u32;
constexpr std::ptrdiff_t lanes = hn::MaxLanes(F32());

HWY_INLINE VF constant(float value) { return hn::Set(f32, value); }

// x within bounds; NaN stays NaN.
HWY_INLINE VF clamped(VF x, float low, float high) {
#if HWY_TARGET == HWY_SCALAR
  const VF above = hn::IfThenElse(hn::Lt(x, constant(low)), constant(low), x);
  return hn::IfThenElse(hn::Gt(above, constant(high)), constant(high), above);
#else
  // Elsewhere Min and Max give their second operand when that is NaN.
  return hn::Max(constant(low), hn::Min(constant(high), x));
#endif
}

// c[0] + x (c[1] + x (c[2] + ...))
template <std::size_t N>
HWY_INLINE VF polynomial(VF x, const float (&c)[N]) {
  VF y = constant(c[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) y = hn::MulAdd(y, x, constant(c[i]));
  return y;
}

// e^(x + low) = 2^n (1 + p) for finite x, with |low| far below 1; the integer n is a float.
struct Exponential {
  VF n, p;
};
HWY_INLINE Exponential exponential_parts(VF x, VF low) {
  const VF n = hn::Round(hn::Mul(x, constant(1.44269504f)));
  // ln 2 in two parts; the products with the first are exact.
  VF r = hn::NegMulAdd(n, constant(0.693359375f), x);
  r = hn::Add(hn::NegMulAdd(n, constant(-2.12194440e-4f), r), low);
  const VF tail = polynomial(r, {0.5f, 0.166666672f, 0.0416663811f, 0.00833327696f, 0.00139394903f, 0.000199124144f});
  return {n, hn::MulAdd(hn::Mul(r, r), tail, r)};
}
HWY_INLINE VF power_of_two(VI n) { return hn::BitCast(f32, hn::ShiftLeft<23>(hn::Add(n, hn::Set(i32, 127)))); }
// x 2^n for n in -252 .. 254, rounded to subnormals once.
HWY_INLINE VF scaled_by_power(VF x, VF n) {
  const VI whole = hn::ConvertTo(i32, n);
  const VI first = hn::ShiftRight<1>(whole);
  return hn::Mul(hn::Mul(x, power_of_two(first)), power_of_two(hn::Sub(whole, first)));
}

// e^(x + low)
HWY_INLINE VF exp_sum(VF x, VF low) {
  const Exponential e = exponential_parts(clamped(x, -105, 90), low);
  return scaled_by_power(hn::Add(constant(1.f), e.p), e.n);
}
HWY_INLINE VF exp(VF x) { return exp_sum(x, hn::Zero(f32)); }

HWY_INLINE VF expm1(VF x) {
  const Exponential e = exponential_parts(clamped(x, -30, 90), hn::Zero(f32));
  // 2^n - 1 + 2^n p. From 2^24 on the 1 is lost, and 2^128 needs the two steps.
  const VF scale = power_of_two(hn::ConvertTo(i32, hn::Min(constant(126.f), e.n)));
  const VF small = hn::MulAdd(scale, e.p, hn::Sub(scale, constant(1.f)));
  const VF large = scaled_by_power(hn::Add(constant(1.f), e.p), e.n);
  const VF result = hn::IfThenElse(hn::Gt(e.n, constant(60.f)), large, small);
  return hn::IfThenElse(hn::Eq(x, hn::Zero(f32)), x, result);
}

// e ln 2 + ln(1 + f), with f from sqrt(1/2) - 1 to sqrt(2) - 1.
HWY_INLINE VF log_of_parts(VF e, VF f) {
  const VF square = hn::Mul(f, f);
  const VF tail = polynomial(f, {0.333333224f, -0.249999866f, 0.200015545f, -0.166689396f, 0.142304301f, -0.123949617f,
                                 0.118036024f, -0.117088214f, 0.0696746334f});
  VF y = hn::Mul(hn::Mul(f, square), tail);
  y = hn::MulAdd(e, constant(-2.12194440e-4f), y);
  y = hn::NegMulAdd(constant(0.5f), square, y);
  return hn::MulAdd(e, constant(0.693359375f), hn::Add(f, y));
}
// ln x for positive finite normal x
HWY_INLINE VF log_of_normal(VF x, VF bias) {
  const VI bits = hn::BitCast(i32, x);
  // The exponent that leaves a mantissa from sqrt(1/2) to sqrt(2).
  const VI e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(i32, 0x3F3504F3)));
  const VF m = hn::BitCast(f32, hn::Sub(bits, hn::ShiftLeft<23>(e)));
  return log_of_parts(hn::Add(hn::ConvertTo(f32, e), bias), hn::Sub(m, constant(1.f)));
}
HWY_INLINE VF log(VF x) {
  const auto tiny = hn::Lt(x, constant(0x1p-126f));
  const VF normal = hn::IfThenElse(tiny, hn::Mul(x, constant(0x1p24f)), x);
  VF y = log_of_normal(normal, hn::IfThenElseZero(tiny, constant(-24.f)));
  y = hn::IfThenElse(hn::Eq(x, constant(HUGE_VALF)), x, y);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(f32)), constant(-HUGE_VALF), y);
  return hn::IfThenElse(hn::Ge(x, hn::Zero(f32)), y, constant(NAN));
}
// ln(1 + t) for t from 0 to 1
HWY_INLINE VF log1p_of_fraction(VF t) {
  const VF u = hn::Add(constant(1.f), t);
  // What the sum lost, relative to u.
  const VF lost = hn::Div(hn::Sub(t, hn::Sub(u, constant(1.f))), u);
  return hn::Add(log_of_normal(u, hn::Zero(f32)), lost);
}

HWY_INLINE VF tanh(VF x) {
  // With m = e^(-2|x|) - 1: tanh |x| = -m / (m + 2), which neither overflows nor cancels.
  const VF m = expm1(hn::Mul(constant(-2.f), hn::Abs(x)));
  return hn::CopySign(hn::Div(m, hn::Add(m, constant(2.f))), x);
}

HWY_INLINE VF sigmoid(VF x) {
  // The exponential of a negative number cannot overflow.
  const VF e = exp(hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(f32)), e, constant(1.f)), hn::Add(constant(1.f), e));
}
// x / (1 + e^-(u + low)), for x and u of one sign
HWY_INLINE VF times_sigmoid(VF x, VF u, VF low) {
  const auto negative = hn::Lt(u, hn::Zero(f32));
  const Exponential e =
      exponential_parts(clamped(hn::Neg(hn::Abs(u)), -125, 0), hn::IfThenElse(negative, low, hn::Neg(low)));
  const VI n = hn::ConvertTo(i32, e.n), first = hn::ShiftRight<1>(n);
  const VF part = hn::Mul(hn::Add(constant(1.f), e.p), power_of_two(first));
  const VF rest = power_of_two(hn::Sub(n, first));
  // x comes in before the last scaling, which may round to a subnormal.
  const VF top = hn::IfThenElse(negative, hn::Mul(hn::Mul(part, x), rest), x);
  const VF y = hn::Div(top, hn::Add(constant(1.f), hn::Mul(part, rest)));
  return hn::IfThenElse(hn::Lt(u, constant(-120.f)), hn::Mul(x, hn::Zero(f32)), y);
}
HWY_INLINE VF silu(VF x) { return times_sigmoid(x, x, hn::Zero(f32)); }

HWY_INLINE VF softplus(VF x) {
  const VF y = hn::Add(hn::Max(x, hn::Zero(f32)), log1p_of_fraction(exp(hn::Neg(hn::Abs(x)))));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// A number as the sum of two floats.
struct Pair {
  VF high, low;
};
// The first 12 bits of x, whose products with each other are exact.
HWY_INLINE VF leading_bits(VF x) { return hn::BitCast(f32, hn::And(hn::BitCast(u32, x), hn::Set(u32, 0xFFFFF000u))); }
HWY_INLINE Pair product(VF a, VF b) {
  const VF high = hn::Mul(a, b);
  const VF a1 = leading_bits(a), b1 = leading_bits(b), a2 = hn::Sub(a, a1), b2 = hn::Sub(b, b1);
  // The order keeps every step exact, with fused operations or without.
  VF low = hn::Sub(hn::Mul(a1, b1), high);
  low = hn::Add(low, hn::Mul(a1, b2));
  low = hn::Add(low, hn::Mul(a2, b1));
  return {high, hn::Add(low, hn::Mul(a2, b2))};
}

// erfc(|x| / sqrt 2), accurate to the last value that is not 0.
HWY_INLINE VF upper_tail(VF x) {
  const VF z = hn::Min(constant(16.f), hn::Abs(x));
  const VF t = hn::Div(hn::Sub(z, constant(4.f)), hn::Add(z, constant(4.f)));
  // erfc(z / sqrt 2) e^(z^2 / 2) (1 + z)
  const VF scaled =
      polynomial(t, {0.9441064f, -0.19340694f, 0.0279991943f, 0.057199955f, -0.0643945709f, 0.0358804166f,
                     -0.0100085773f, -0.000607387396f, 0.00138543418f, -0.000121541962f, -0.000143383179f});
  const VF z1 = leading_bits(z);
  const VF square = hn::Mul(constant(-0.5f), hn::Mul(z1, z1));  // exact
  const VF rest = hn::Mul(hn::Mul(constant(-0.5f), hn::Sub(z, z1)), hn::Add(z, z1));
  return hn::Div(hn::Mul(exp_sum(square, rest), scaled), hn::Add(constant(1.f), z));
}
HWY_INLINE VF gelu(VF x) {
  const VF half = hn::Mul(constant(0.5f), x), tail = upper_tail(x);
  const auto negative = hn::Lt(x, hn::Zero(f32));
  const VF y = hn::Mul(half, hn::IfThenElse(negative, tail, hn::Sub(constant(2.f), tail)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}
HWY_INLINE VF erf(VF x) {
  const VF magnitude = hn::Abs(x);
  const VF small = hn::Mul(x, polynomial(hn::Mul(x, x), {1.12837911f, -0.37612626f, 0.112835854f, -0.026853811f,
                                                         0.00518832775f, -0.000801019254f, 7.85385782e-05f}));
  const VF tail = upper_tail(hn::Mul(magnitude, constant(1.41421356f)));
  const VF large = hn::CopySign(hn::Sub(constant(1.f), tail), x);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::Lt(magnitude, constant(1.f)), small, large));
}

// x s(1.702 x): far to the left the argument's last bits decide.
HWY_INLINE VF gelu_quick(VF x) {
  const Pair u = product(constant(1.702f), x);
  const VF low = hn::MulAdd(constant(-2.19345093e-8f), x, u.low);
  // Infinite arguments have no low part.
  const auto finite = hn::Lt(hn::Abs(x), constant(1e6f));
  return times_sigmoid(x, u.high, hn::IfThenElseZero(finite, low));
}
// x s(2 sqrt(2 / pi) (x + 0.044715 x^3))
HWY_INLINE VF gelu_approx(VF x) {
  const VF bounded = clamped(x, -30, 30);
  const Pair square = product(bounded, bounded);
  const Pair cubic = product(constant(0.044715f), square.high);
  VF cubic_low = hn::MulAdd(constant(0.044715f), square.low, cubic.low);
  cubic_low = hn::MulAdd(constant(1.54614443e-9f), square.high, cubic_low);
  const VF sum = hn::Add(constant(1.f), cubic.high);
  // Two-sum: what the addition lost.
  const VF shared = hn::Sub(sum, constant(1.f));
  const VF lost = hn::Add(hn::Sub(constant(1.f), hn::Sub(sum, shared)), hn::Sub(cubic.high, shared));
  const VF sum_low = hn::Add(lost, cubic_low);
  const Pair scaled = product(constant(1.59576917f), bounded);
  const VF scaled_low = hn::MulAdd(constant(-4.53406805e-8f), bounded, scaled.low);
  const Pair u = product(scaled.high, sum);
  const VF low = hn::MulAdd(scaled.high, sum_low, hn::MulAdd(scaled_low, sum, u.low));
  return times_sigmoid(x, u.high, low);
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
