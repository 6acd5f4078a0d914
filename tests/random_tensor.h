// Reproducible data for tests. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/block_codec.h"
#include "weft/base/random.h"
#include "weft/base/tensor.h"

namespace weft::test {

// About normal, of standard deviation 1; in the dtype by its own rounding.
inline Tensor random_tensor(std::vector<std::int64_t> dims, std::uint64_t seed = 1, DType dtype = DType::f32) {
  Tensor values = Tensor::allocate(DType::f32, dims);
  Pcg32 generator(seed);
  for (float& value : values.mutable_values<float>()) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += generator.uniform();
    value = static_cast<float>(sum);
  }
  if (dtype == DType::f32) return values;
  Tensor encoded = Tensor::allocate(dtype, std::move(dims));
  encode_from_f32(dtype, values.values<float>(), encoded.mutable_bytes());
  return encoded;
}

}  // namespace weft::test
