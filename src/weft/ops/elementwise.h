// What the elementwise kernels share: broadcast inference, and loops that bring pieces of the operands into f64 or i64
// buffers of one size, apply a function to whole buffers and store the piece. Internal to the room.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ops/broadcast.h"
#include "weft/ops/element.h"

namespace weft::ops {

inline constexpr std::int64_t piece = 512;  // elements of a buffer

// Where integer arithmetic happens: integers and bool.
inline bool is_discrete(DType dtype) { return is_integer(dtype) || dtype == DType::boolean; }

// The broadcast dims of all inputs.
Shape broadcast_inputs(const InferContext& context);

// Real dtypes with one value per element: floats, integers, bool.
void require_plain(const InferContext& context, std::size_t input);

inline void load_piece(const Tensor& tensor, std::int64_t start, std::span<double> values) {
  load_f64(tensor, start, values);
}
inline void load_piece(const Tensor& tensor, std::int64_t start, std::span<std::int64_t> values) {
  load_i64(tensor, start, values);
}
inline void store_piece(Tensor& tensor, std::int64_t start, std::span<const double> values) {
  store_f64(tensor, start, values);
}
inline void store_piece(Tensor& tensor, std::int64_t start, std::span<const std::int64_t> values) {
  store_i64(tensor, start, values);
}

// apply(buffers, count, linear) on every run of the broadcast inputs, with T = double or std::int64_t values.
template <class T, std::size_t N, class Apply>
void each_run_of_inputs(const KernelContext& context, Apply apply) {
  std::array<std::vector<std::int64_t>, N> dims;
  for (std::size_t k = 0; k < N; ++k) dims[k] = context.input(k).dims();
  const StridedPlan plan = broadcast_plan(context.output(0).dims(), dims);
  parallel_runs(context.pool(), plan, piece,
                [&](std::int64_t linear, std::int64_t count, std::span<const std::int64_t> offsets) {
                  std::array<std::array<T, piece>, N> buffers;
                  for (std::size_t k = 0; k < N; ++k) {
                    const auto buffer = std::span(buffers[k]).first(static_cast<std::size_t>(count));
                    // The innermost axis of contiguous operands is either walked element by element or repeated.
                    if (plan.strides[k].back() == 1) {
                      load_piece(context.input(k), offsets[k], buffer);
                    } else {
                      load_piece(context.input(k), offsets[k], buffer.first(1));
                      std::fill(buffer.begin() + 1, buffer.end(), buffer[0]);
                    }
                  }
                  apply(buffers, static_cast<std::size_t>(count), linear);
                });
}

// output = f(inputs...) element by element; f maps the buffers in place into the first.
template <class T, std::size_t N, class Function>
void map_elements(const KernelContext& context, Function function) {
  each_run_of_inputs<T, N>(context,
                           [&](std::array<std::array<T, piece>, N>& buffers, std::size_t count, std::int64_t linear) {
                             for (std::size_t i = 0; i < count; ++i) {
                               if constexpr (N == 1) buffers[0][i] = function(buffers[0][i]);
                               if constexpr (N == 2) buffers[0][i] = function(buffers[0][i], buffers[1][i]);
                               if constexpr (N == 3)
                                 buffers[0][i] = function(buffers[0][i], buffers[1][i], buffers[2][i]);
                             }
                             store_piece(context.output(0), linear, std::span<const T>(buffers[0]).first(count));
                           });
}

}  // namespace weft::ops
