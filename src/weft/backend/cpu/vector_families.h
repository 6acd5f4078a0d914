// The families that make up VectorKernels, each in a source file of its own. Internal to this room.
#pragma once

#include "weft/backend/cpu/vector_kernels.h"
#include "weft/backend/cpu/vector_targets.h"

namespace weft::cpu {

void set_norm_kernels(VectorTarget target, VectorKernels& kernels);
void set_elementwise_kernels(VectorTarget target, VectorKernels& kernels);
void set_row_kernels(VectorTarget target, VectorKernels& kernels);
void set_window_kernels(VectorTarget target, VectorKernels& kernels);

}  // namespace weft::cpu
