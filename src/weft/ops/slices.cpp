// Concat, Split, Chunk, Narrow: pieces along one axis.
#include <cstring>
#include <limits>
#include <string>

#include "weft/base/fail.h"
#include "weft/ir/kernel.h"
#include "weft/ir/op_schema.h"
#include "weft/ops/movement.h"
#include "weft/ops/schema_parts.h"

namespace weft::ops {
namespace {

AttributeSpec axis_attribute() {
  return {.name = "axis", .type = AttributeType::integer, .required = true, .doc = "negative: from the end"};
}

Shape with_size(const Shape& shape, std::size_t axis, Dim size) {
  Shape out = shape;
  out[axis] = std::move(size);
  return out;
}

void infer_concat(InferContext& context) {
  context.require_rank(0, 1, std::numeric_limits<std::size_t>::max());
  const std::size_t rank = context.rank(0), axis = context.axis("axis", rank);
  Shape shape = context.shape(0);
  for (std::size_t k = 0; k < context.input_count(); ++k) {
    context.require_same_dtype(0, k);
    if (context.rank(k) != rank)
      context.fail_shape(fmt::format("input {} has shape {}, input 0 has {}: expected equal ranks", k,
                                     context.shape(k).text(), context.shape(0).text()));
    if (context.shape(k)[axis].is_static())
      require_whole_blocks(context, context.dtype(0), axis, rank, *context.shape(k)[axis].value());
    if (k == 0) continue;
    for (std::size_t i = 0; i < rank; ++i) {
      const Dim& size = context.shape(k)[i];
      if (i == axis) {
        shape[i] = shape[i] + size;
        continue;
      }
      context.require_equal(shape[i], size, fmt::format("axis {} of inputs 0 and {}", i, k));
      if (size.is_static()) shape[i] = size;
    }
  }
  context.output(std::move(shape), context.dtype(0));
}

void run_concat(const KernelContext& context) {
  Tensor& out = context.output(0);
  const std::size_t axis = context.axis("axis", out.rank());
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < axis; ++i) rows *= out.dim(i);
  if (rows == 0) return;
  std::byte* target = out.mutable_bytes().data();
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::size_t k = 0; k < context.input_count(); ++k) {
      const auto bytes = context.input(k).bytes();
      const std::size_t size = bytes.size() / static_cast<std::size_t>(rows);
      if (size == 0) continue;
      std::memcpy(target, bytes.data() + static_cast<std::size_t>(row) * size, size);
      target += size;
    }
}

void infer_split(InferContext& context) {
  context.require_rank(0, 1, std::numeric_limits<std::size_t>::max());
  const Shape& shape = context.shape(0);
  const std::size_t axis = context.axis("axis", shape.rank());
  const auto& sizes = context.node().integers("sizes");
  if (sizes.empty()) context.fail_attribute("sizes", "at least one piece is expected");
  Dim total(0);
  for (const std::int64_t size : sizes) {
    if (size < 0) context.fail_attribute("sizes", fmt::format("{} is no size", size));
    total = total + Dim(size);
    require_whole_blocks(context, context.dtype(0), axis, shape.rank(), size);
    context.output(with_size(shape, axis, Dim(size)), context.dtype(0));
  }
  context.require_equal(shape[axis], total, fmt::format("axis {} and the sum of the pieces", axis));
}

std::int64_t start_of_piece(const Node& node, std::size_t port) {
  const auto& sizes = node.integers("sizes");
  std::int64_t start = 0;
  for (std::size_t i = 0; i < port; ++i) start += sizes[i];
  return start;
}

void run_split(const KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::size_t axis = context.axis("axis", x.rank());
  for (std::size_t port = 0; port < context.output_count(); ++port)
    copy_slice(x, axis, start_of_piece(context.node(), port), context.output(port));
}

void infer_chunk(InferContext& context) {
  context.require_rank(0, 1, std::numeric_limits<std::size_t>::max());
  const Shape& shape = context.shape(0);
  const std::size_t axis = context.axis("axis", shape.rank());
  const std::int64_t chunks = context.node().integer("chunks");
  constexpr std::int64_t most = 65536;
  if (chunks < 1 || chunks > most)
    context.fail_attribute("chunks", fmt::format("it is {}, expected 1 to {}", chunks, most));
  const Dim size = floor_div(shape[axis], chunks);
  context.require_equal(size * Dim(chunks), shape[axis], fmt::format("axis {} and {} equal chunks", axis, chunks));
  if (size.is_static()) require_whole_blocks(context, context.dtype(0), axis, shape.rank(), *size.value());
  for (std::int64_t i = 0; i < chunks; ++i) context.output(with_size(shape, axis, size), context.dtype(0));
}

