// Element access for reference kernels: any real tensor as f64, and f64 results rounded once to the output's dtype.
// Kernels that stream a tensor in pieces use the ranged forms, which allocate nothing. Pure functions; distinct ranges
// of one output may be stored from several threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/base/tensor.h"

namespace weft::ops {

// All elements; block types are decoded. i64 and u64 beyond 2^53 round: integer arithmetic uses load_i64.
std::vector<double> load_f64(const Tensor& tensor);
// Integer and bool tensors; u64 keeps its bits.
std::vector<std::int64_t> load_i64(const Tensor& tensor);
// Floats round to nearest even; integers truncate toward zero, saturate, NaN gives 0; bool is x != 0.
void store_f64(Tensor& tensor, std::span<const double> values);
// Integers wrap to the width of the dtype; bool is x != 0.
void store_i64(Tensor& tensor, std::span<const std::int64_t> values);

// The same for elements [start, start + values.size()) of a plain (one value per element) dtype.
void load_f64(const Tensor& tensor, std::int64_t start, std::span<double> values);
void load_i64(const Tensor& tensor, std::int64_t start, std::span<std::int64_t> values);
void store_f64(Tensor& tensor, std::int64_t start, std::span<const double> values);
void store_i64(Tensor& tensor, std::int64_t start, std::span<const std::int64_t> values);

// x + error, where x is that sum rounded to nearest, rounded to odd instead: a second rounding to a format at least two
// bits narrower then gives what one rounding of the exact sum would have (Boldo and Melquiond 2008).
double rounded_to_odd(double x, double error);

// The row-major steps of dims: [4, 2, 3] -> [6, 3, 1].
std::vector<std::int64_t> strides_of(std::span<const std::int64_t> dims);
// Steps that walk a tensor of `dims` as if it were broadcast to `target`: 0 on repeated axes.
std::vector<std::int64_t> broadcast_strides(std::span<const std::int64_t> dims, std::span<const std::int64_t> target);

// Calls body(linear, offsets) for each index of `dims` in row-major order; offsets[k] moves by strides[k].
template <class Body>
void for_each_index(std::span<const std::int64_t> dims, std::span<const std::vector<std::int64_t>> strides,
                    Body&& body) {
  std::int64_t total = 1;
  for (const std::int64_t dim : dims) total *= dim;
  std::vector<std::int64_t> index(dims.size(), 0), offsets(strides.size(), 0);
  for (std::int64_t linear = 0; linear < total; ++linear) {
    body(linear, std::span<const std::int64_t>(offsets));
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      ++index[axis];
      for (std::size_t k = 0; k < strides.size(); ++k) offsets[k] += strides[k][axis];
      if (index[axis] < dims[axis]) break;
      for (std::size_t k = 0; k < strides.size(); ++k) offsets[k] -= strides[k][axis] * dims[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace weft::ops
