#include "weft/ops/element.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "weft/base/block_codec.h"
#include "weft/base/fail.h"
#include "weft/base/half.h"

namespace weft::ops {
namespace {

template <class T>
T saturated(double x) {
  if (std::isnan(x)) return 0;
  x = std::trunc(x);
  // The upper limit of 64-bit types is no f64; the comparison against 2^63 or 2^64 is exact.
  if (x < static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (x >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
  return static_cast<T>(x);
}

// The nearest f32, rounded to odd where it is inexact, so that a half float may be rounded from it.
float odd_f32(double x) {
  const auto near = static_cast<float>(x);
  if (static_cast<double>(near) == x || !std::isfinite(near)) return near;
  auto bits = std::bit_cast<std::uint32_t>(near);
  if (std::abs(static_cast<double>(near)) > std::abs(x)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

struct Boolean {};
struct Half {};
struct Brain {};

// Calls visit with the C++ type that holds an element of a plain real dtype, or a tag where none does.
template <class Visit>
void with_element_type(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::f32: return visit(float{});
    case DType::f64: return visit(double{});
    case DType::f16: return visit(Half{});
    case DType::bf16: return visit(Brain{});
    case DType::boolean: return visit(Boolean{});
    case DType::i8: return visit(std::int8_t{});
    case DType::u8: return visit(std::uint8_t{});
    case DType::i16: return visit(std::int16_t{});
    case DType::u16: return visit(std::uint16_t{});
    case DType::i32: return visit(std::int32_t{});
    case DType::u32: return visit(std::uint32_t{});
    case DType::i64: return visit(std::int64_t{});
    case DType::u64: return visit(std::uint64_t{});
    default: fail(ErrorKind::dtype_mismatch, "UnsupportedDtype", "", "{} has no plain real elements", to_string(dtype));
  }
}

template <class Convert, class From, class To>
void convert_all(std::span<const From> from, std::span<To> to, Convert convert) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = convert(from[i]);
}

template <class T>
std::span<const T> range(const Tensor& tensor, std::int64_t start, std::size_t count) {
  return tensor.values<T>().subspan(static_cast<std::size_t>(start), count);
}

template <class T>
std::span<T> mutable_range(Tensor& tensor, std::int64_t start, std::size_t count) {
  return tensor.mutable_values<T>().subspan(static_cast<std::size_t>(start), count);
}

}  // namespace

void load_f64(const Tensor& tensor, std::int64_t start, std::span<double> values) {
  const std::size_t n = values.size();
  with_element_type(tensor.dtype(), [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, Half>)
      convert_all(range<std::uint16_t>(tensor, start, n), values, [](std::uint16_t x) { return f16_to_f32(x); });
    else if constexpr (std::is_same_v<T, Brain>)
      convert_all(range<std::uint16_t>(tensor, start, n), values, [](std::uint16_t x) { return bf16_to_f32(x); });
    else if constexpr (std::is_same_v<T, Boolean>)
      convert_all(range<std::uint8_t>(tensor, start, n), values, [](std::uint8_t x) { return x != 0 ? 1.0 : 0.0; });
    else
      convert_all(range<T>(tensor, start, n), values, [](T x) { return static_cast<double>(x); });
  });
}

void load_i64(const Tensor& tensor, std::int64_t start, std::span<std::int64_t> values) {
  const std::size_t n = values.size();
  with_element_type(tensor.dtype(), [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, Boolean>)
      convert_all(range<std::uint8_t>(tensor, start, n), values, [](std::uint8_t x) { return x != 0 ? 1 : 0; });
    else if constexpr (std::is_integral_v<T>)
      convert_all(range<T>(tensor, start, n), values, [](T x) { return static_cast<std::int64_t>(x); });
    else
      fail(ErrorKind::dtype_mismatch, "UnsupportedDtype", "", "{} is no integer type", to_string(tensor.dtype()));
  });
}

void store_f64(Tensor& tensor, std::int64_t start, std::span<const double> values) {
  const std::size_t n = values.size();
  with_element_type(tensor.dtype(), [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, Half>)
      convert_all(values, mutable_range<std::uint16_t>(tensor, start, n),
                  [](double x) { return f32_to_f16(odd_f32(x)); });
    else if constexpr (std::is_same_v<T, Brain>)
      convert_all(values, mutable_range<std::uint16_t>(tensor, start, n),
                  [](double x) { return f32_to_bf16(odd_f32(x)); });
    else if constexpr (std::is_same_v<T, Boolean>)
      convert_all(values, mutable_range<std::uint8_t>(tensor, start, n),
                  [](double x) { return static_cast<std::uint8_t>(x != 0); });
    else if constexpr (std::is_integral_v<T>)
      convert_all(values, mutable_range<T>(tensor, start, n), [](double x) { return saturated<T>(x); });
    else
      convert_all(values, mutable_range<T>(tensor, start, n), [](double x) { return static_cast<T>(x); });
  });
}

void store_i64(Tensor& tensor, std::int64_t start, std::span<const std::int64_t> values) {
  const std::size_t n = values.size();
  with_element_type(tensor.dtype(), [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, Boolean>) {
      convert_all(values, mutable_range<std::uint8_t>(tensor, start, n),
                  [](std::int64_t x) { return static_cast<std::uint8_t>(x != 0); });
    } else if constexpr (std::is_integral_v<T>) {
      convert_all(values, mutable_range<T>(tensor, start, n), [](std::int64_t x) { return static_cast<T>(x); });
    } else if constexpr (std::is_same_v<T, float>) {
      convert_all(values, mutable_range<T>(tensor, start, n), [](std::int64_t x) { return static_cast<float>(x); });
    } else {
      const std::vector<double> reals(values.begin(), values.end());
      store_f64(tensor, start, reals);
    }
  });
}

std::vector<double> load_f64(const Tensor& tensor) {
  if (tensor.dtype() == DType::c64)
    fail(ErrorKind::dtype_mismatch, "UnsupportedDtype", "", "a complex tensor has no real values");
  std::vector<double> values(static_cast<std::size_t>(tensor.numel()));
  load_f64(is_packed(tensor.dtype()) ? tensor.to_f32() : tensor, 0, values);
  return values;
}

std::vector<std::int64_t> load_i64(const Tensor& tensor) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(tensor.numel()));
  load_i64(tensor, 0, values);
  return values;
}

void store_f64(Tensor& tensor, std::span<const double> values) {
  if (!is_packed(tensor.dtype())) return store_f64(tensor, 0, values);
  const std::vector<float> rounded(values.begin(), values.end());
  encode_from_f32(tensor.dtype(), rounded, tensor.mutable_bytes());
}

void store_i64(Tensor& tensor, std::span<const std::int64_t> values) { store_i64(tensor, 0, values); }

double rounded_to_odd(double x, double error) {
  if (error == 0 || !std::isfinite(x) || (std::bit_cast<std::uint64_t>(x) & 1) != 0) return x;
  return std::nextafter(x, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

std::vector<std::int64_t> strides_of(std::span<const std::int64_t> dims) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t step = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = step;
    step *= dims[axis];
  }
  return strides;
}

std::vector<std::int64_t> broadcast_strides(std::span<const std::int64_t> dims, std::span<const std::int64_t> target) {
  const auto own = strides_of(dims);
  std::vector<std::int64_t> strides(target.size(), 0);
  const std::size_t shift = target.size() - dims.size();
  for (std::size_t axis = 0; axis < dims.size(); ++axis) strides[axis + shift] = dims[axis] == 1 ? 0 : own[axis];
  return strides;
}

}  // namespace weft::ops
