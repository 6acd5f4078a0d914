// The kinds of the ops Activation and Binary that have a kernel, by the names that the ops give them.
#pragma once

#include <optional>
#include <string_view>

#include "weft/backend/cpu/vector_kernels.h"

namespace weft::cpu {

std::optional<UnaryKind> unary_kind(std::string_view name);
std::optional<BinaryKind> binary_kind(std::string_view name);

}  // namespace weft::cpu
