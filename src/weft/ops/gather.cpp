// Gather: rows (or slices along any axis) picked by index.
#include <cstring>
#include <limits>
#include <string>

#include "weft/base/block_codec.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ir/op_schema.h"
#include "weft/ops/element.h"

namespace weft::ops {
namespace {

void infer_gather(InferContext& context) {
  context.require_rank(0, 1, std::numeric_limits<std::size_t>::max());
  context.require_integer(1);
  const Shape& table = context.shape(0);
  const std::size_t axis = context.axis("axis", table.rank());
  const bool packed = is_packed(context.dtype(0));
  if (packed && (axis != 0 || table.rank() < 2))
    context.fail_dtype(fmt::format("the table is {} of {}: only whole rows of a packed table can be gathered",
                                   to_string(context.dtype(0)), table.text()));
  Shape shape;
  for (std::size_t i = 0; i < axis; ++i) shape.push_back(table[i]);
  for (const Dim& dim : context.shape(1)) shape.push_back(dim);
  for (std::size_t i = axis + 1; i < table.rank(); ++i) shape.push_back(table[i]);
  context.output(std::move(shape), packed ? DType::f32 : context.dtype(0));
}

// The indices, checked against the size of the axis.
std::vector<std::int64_t> checked_indices(const KernelContext& context, std::int64_t size, std::size_t axis) {
  const bool wrap = context.node().text("negative") == "wrap";
  const Tensor& given = context.input(1);
  std::vector<std::int64_t> indices = load_i64(given);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::int64_t index = indices[i];
    const std::int64_t resolved = wrap && index < 0 && given.dtype() != DType::u64 ? index + size : index;
    if (resolved < 0 || resolved >= size)
      fail(ErrorKind::out_of_range, "IndexOutOfRange", context.where(),
           "index {} at element {} of {} is outside axis {} of size {} ({}..{} are allowed)",
           given.dtype() == DType::u64 ? std::to_string(static_cast<std::uint64_t>(index)) : std::to_string(index), i,
           dims_text(given.dims()), axis, size, wrap ? -size : 0, size - 1);
    indices[i] = resolved;
  }
  return indices;
}

void gather_packed(const KernelContext& context, const std::vector<std::int64_t>& rows) {
  const Tensor& table = context.input(0);
  const auto out = context.output(0).mutable_values<float>();
  const std::size_t stored = table.byte_size() / static_cast<std::size_t>(table.dim(0));
  const std::size_t width = static_cast<std::size_t>(table.numel() / table.dim(0));
  context.pool().parallel_for(static_cast<std::int64_t>(rows.size()), 8, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      decode_to_f32(table.dtype(), table.bytes().subspan(static_cast<std::size_t>(rows[i]) * stored, stored),
                    out.subspan(i * width, width));
  });
}

void run_gather(const KernelContext& context) {
  const Tensor& table = context.input(0);
  const std::size_t axis = context.axis("axis", table.rank());
  const std::vector<std::int64_t> indices = checked_indices(context, table.dim(axis), axis);
  if (context.output(0).byte_size() == 0) return;
  if (is_packed(table.dtype())) return gather_packed(context, indices);
  std::size_t slice = dtype_info(table.dtype()).block_bytes, outer = 1;
  for (std::size_t i = axis + 1; i < table.rank(); ++i) slice *= static_cast<std::size_t>(table.dim(i));
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(table.dim(i));
  const std::size_t row = slice * static_cast<std::size_t>(table.dim(axis));
  std::byte* target = context.output(0).mutable_bytes().data();
  for (std::size_t o = 0; o < outer; ++o)
    for (const std::int64_t index : indices) {
      std::memcpy(target, table.bytes().data() + o * row + static_cast<std::size_t>(index) * slice, slice);
      target += slice;
    }
}

const OpRegistration gather{{
    .name = "Gather",
    .tag = 45,
    .family = "gather",
    .maths = "y[..., i..., ...] = table[..., indices[i...], ...]: the indexed axis gives way to the axes of the "
             "indices. An index outside the axis is IndexOutOfRange; with negative = wrap, -1 means the last. Rows of "
             "a packed table (axis 0) are decoded to f32, only those asked for.",
    .attributes = {{.name = "axis",
                    .type = AttributeType::integer,
                    .default_value = std::int64_t{0},
                    .doc = "negative: from the end"},
                   {.name = "negative",
                    .type = AttributeType::choice,
                    .default_value = std::string("error"),
                    .doc = "what a negative index means",
                    .choices = {"error", "wrap"}}},
    .inputs = {{"table"}, {"indices"}},
    .op_class = OpClass::movement,
    .infer = infer_gather,
    .reference = run_gather,
    .flops = [](const InferContext&) { return Dim(0); },
    .unfuse = Rule::not_applicable("a primitive"),
}};

}  // namespace
}  // namespace weft::ops
