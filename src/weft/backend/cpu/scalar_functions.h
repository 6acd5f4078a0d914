// The functions that have no vector form: computed in f64 and rounded once, as the reference kernels do. Pure.
#pragma once

#include <cstdint>

#include "weft/backend/cpu/vector_kernels.h"

namespace weft::cpu {

void scalar_unary(UnaryKind kind, const float* x, float* out, std::int64_t count);
float scalar_binary(BinaryKind kind, float a, float b);

}  // namespace weft::cpu
