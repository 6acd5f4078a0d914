// How results are compared with expected ones: one rule per kind of op, one row per dtype, stated here and nowhere
// else. Pure functions.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/half.h"
#include "weft/base/tensor.h"

namespace weft::test {

// exact: equal bytes (any NaN equals any NaN, zeros keep their signs). elementwise, transcendental: units in the last
// place. sum: relative to the sum of the magnitudes that were added (|A||B| of a matmul). softmax: relative to the
// probability. row (norms, attention): relative to the largest magnitude of the result's row.
enum class Rule { exact, elementwise, transcendental, sum, softmax, row };

inline std::optional<Rule> rule_named(std::string_view name) {
  constexpr std::string_view names[] = {"exact", "elementwise", "transcendental", "sum", "softmax", "row"};
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (names[i] == name) return static_cast<Rule>(i);
  return std::nullopt;
}

struct Tolerance {
  double elementwise_ulps, transcendental_ulps, sum, softmax, softmax_floor, row;
};

inline constexpr Tolerance f32_tolerance{4, 8, 1e-6, 2e-6, 1e-12, 1e-5};
inline constexpr Tolerance f64_tolerance{4, 8, 1e-15, 4e-15, 1e-21, 2e-14};
// A 16-bit result is an f32 result within the f32 row, rounded once more: half a unit of its own on each side.
inline constexpr double half_float_ulps = 1;

// The distance between neighbors at x in a format with `bits` of significand and this smallest normal exponent.
inline double ulp_at(double x, int bits, int smallest_exponent) {
  const int exponent = x == 0 ? smallest_exponent : std::max(std::ilogb(x), smallest_exponent);
  return std::ldexp(1.0, exponent - bits + 1);
}

inline double value_at(const Tensor& tensor, std::size_t i) {
  switch (tensor.dtype()) {
    case DType::f32: return tensor.values<float>()[i];
    case DType::f64: return tensor.values<double>()[i];
    case DType::f16: return f16_to_f32(tensor.values<std::uint16_t>()[i]);
    case DType::bf16: return bf16_to_f32(tensor.values<std::uint16_t>()[i]);
    default: return 0;
  }
}

inline double allowed_error(DType dtype, Rule rule, double expected, double magnitude) {
  const Tolerance& row = dtype == DType::f64 ? f64_tolerance : f32_tolerance;
  const double ulp = dtype == DType::f64 ? ulp_at(expected, 53, -1022) : ulp_at(expected, 24, -126);
  double allowed = 0;
  switch (rule) {
    case Rule::exact: break;
    case Rule::elementwise: allowed = row.elementwise_ulps * ulp; break;
    case Rule::transcendental: allowed = row.transcendental_ulps * ulp; break;
    case Rule::sum: allowed = row.sum * magnitude; break;
    case Rule::softmax: allowed = row.softmax * std::abs(expected) + row.softmax_floor; break;
    case Rule::row: allowed = row.row * magnitude; break;
  }
  if (dtype == DType::f16) allowed += half_float_ulps * ulp_at(expected, 11, -14);
  if (dtype == DType::bf16) allowed += half_float_ulps * ulp_at(expected, 8, -126);
  return allowed;
}

// Nothing when `actual` agrees with `expected`; else what differs first. `magnitudes` belong to the rule sum.
inline std::optional<std::string> difference(const Tensor& actual, const Tensor& expected, Rule rule,
                                             std::span<const float> magnitudes = {}) {
  if (actual.dtype() != expected.dtype() || actual.dims() != expected.dims())
    return "type " + dims_text(actual.dims()) + " " + std::string(to_string(actual.dtype())) + ", expected " +
           dims_text(expected.dims()) + " " + std::string(to_string(expected.dtype()));
  if (!is_float(actual.dtype())) {
    const auto a = actual.bytes(), b = expected.bytes();
    const auto at = std::mismatch(a.begin(), a.end(), b.begin()).first;
    if (at == a.end()) return std::nullopt;
    return "byte " + std::to_string(at - a.begin()) + " of " + std::to_string(a.size()) + " differs";
  }
  const auto count = static_cast<std::size_t>(expected.numel());
  const std::size_t width = expected.rank() == 0 ? 1 : static_cast<std::size_t>(expected.dims().back());
  for (std::size_t i = 0; i < count; ++i) {
    const double a = value_at(actual, i), b = value_at(expected, i);
    const auto report = [&](double allowed) {
      char text[160];
      std::snprintf(text, sizeof text, "element %zu is %.17g, expected %.17g, error %.3g, allowed %.3g", i, a, b,
                    std::abs(a - b), allowed);
      return std::string(text);
    };
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b && (rule != Rule::exact || std::signbit(a) == std::signbit(b))) continue;
    if (rule == Rule::exact || !std::isfinite(a) || !std::isfinite(b)) return report(0);
    double magnitude = i < magnitudes.size() ? magnitudes[i] : std::abs(b);
    if (rule == Rule::row) {
      magnitude = 0;
      for (std::size_t j = i / width * width; j < i / width * width + width; ++j)
        magnitude = std::max(magnitude, std::abs(value_at(expected, j)));
    }
    const double allowed = allowed_error(actual.dtype(), rule, b, magnitude);
    if (!(std::abs(a - b) <= allowed)) return report(allowed);
  }
  return std::nullopt;
}

// Results of Graph IR ops, whatever computes them: |a - b| <= tolerance * max(1, max |b|) over the tensor; 0 asks for
// equal bytes.
struct GraphTolerance {
  double value = 0;
};

// "exact", "elementwise", "reduction:K" (sums of K products), "norm", "attention", "quantized" (products with weights
// of 8 bits or fewer, whose activations may be rounded too).
inline std::optional<GraphTolerance> graph_tolerance(std::string_view name) {
  constexpr std::string_view reduction = "reduction:";
  if (name == "exact") return GraphTolerance{};
  if (name == "elementwise") return GraphTolerance{1e-6};
  if (name == "norm") return GraphTolerance{1e-5};
  if (name == "attention") return GraphTolerance{2e-5};
  if (name == "quantized") return GraphTolerance{1e-2};
  if (!name.starts_with(reduction)) return std::nullopt;
  return GraphTolerance{3e-7 * std::sqrt(std::stod(std::string(name.substr(reduction.size()))))};
}

inline std::optional<std::string> graph_difference(const Tensor& actual, const Tensor& expected,
                                                   const GraphTolerance& tolerance) {
  if (tolerance.value == 0 || !is_float(actual.dtype()) || actual.dims() != expected.dims())
    return difference(actual, expected, Rule::exact);
  double largest = 1;
  const auto count = static_cast<std::size_t>(expected.numel());
  for (std::size_t i = 0; i < count; ++i)
    if (const double b = std::abs(value_at(expected, i)); std::isfinite(b)) largest = std::max(largest, b);
  // The rule of sums, with the magnitudes for which it allows this much.
  const std::vector<float> magnitudes(count, static_cast<float>(tolerance.value * largest / f32_tolerance.sum));
  return difference(actual, expected, Rule::sum, magnitudes);
}

}  // namespace weft::test
