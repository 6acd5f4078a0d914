#include "weft/ops/special_functions.h"

#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>

namespace weft::ops {

double digamma(double x) {
  if (x == 0) return -std::copysign(std::numeric_limits<double>::infinity(), x);
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    // Reflection; the tangent of the fraction alone keeps its accuracy far from 0.
    return digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * (x - std::trunc(x)));
  }
  // psi(x) = psi(x + 1) - 1/x up to where the asymptotic series is exact: its last term here is below 1e-17.
  double sum = 0;
  while (x < 10) {
    sum -= 1 / x;
    x += 1;
  }
  // ln x - 1/(2x) - sum over k of B_2k / (2k x^2k)
  constexpr double terms[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
  const double step = 1 / (x * x);
  double series = 0;
  for (std::size_t k = std::size(terms); k-- > 0;) series = (series + terms[k]) * step;
  return sum + std::log(x) - 0.5 / x - series;
}

double erf_inv(double y) {
  if (std::isnan(y) || std::abs(y) > 1) return std::numeric_limits<double>::quiet_NaN();
  if (std::abs(y) == 1) return std::copysign(std::numeric_limits<double>::infinity(), y);
  if (y == 0) return y;
  // Winitzki's closed form is within 2e-3; each Halley step on erf(x) - y triples the digits.
  constexpr double a = 0.147;
  const double logarithm = std::log1p(-y * y);
  const double half = 2 / (std::numbers::pi * a) + logarithm / 2;
  double x = std::copysign(std::sqrt(std::sqrt(half * half - logarithm / a) - half), y);
  for (int step = 0; step < 4; ++step) {
    // erf(x) - y; near +-1 the complements keep the digits that erf has lost.
    const double residual = std::abs(y) < 0.5 ? std::erf(x) - y
                            : y > 0           ? (1 - y) - std::erfc(x)
                                              : std::erfc(-x) - (1 + y);
    const double newton = residual / (2 * std::numbers::inv_sqrtpi * std::exp(-x * x));
    const double delta = newton / (1 + x * newton);
    if (!std::isfinite(delta)) break;
    x -= delta;
  }
  return x;
}

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

}  // namespace weft::ops
