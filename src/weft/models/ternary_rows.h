// Weights as -1, 0 and +1 with a scale for each row, as a `.model` stores them.
#pragma once

#include <string>

#include "weft/base/tensor.h"

namespace weft {

class ThreadPool;

struct TernaryRows {
  Tensor codes;   // ternary, of the source's dims
  Tensor scales;  // [rows], all dims but the last
};

// Each row's scale is the one of least squared error; the codes are taken against the scale as `scale_dtype` stores it.
// A row that holds one magnitude and zeros alone comes back exactly. QuantNaN and QuantRange name the tensor and row.
TernaryRows ternary_rows(const std::string& name, const Tensor& source, DType scale_dtype, ThreadPool& pool);

}  // namespace weft