void run_chunk(const KernelContext& context) {
  const Tensor& x = context.input(0);
  const std::size_t axis = context.axis("axis", x.rank());
  for (std::size_t port = 0; port < context.output_count(); ++port)
    copy_slice(x, axis, static_cast<std::int64_t>(port) * context.output(port).dim(axis), context.output(port));
}

void infer_narrow(InferContext& context) {
  context.require_rank(0, 1, std::numeric_limits<std::size_t>::max());
  const Shape& shape = context.shape(0);
  const std::size_t axis = context.axis("axis", shape.rank());
  const std::int64_t start = context.node().integer("start"), length = context.node().integer("len");
  if (start < 0) context.fail_attribute("start", fmt::format("{} is below 0", start));
  if (length < 0) context.fail_attribute("len", fmt::format("{} is below 0", length));
  const Dim end = Dim(start) + Dim(length);
  const Dim& size = shape[axis];
  const std::string what =
      fmt::format("elements {} to {} of axis {}, which has {}", start, end.text(), axis, size.text());
  if (size.is_static()) {
    if (*size.value() < *end.value()) context.fail_shape(what);
  } else {
    const auto bounds = context.bounds(size);
    if (!bounds || bounds->low < *end.value()) context.require_equal(max(size, end), size, what);
  }
  require_whole_blocks(context, context.dtype(0), axis, shape.rank(), start);
  require_whole_blocks(context, context.dtype(0), axis, shape.rank(), length);
  context.output(with_size(shape, axis, Dim(length)), context.dtype(0));
}

const OpRegistration concat{{
    .name = "Concat",
    .tag = 42,
    .family = "slices",
    .maths = "The inputs one after another along an axis; all other axes agree.",
    .attributes = {axis_attribute()},
    .inputs = {{"first"}, {"more", Presence::variadic}},
    .op_class = OpClass::movement,
    .infer = infer_concat,
    .reference = run_concat,
    .view = [](const Node&, const RunDims& run, std::size_t) -> std::optional<ViewOf> {
      if (run.inputs.size() != 1) return std::nullopt;
      return ViewOf{};
    },
    .flops = no_flops,
    .unfuse = Rule::not_applicable("a primitive"),
}};

const OpRegistration split{{
    .name = "Split",
    .tag = 43,
    .family = "slices",
    .maths = "Consecutive pieces of x along an axis, as long as sizes say; together they are all of it.",
    .attributes = {axis_attribute(),
                   {.name = "sizes", .type = AttributeType::integers, .required = true, .doc = "of the pieces"}},
    .inputs = {{"x"}},
    .outputs = {{"pieces", true}},
    .op_class = OpClass::movement,
    .infer = infer_split,
    .reference = run_split,
    .view =
        [](const Node& node, const RunDims& run, std::size_t port) {
          return slice_view(run.inputs[0], node.integer("axis"), start_of_piece(node, port));
        },
    .flops = no_flops,
}};

const OpRegistration chunk{{
    .name = "Chunk",
    .tag = 47,
    .family = "slices",
    .maths = "Consecutive pieces of x along an axis, all equally long; each run checks that the axis divides.",
    .attributes = {axis_attribute(),
                   {.name = "chunks", .type = AttributeType::integer, .required = true, .doc = "how many pieces"}},
    .inputs = {{"x"}},
    .outputs = {{"pieces", true}},
    .op_class = OpClass::movement,
    .infer = infer_chunk,
    .reference = run_chunk,
    .view = [](const Node& node, const RunDims& run, std::size_t port) -> std::optional<ViewOf> {
      const std::int64_t axis = node.integer("axis"), rank = static_cast<std::int64_t>(run.inputs[0].size());
      const std::int64_t size = run.outputs[port][static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
      return slice_view(run.inputs[0], axis, static_cast<std::int64_t>(port) * size);
    },
    .flops = no_flops,
}};

const OpRegistration narrow{{
    .name = "Narrow",
    .tag = 44,
    .family = "slices",
    .maths = "The elements start to start + len - 1 of an axis. Where the size is a symbol each run checks that they "
             "exist.",
    .attributes = {axis_attribute(),
                   {.name = "start", .type = AttributeType::integer, .required = true, .doc = "first element"},
                   {.name = "len", .type = AttributeType::integer, .required = true, .doc = "how many"}},
    .inputs = {{"x"}},
    .op_class = OpClass::movement,
    .infer = infer_narrow,
    .reference =
        [](const KernelContext& context) {
          const Tensor& x = context.input(0);
          copy_slice(x, context.axis("axis", x.rank()), context.node().integer("start"), context.output(0));
        },
    .view = [](const Node& node, const RunDims& run,
               std::size_t) { return slice_view(run.inputs[0], node.integer("axis"), node.integer("start")); },
    .flops = no_flops,
    .unfuse = Rule::not_applicable("a primitive"),
}};

}  // namespace
}  // namespace weft::ops
