#include "weft/backend/cpu/scalar_functions.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::cpu {
namespace {

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

template <class F>
void map(const float* x, float* out, std::int64_t count, F f) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(f(static_cast<double>(x[i])));
}

}  // namespace

void scalar_unary(UnaryKind kind, const float* x, float* out, std::int64_t count) {
  const auto each = [&](auto f) { map(x, out, count, f); };
  switch (kind) {
    case UnaryKind::sin: return each([](double v) { return std::sin(v); });
    case UnaryKind::cos: return each([](double v) { return std::cos(v); });
    case UnaryKind::tan: return each([](double v) { return std::tan(v); });
    case UnaryKind::atan: return each([](double v) { return std::atan(v); });
    case UnaryKind::mish: return each([](double v) { return std::isnan(v) ? v : v * std::tanh(softplus(v)); });
    case UnaryKind::log1p: return each([](double v) { return std::log1p(v); });
    case UnaryKind::asin: return each([](double v) { return std::asin(v); });
    case UnaryKind::acos: return each([](double v) { return std::acos(v); });
    case UnaryKind::sinh: return each([](double v) { return std::sinh(v); });
    case UnaryKind::cosh: return each([](double v) { return std::cosh(v); });
    case UnaryKind::asinh: return each([](double v) { return std::asinh(v); });
    case UnaryKind::acosh: return each([](double v) { return std::acosh(v); });
    case UnaryKind::atanh: return each([](double v) { return std::atanh(v); });
    case UnaryKind::cbrt: return each([](double v) { return std::cbrt(v); });
    default: std::fill_n(out, count, std::numeric_limits<float>::quiet_NaN());  // the others have a vector form
  }
}

float scalar_binary(BinaryKind kind, float a, float b) {
  const double x = static_cast<double>(a), y = static_cast<double>(b);
  switch (kind) {
    case BinaryKind::pow: return static_cast<float>(std::pow(x, y));
    case BinaryKind::mod: return static_cast<float>(std::fmod(x, y));
    case BinaryKind::atan2: return static_cast<float>(std::atan2(x, y));
    default: return std::numeric_limits<float>::quiet_NaN();  // the others have a vector form
  }
}

}  // namespace weft::cpu
