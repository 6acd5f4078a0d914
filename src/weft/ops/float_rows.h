// Stretches of floating tensors as f64 and back, for kernels that stream rows instead of loading whole tensors.
// Pure functions; writers of disjoint stretches may run at once.
#pragma once

#include <cstdint>
#include <span>

#include "weft/base/tensor.h"

namespace weft::ops {

// values.size() elements from element `offset` on. f32, f64, f16, bf16.
void load_row(const Tensor& tensor, std::int64_t offset, std::span<double> values);
// Rounds each value once, to nearest even, to the tensor's dtype.
void store_row(Tensor& tensor, std::int64_t offset, std::span<const double> values);

// x as f32 with the last bit set where inexact: rounding that to 16 bits gives what rounding x at once would.
float rounded_to_odd(double x);

}  // namespace weft::ops
