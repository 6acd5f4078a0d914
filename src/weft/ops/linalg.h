// What ops that multiply matrices share. Internal to the library.
#pragma once

#include "weft/ir/infer.h"

namespace weft::ops {

// The dtype of input 0 times input `right`, which may be packed rows [N, K]; DTypeMismatch where there is no product.
DType product_dtype(const InferContext& context, bool transpose_b, std::size_t right = 1);

}  // namespace weft::ops
