#include "weft/ops/builder_operands.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/fail.h"
#include "weft/ops/builder.h"
#include "weft/ops/element.h"
#include "weft/ops/promotion.h"

namespace weft {
namespace {

double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::f16: return 65504;
    case DType::bf16: return 0x1.FEp127;
    case DType::f32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

// Whether the dtype has this value, or for a finite float one near it.
bool is_representable(double value, DType dtype) {
  if (is_float(dtype)) return !std::isfinite(value) || std::abs(value) <= largest_finite(dtype);
  if (dtype == DType::boolean) return value == 0 || value == 1;
  if (!is_integer(dtype) || value != std::trunc(value)) return false;
  const int bits = static_cast<int>(dtype_info(dtype).block_bytes) * 8;
  const bool is_unsigned = dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64;
  return is_unsigned ? value >= 0 && value < std::ldexp(1.0, bits)
                     : value >= -std::ldexp(1.0, bits - 1) && value < std::ldexp(1.0, bits - 1);
}

int rank_of_kind(DType dtype) {
  if (dtype == DType::boolean) return 0;
  if (is_integer(dtype)) return 1;
  return dtype == DType::c64 ? 3 : 2;
}

bool is_scalar_constant(const Var& operand) {
  return operand.shape().rank() == 0 && operand.graph().node(operand.value().node).schema->name == "Constant";
}

}  // namespace

void require_representable(double value, DType dtype, const std::string& where) {
  if (is_representable(value, dtype)) return;
  fail(ErrorKind::not_representable, "NotRepresentable", where, "{} has no value in {}", value, to_string(dtype));
}

void promote_operands(std::vector<Var>& operands, const char* op) {
  const std::string where = "[" + std::string(op) + "]";
  std::optional<DType> common;
  const auto join = [&](const Var& operand) {
    try {
      common = common ? promote(*common, operand.dtype()) : operand.dtype();
    } catch (const Error& error) {
      throw Error(error.kind(), error.code(), where, error.message());
    }
  };
  const bool only_scalars = std::all_of(operands.begin(), operands.end(), is_scalar_constant);
  for (const Var& operand : operands)
    if (only_scalars || !is_scalar_constant(operand)) join(operand);
  const int kind = rank_of_kind(*common);
  for (const Var& operand : operands)
    if (rank_of_kind(operand.dtype()) > kind) join(operand);
  for (Var& operand : operands) {
    if (operand.dtype() != *common && *common != DType::c64 && is_scalar_constant(operand))
      require_representable(
          ops::load_f64(std::get<Tensor>(operand.graph().node(operand.value().node).attribute("value")))[0], *common,
          where);
    operand = cast(operand, *common);
  }
}

}  // namespace weft
