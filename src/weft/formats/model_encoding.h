// The names under which a `.model` file stores element types. Version 2 means fixed point by u32, u16, q8 and q4;
// version 1 meant IEEE floats and the GGUF blocks by the same names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/base/dtype.h"
#include "weft/base/export.h"

namespace weft {

struct ModelEncoding {
  DType dtype = DType::f32;
  bool canonical = false;       // one of the five that other readers of version 2 know
  bool legacy_ternary = false;  // codes 0, 1, 2 stand for -1, 0, +1
};

WEFT_API std::optional<ModelEncoding> model_encoding(std::string_view name, std::int64_t version = 2);

// The name that version 2 stores a type under; NotRepresentable for those it has none for.
WEFT_API std::string_view model_encoding_name(DType dtype);

}  // namespace weft
