#include "weft/ops/float_rows.h"

#include <bit>
#include <cmath>

#include "weft/base/fail.h"
#include "weft/base/half.h"

namespace weft::ops {
namespace {

[[noreturn]] void refuse(DType dtype) {
  fail(ErrorKind::dtype_mismatch, "UnsupportedDtype", "", "{} is no floating type", to_string(dtype));
}

}  // namespace

float rounded_to_odd(double x) {
  const auto near = static_cast<float>(x);
  if (std::isnan(x) || static_cast<double>(near) == x) return near;
  auto bits = std::bit_cast<std::uint32_t>(near);
  if (std::fabs(static_cast<double>(near)) > std::fabs(x)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

void load_row(const Tensor& tensor, std::int64_t offset, std::span<double> values) {
  const auto start = static_cast<std::size_t>(offset);
  const auto fill = [&]<class T, class Convert>(const T* from, Convert convert) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(convert(from[start + i]));
  };
  switch (tensor.dtype()) {
    case DType::f32: return fill(tensor.values<float>().data(), [](float x) { return x; });
    case DType::f64: return fill(tensor.values<double>().data(), [](double x) { return x; });
    case DType::f16: return fill(tensor.values<std::uint16_t>().data(), f16_to_f32);
    case DType::bf16: return fill(tensor.values<std::uint16_t>().data(), bf16_to_f32);
    default: refuse(tensor.dtype());
  }
}

void store_row(Tensor& tensor, std::int64_t offset, std::span<const double> values) {
  const auto start = static_cast<std::size_t>(offset);
  const auto fill = [&]<class T, class Convert>(T* to, Convert convert) {
    for (std::size_t i = 0; i < values.size(); ++i) to[start + i] = convert(values[i]);
  };
  switch (tensor.dtype()) {
    case DType::f32: return fill(tensor.mutable_values<float>().data(), [](double x) { return static_cast<float>(x); });
    case DType::f64: return fill(tensor.mutable_values<double>().data(), [](double x) { return x; });
    case DType::f16:
      return fill(tensor.mutable_values<std::uint16_t>().data(),
                  [](double x) { return f32_to_f16(rounded_to_odd(x)); });
    case DType::bf16:
      return fill(tensor.mutable_values<std::uint16_t>().data(),
                  [](double x) { return f32_to_bf16(rounded_to_odd(x)); });
    default: refuse(tensor.dtype());
  }
}

}  // namespace weft::ops
