#include "weft/ops/movement.h"

#include <algorithm>
#include <cstring>

#include "weft/base/fail.h"
#include "weft/ops/broadcast.h"

namespace weft::ops {
namespace {

template <class Unit>
void copy_units(ThreadPool& pool, const StridedPlan& plan, const Tensor& from, Tensor& out) {
  const auto source = from.values<Unit>();
  const auto target = out.mutable_values<Unit>();
  const std::int64_t step = plan.strides[0].back();
  parallel_runs(pool, plan, plan.dims.back(),
                [&](std::int64_t linear, std::int64_t count, std::span<const std::int64_t> offsets) {
                  const Unit* read = source.data() + offsets[0];
                  Unit* write = target.data() + linear;
                  if (step == 1) {
                    std::copy_n(read, count, write);
                  } else {
                    for (std::int64_t i = 0; i < count; ++i) write[i] = read[i * step];
                  }
                });
}

void copy_blocks(ThreadPool& pool, const StridedPlan& plan, std::size_t unit, const Tensor& from, Tensor& out) {
  const std::int64_t step = plan.strides[0].back();
  const std::byte* source = from.bytes().data();
  std::byte* target = out.mutable_bytes().data();
  parallel_runs(pool, plan, plan.dims.back(),
                [&](std::int64_t linear, std::int64_t count, std::span<const std::int64_t> offsets) {
                  const auto at = [&](std::int64_t index) { return static_cast<std::size_t>(index) * unit; };
                  if (step == 1) {
                    std::memcpy(target + at(linear), source + at(offsets[0]), at(count));
                    return;
                  }
                  for (std::int64_t i = 0; i < count; ++i)
                    std::memcpy(target + at(linear + i), source + at(offsets[0] + i * step), unit);
                });
}

// Rows: the product of the axes before `axis`.
struct Rows {
  std::int64_t count = 1;
  std::size_t bytes = 0;  // of each
};

Rows rows_before(const Tensor& tensor, std::size_t axis) {
  Rows rows;
  for (std::size_t i = 0; i < axis; ++i) rows.count *= tensor.dim(i);
  rows.bytes = rows.count == 0 ? 0 : tensor.byte_size() / static_cast<std::size_t>(rows.count);
  return rows;
}

// Bytes of `length` indices of an axis and all that lies within them.
std::size_t span_bytes(const Tensor& tensor, std::size_t axis, std::int64_t length) {
  std::vector<std::int64_t> dims(tensor.dims().begin() + static_cast<std::ptrdiff_t>(axis), tensor.dims().end());
  dims[0] = length;
  return static_cast<std::size_t>(byte_size(tensor.dtype(), dims));
}

}  // namespace

std::vector<std::int64_t> unit_dims(const Tensor& tensor) {
  std::vector<std::int64_t> dims = tensor.dims();
  const std::int64_t block = dtype_info(tensor.dtype()).block;
  if (block > 1) dims.back() /= block;
  return dims;
}

void copy_strided(ThreadPool& pool, const Tensor& from, std::span<const std::int64_t> strides, Tensor& out) {
  const StridedPlan plan = merge_axes(unit_dims(out), {std::vector<std::int64_t>(strides.begin(), strides.end())});
  const std::size_t unit = dtype_info(from.dtype()).block_bytes;
  switch (unit) {
    case 1: return copy_units<std::uint8_t>(pool, plan, from, out);
    case 2: return copy_units<std::uint16_t>(pool, plan, from, out);
    case 4: return copy_units<std::uint32_t>(pool, plan, from, out);
    case 8: return copy_units<std::uint64_t>(pool, plan, from, out);
    default: return copy_blocks(pool, plan, unit, from, out);
  }
}

std::optional<ViewOf> slice_view(std::span<const std::int64_t> dims, std::int64_t axis, std::int64_t start) {
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(dims.size()) : axis);
  for (std::size_t i = 0; i < at; ++i)
    if (dims[i] != 1) return std::nullopt;
  std::int64_t step = 1;
  for (std::size_t i = at + 1; i < dims.size(); ++i) step *= dims[i];
  return ViewOf{0, start * step};
}

void copy_slice(const Tensor& from, std::size_t axis, std::int64_t start, Tensor& out) {
  if (start > from.dim(axis) || out.dim(axis) > from.dim(axis) - start)
    fail(ErrorKind::shape_mismatch, "ShapeMismatch", "", "elements {} to {} of axis {} of a tensor of {}", start,
         start + out.dim(axis), axis, dims_text(from.dims()));
  const Rows source = rows_before(from, axis), target = rows_before(out, axis);
  if (target.bytes == 0) return;
  const std::size_t skip = span_bytes(from, axis, start);
  for (std::int64_t row = 0; row < target.count; ++row)
    std::memcpy(out.mutable_bytes().data() + static_cast<std::size_t>(row) * target.bytes,
                from.bytes().data() + static_cast<std::size_t>(row) * source.bytes + skip, target.bytes);
}

void require_whole_blocks(const InferContext& context, DType dtype, std::size_t axis, std::size_t rank,
                          std::int64_t position) {
  const DTypeInfo& info = dtype_info(dtype);
  if (axis + 1 == rank && position % info.block != 0)
    context.fail_shape(fmt::format("position {} of the last axis lies within a block of {} {} values", position,
                                   info.block, info.name));
}

}  // namespace weft::ops
