// Moving elements whole, whatever their type. A unit is one element of a plain dtype, or one block of a block dtype,
// whose last axis then counts blocks. Internal to the room.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/base/shape.h"
#include "weft/base/tensor.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"

namespace weft::ops {

// dims with the last axis in units.
std::vector<std::int64_t> unit_dims(const Tensor& tensor);

// Writes `out`, of these dims in units, from the units of `from` that `strides` reach.
void copy_strided(ThreadPool& pool, const Tensor& from, std::span<const std::int64_t> strides, Tensor& out);

// The part [start, start + length) of an axis as a view, where all axes before it are 1; otherwise undefined.
Tensor slice_view(const Tensor& tensor, std::size_t axis, std::int64_t start, std::int64_t length);
void copy_slice(const Tensor& from, std::size_t axis, std::int64_t start, Tensor& out);

// Fails when cutting `axis` at `position` would cut a block.
void require_whole_blocks(const InferContext& context, DType dtype, std::size_t axis, std::size_t rank,
                          std::int64_t position);

}  // namespace weft::ops
