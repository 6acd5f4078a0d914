// Element types. A block type packs `block` consecutive values of the last axis into `block_bytes` bytes.
// The enumerators' values are the tags of the on-disk forms and never change: 0-22 are the Graph IR's,
// 32 and up exist only in weft's own MIR section.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "weft/base/export.h"

namespace weft {

enum class DType : std::uint8_t {
  f32 = 0,
  f16 = 1,
  bf16 = 2,
  i8 = 3,
  u8 = 4,
  boolean = 5,
  q8_0 = 6,
  q4_0 = 7,
  q2_k = 8,
  q3_k = 9,
  q4_k = 10,
  q5_k = 11,
  q6_k = 12,
  ternary = 13,
  fx16_16 = 14,  // signed 16.16 fixed point; the Graph IR and `.model` spell it "u32"
  fx8_8 = 15,    // signed 8.8 fixed point; spelled "u16" there
  q4 = 16,       // as q4_0, with a fixed-point scale
  q8 = 17,       // as q8_0, with a fixed-point scale
  i32 = 18,
  i64 = 19,
  q4_1 = 20,
  q5_0 = 21,
  q5_1 = 22,
  f64 = 32,
  u32 = 33,
  i16 = 34,
  u16 = 35,
  u64 = 36,
  c64 = 37,  // two f32: real, imaginary
};

enum class DTypeClass { floating, integer, boolean, fixed_point, block, complex };

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // weft's spelling: "f32", "bool", "q4_k", "fx16_16"
  std::uint32_t block;    // values per block, 1 for plain types
  std::uint32_t block_bytes;
  DTypeClass cls;
};

WEFT_API const DTypeInfo& dtype_info(DType dtype);
WEFT_API std::span<const DTypeInfo> all_dtypes();
WEFT_API std::optional<DType> dtype_from_name(std::string_view name);
WEFT_API std::optional<DType> dtype_from_tag(std::uint8_t tag);

inline std::string_view to_string(DType dtype) { return dtype_info(dtype).name; }
inline bool is_block(DType dtype) { return dtype_info(dtype).cls == DTypeClass::block; }
inline bool is_float(DType dtype) { return dtype_info(dtype).cls == DTypeClass::floating; }
inline bool is_integer(DType dtype) { return dtype_info(dtype).cls == DTypeClass::integer; }
// Types a matrix may stay packed in: block types and fixed point.
inline bool is_packed(DType dtype) { return is_block(dtype) || dtype_info(dtype).cls == DTypeClass::fixed_point; }

// Bytes of a tensor; throws SizeOverflow, or BlockMisaligned when the last dimension is no multiple of the block.
WEFT_API std::uint64_t byte_size(DType dtype, std::span<const std::int64_t> dims);

}  // namespace weft
