// The elements of constants as text, bit for bit. Internal to the text form.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/dtype.h"
#include "weft/base/tensor.h"

namespace weft {

// Reads a real as attribute_text() prints it, and any decimal: rounded to nearest.
std::optional<double> read_real(std::string_view token);

// "1.0, -0.5, 0x7fc00001"; nothing for a dtype without element text or elements that it cannot carry (a bool of 2).
std::optional<std::string> values_text(const Tensor& tensor);
// Appends one element that a token gives; false when the dtype has no such value.
bool append_value(DType dtype, std::string_view token, std::vector<std::byte>& bytes);

}  // namespace weft
