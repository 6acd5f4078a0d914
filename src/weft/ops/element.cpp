#include "weft/ops/element.h"

#include <cmath>
#include <limits>

#include "weft/base/block_codec.h"
#include "weft/base/fail.h"

namespace weft::ops {
namespace {

template <class T, class U>
std::vector<U> widened(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

template <class U>
std::vector<U> load_integers(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::i8: return widened<std::int8_t, U>(tensor);
    case DType::u8:
    case DType::boolean: return widened<std::uint8_t, U>(tensor);
    case DType::i16: return widened<std::int16_t, U>(tensor);
    case DType::u16: return widened<std::uint16_t, U>(tensor);
    case DType::i32: return widened<std::int32_t, U>(tensor);
    case DType::u32: return widened<std::uint32_t, U>(tensor);
    case DType::i64: return widened<std::int64_t, U>(tensor);
    case DType::u64: return widened<std::uint64_t, U>(tensor);
    default:
      fail(ErrorKind::dtype_mismatch, "UnsupportedDtype", "", "{} is no integer type", to_string(tensor.dtype()));
  }
}

template <class T>
T saturated(double x) {
  if (std::isnan(x)) return 0;
  x = std::trunc(x);
  // The upper limit of 64-bit types is no f64; the comparison against 2^63 or 2^64 is exact.
  if (x < static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (x >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
  return static_cast<T>(x);
}

template <class T, class Convert>
void fill(Tensor& tensor, std::size_t count, Convert convert) {
  auto out = tensor.mutable_values<T>();
  for (std::size_t i = 0; i < count; ++i) out[i] = convert(i);
}

}  // namespace

std::vector<double> load_f64(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::f32: return widened<float, double>(tensor);
    case DType::f64: return widened<double, double>(tensor);
    default: break;
  }
  if (is_integer(tensor.dtype()) || tensor.dtype() == DType::boolean) return load_integers<double>(tensor);
  if (tensor.dtype() == DType::c64)
    fail(ErrorKind::dtype_mismatch, "UnsupportedDtype", "", "a complex tensor has no real values");
  return widened<float, double>(tensor.to_f32());
}

std::vector<std::int64_t> load_i64(const Tensor& tensor) { return load_integers<std::int64_t>(tensor); }

void store_f64(Tensor& tensor, std::span<const double> values) {
  const std::size_t n = values.size();
  switch (tensor.dtype()) {
    case DType::f64: return fill<double>(tensor, n, [&](std::size_t i) { return values[i]; });
    case DType::f32: return fill<float>(tensor, n, [&](std::size_t i) { return static_cast<float>(values[i]); });
    case DType::boolean:
      return fill<std::uint8_t>(tensor, n, [&](std::size_t i) { return static_cast<std::uint8_t>(values[i] != 0); });
    case DType::i8:
      return fill<std::int8_t>(tensor, n, [&](std::size_t i) { return saturated<std::int8_t>(values[i]); });
    case DType::u8:
      return fill<std::uint8_t>(tensor, n, [&](std::size_t i) { return saturated<std::uint8_t>(values[i]); });
    case DType::i16:
      return fill<std::int16_t>(tensor, n, [&](std::size_t i) { return saturated<std::int16_t>(values[i]); });
    case DType::u16:
      return fill<std::uint16_t>(tensor, n, [&](std::size_t i) { return saturated<std::uint16_t>(values[i]); });
    case DType::i32:
      return fill<std::int32_t>(tensor, n, [&](std::size_t i) { return saturated<std::int32_t>(values[i]); });
    case DType::u32:
      return fill<std::uint32_t>(tensor, n, [&](std::size_t i) { return saturated<std::uint32_t>(values[i]); });
    case DType::i64:
      return fill<std::int64_t>(tensor, n, [&](std::size_t i) { return saturated<std::int64_t>(values[i]); });
    case DType::u64:
      return fill<std::uint64_t>(tensor, n, [&](std::size_t i) { return saturated<std::uint64_t>(values[i]); });
    default: break;
  }
  const std::vector<float> rounded(values.begin(), values.end());
  encode_from_f32(tensor.dtype(), rounded, tensor.mutable_bytes());
}

void store_i64(Tensor& tensor, std::span<const std::int64_t> values) {
  const std::size_t n = values.size();
  switch (tensor.dtype()) {
    case DType::boolean:
      return fill<std::uint8_t>(tensor, n, [&](std::size_t i) { return static_cast<std::uint8_t>(values[i] != 0); });
    case DType::i8:
      return fill<std::int8_t>(tensor, n, [&](std::size_t i) { return static_cast<std::int8_t>(values[i]); });
    case DType::u8:
      return fill<std::uint8_t>(tensor, n, [&](std::size_t i) { return static_cast<std::uint8_t>(values[i]); });
    case DType::i16:
      return fill<std::int16_t>(tensor, n, [&](std::size_t i) { return static_cast<std::int16_t>(values[i]); });
    case DType::u16:
      return fill<std::uint16_t>(tensor, n, [&](std::size_t i) { return static_cast<std::uint16_t>(values[i]); });
    case DType::i32:
      return fill<std::int32_t>(tensor, n, [&](std::size_t i) { return static_cast<std::int32_t>(values[i]); });
    case DType::u32:
      return fill<std::uint32_t>(tensor, n, [&](std::size_t i) { return static_cast<std::uint32_t>(values[i]); });
    case DType::i64: return fill<std::int64_t>(tensor, n, [&](std::size_t i) { return values[i]; });
    case DType::u64:
      return fill<std::uint64_t>(tensor, n, [&](std::size_t i) { return static_cast<std::uint64_t>(values[i]); });
    default: break;
  }
  const std::vector<double> reals(values.begin(), values.end());
  store_f64(tensor, reals);
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
