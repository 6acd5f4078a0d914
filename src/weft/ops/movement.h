// Moving elements whole, whatever their type. A unit is one element of a plain dtype, or one block of a block dtype,
// whose last axis then counts blocks. Internal to the room.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/base/shape.h"
#include "weft/base/tensor.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/op_schema.h"

namespace weft::ops {

// dims with the last axis in units.
std::vector<std::int64_t> unit_dims(const Tensor& tensor);

// Writes `out`, of these dims in units, from the units of `from` that `strides` reach.
void copy_strided(ThreadPool& pool, const Tensor& from, std::span<const std::int64_t> strides, Tensor& out);

// Where the part of an axis (negative: from the end) from `start` on lies in a tensor of these dims, if all axes before
// it are 1; otherwise the part is not contiguous.
std::optional<ViewOf> slice_view(std::span<const std::int64_t> dims, std::int64_t axis, std::int64_t start);
void copy_slice(const Tensor& from, std::size_t axis, std::int64_t start, Tensor& out);

// Fails when cutting `axis` at `position` would cut a block.
void require_whole_blocks(const InferContext& context, DType dtype, std::size_t axis, std::size_t rank,
                          std::int64_t position);

}  // namespace weft::ops
