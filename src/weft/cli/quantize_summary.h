// What became of the tensors of a model whose weights were stored in another type.
#pragma once

#include <span>
#include <string>

#include "weft/models/quantize.h"

namespace weft::cli {

// Lines of text: which tensors could not have the type that was asked for, what was packed before, and a table of
// sizes.
std::string quantize_summary(std::span<const QuantizedTensor> tensors);

}  // namespace weft::cli
