#include "weft/base/dtype.h"

#include <array>

#include "weft/base/fail.h"

namespace weft {
namespace {

constexpr std::array table{
    DTypeInfo{DType::f32, "f32", 1, 4, DTypeClass::floating},
    DTypeInfo{DType::f16, "f16", 1, 2, DTypeClass::floating},
    DTypeInfo{DType::bf16, "bf16", 1, 2, DTypeClass::floating},
    DTypeInfo{DType::i8, "i8", 1, 1, DTypeClass::integer},
    DTypeInfo{DType::u8, "u8", 1, 1, DTypeClass::integer},
    DTypeInfo{DType::boolean, "bool", 1, 1, DTypeClass::boolean},
    DTypeInfo{DType::q8_0, "q8_0", 32, 34, DTypeClass::block},
    DTypeInfo{DType::q4_0, "q4_0", 32, 18, DTypeClass::block},
    DTypeInfo{DType::q2_k, "q2_k", 256, 84, DTypeClass::block},
    DTypeInfo{DType::q3_k, "q3_k", 256, 110, DTypeClass::block},
    DTypeInfo{DType::q4_k, "q4_k", 256, 144, DTypeClass::block},
    DTypeInfo{DType::q5_k, "q5_k", 256, 176, DTypeClass::block},
    DTypeInfo{DType::q6_k, "q6_k", 256, 210, DTypeClass::block},
    DTypeInfo{DType::ternary, "ternary", 4, 1, DTypeClass::block},
    DTypeInfo{DType::fx16_16, "fx16_16", 1, 4, DTypeClass::fixed_point},
    DTypeInfo{DType::fx8_8, "fx8_8", 1, 2, DTypeClass::fixed_point},
    DTypeInfo{DType::q4, "q4", 32, 18, DTypeClass::block},
    DTypeInfo{DType::q8, "q8", 32, 34, DTypeClass::block},
    DTypeInfo{DType::i32, "i32", 1, 4, DTypeClass::integer},
    DTypeInfo{DType::i64, "i64", 1, 8, DTypeClass::integer},
    DTypeInfo{DType::q4_1, "q4_1", 32, 20, DTypeClass::block},
    DTypeInfo{DType::q5_0, "q5_0", 32, 22, DTypeClass::block},
    DTypeInfo{DType::q5_1, "q5_1", 32, 24, DTypeClass::block},
    DTypeInfo{DType::f64, "f64", 1, 8, DTypeClass::floating},
    DTypeInfo{DType::u32, "u32", 1, 4, DTypeClass::integer},
    DTypeInfo{DType::i16, "i16", 1, 2, DTypeClass::integer},
    DTypeInfo{DType::u16, "u16", 1, 2, DTypeClass::integer},
    DTypeInfo{DType::u64, "u64", 1, 8, DTypeClass::integer},
    DTypeInfo{DType::c64, "c64", 1, 8, DTypeClass::complex},
};

}  // namespace

std::span<const DTypeInfo> all_dtypes() { return table; }

const DTypeInfo& dtype_info(DType dtype) {
  // Tags 0-22 sit at their own index, the others follow without the gap.
  const auto tag = static_cast<std::size_t>(dtype);
  return table[tag <= 22 ? tag : tag - 32 + 23];
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& info : table)
    if (info.name == name) return info.dtype;
  return std::nullopt;
}

std::optional<DType> dtype_from_tag(std::uint8_t tag) {
  for (const DTypeInfo& info : table)
    if (static_cast<std::uint8_t>(info.dtype) == tag) return info.dtype;
  return std::nullopt;
}

std::uint64_t byte_size(DType dtype, std::span<const std::int64_t> dims) {
  const DTypeInfo& info = dtype_info(dtype);
  if (info.block > 1) {
    const std::int64_t last = dims.empty() ? 1 : dims.back();
    if (last % info.block != 0)
      fail(ErrorKind::shape_mismatch, "BlockMisaligned", "",
           "the last dimension of a {} tensor must be a multiple of {}, found {}", info.name, info.block, last);
  }
  constexpr std::uint64_t limit = std::uint64_t{1} << 62;
  std::uint64_t count = 1;
  bool empty = false, overflow = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0)
      fail(ErrorKind::shape_mismatch, "BadShape", "", "a tensor has a dimension of {}: expected 0 or more", dim);
    if (dim == 0) empty = true;
    if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(dim == 0 ? 1 : dim), &count) || count > limit)
      overflow = true;
  }
  if (overflow && !empty)
    fail(ErrorKind::shape_mismatch, "SizeOverflow", "", "the element count of a tensor exceeds 2^62");
  if (empty) return 0;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count / info.block, std::uint64_t{info.block_bytes}, &bytes))
    fail(ErrorKind::shape_mismatch, "SizeOverflow", "", "the byte size of a tensor exceeds 2^64");
  return bytes;
}

}  // namespace weft
