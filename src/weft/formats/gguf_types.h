// The numbers that GGUF files use for types: of metadata values, and of tensors (the ids of ggml). Pure data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/dtype.h"
#include "weft/base/export.h"

namespace weft {

enum class GgufType : std::uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};

WEFT_API std::optional<GgufType> gguf_type_from_id(std::uint32_t id);
WEFT_API std::string_view to_string(GgufType type);  // "u32", "string", "array"
// Bytes of one value; 0 for strings and arrays, whose size the file states.
WEFT_API std::uint32_t gguf_type_size(GgufType type);
inline bool is_gguf_integer(GgufType type) {
  return type <= GgufType::i32 || type == GgufType::u64 || type == GgufType::i64;
}

// The dtype of a ggml tensor type that weft reads; nothing for all others.
WEFT_API std::optional<DType> dtype_from_ggml_id(std::uint32_t id);
// And back, for writers of GGUF; nothing where ggml has no such type.
WEFT_API std::optional<std::uint32_t> ggml_id_from_dtype(DType dtype);
// A tensor type for messages: "type IQ2_XXS" by ggml's own name, or "unknown type 77".
WEFT_API std::string ggml_type_text(std::uint32_t id);
// The types that dtype_from_ggml_id knows, for messages: "F32, F16, Q4_0, ...".
WEFT_API std::string readable_ggml_types();

}  // namespace weft
