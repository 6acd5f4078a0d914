#include "weft/ops/promotion.h"

#include <algorithm>

#include "weft/base/fail.h"

namespace weft {
namespace {

bool is_unsigned(DType dtype) {
  return dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64;
}

[[noreturn]] void refuse(DType a, DType b) {
  fail(ErrorKind::dtype_mismatch, "DTypeMismatch", "", "{} and {} have no common type: {} one of them first",
       to_string(a), to_string(b), is_packed(a) || is_packed(b) ? "decode" : "cast");
}

DType signed_of(std::uint32_t bytes) {
  return bytes <= 1 ? DType::i8 : bytes == 2 ? DType::i16 : bytes == 4 ? DType::i32 : DType::i64;
}

DType promote_integers(DType a, DType b) {
  const std::uint32_t width_a = dtype_info(a).block_bytes, width_b = dtype_info(b).block_bytes;
  if (is_unsigned(a) == is_unsigned(b)) return width_a > width_b ? a : b;
  const std::uint32_t width_unsigned = is_unsigned(a) ? width_a : width_b;
  const std::uint32_t width_signed = is_unsigned(a) ? width_b : width_a;
  if (width_signed > width_unsigned) return signed_of(width_signed);
  if (width_unsigned == 8) refuse(a, b);
  return signed_of(2 * width_unsigned);
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_packed(a) || is_packed(b)) refuse(a, b);
  if (a == DType::c64 || b == DType::c64) return DType::c64;
  if (a == DType::f64 || b == DType::f64) return DType::f64;
  if (is_float(a) || is_float(b)) {
    const auto is_wide_integer = [](DType dtype) { return dtype == DType::i64 || dtype == DType::u64; };
    const bool single = a == DType::f32 || b == DType::f32;
    return single && (is_wide_integer(a) || is_wide_integer(b)) ? DType::f64 : DType::f32;
  }
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  return promote_integers(a, b);
}

}  // namespace weft
