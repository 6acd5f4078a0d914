// Which dtype two operands meet in. Ops themselves take equal dtypes; the builder functions insert the casts. Pure.
#pragma once

#include "weft/base/dtype.h"
#include "weft/base/export.h"

namespace weft {

// Complex before float before integer before bool. f16 with bf16, and a 16-bit float with an integer or bool, meet in
// f32; f32 with a 64-bit integer in f64; integers in the narrowest type that holds both. Packed types, and u64 with a
// signed integer, meet nowhere: DTypeMismatch.
WEFT_API DType promote(DType a, DType b);

}  // namespace weft
