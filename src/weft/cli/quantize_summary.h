// Types of tensors on the command line, and what became of them.
#pragma once

#include <span>
#include <string>

#include "weft/models/quantize_types.h"

namespace weft::cli {

// A rule of the command line, "PATTERN=TYPE".
QuantizeRule parse_quantize_rule(const std::string& text, WeightFile file);

// Lines of text: which tensors could not have the type that was asked for, what was packed before, and a table of
// sizes.
std::string quantize_summary(std::span<const QuantizedTensor> tensors, WeightFile file);

}  // namespace weft::cli
