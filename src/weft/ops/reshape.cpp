// Reshape, Transpose, Expand: the same elements under other dims.
#include <algorithm>
#include <string>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/kernel.h"
#include "weft/ir/op_schema.h"
#include "weft/ops/element.h"
#include "weft/ops/movement.h"
#include "weft/ops/schema_parts.h"

namespace weft::ops {
namespace {

void require_block_axis(const InferContext& context, const Shape& shape) {
  const DTypeInfo& info = dtype_info(context.dtype(0));
  if (info.block == 1) return;
  if (shape.rank() == 0 || shape.back().value().value_or(0) % info.block != 0)
    context.fail_shape(
        fmt::format("{}: {} packs {} values in a block of the last axis", shape.text(), info.name, info.block));
}

void infer_reshape(InferContext& context) {
  const auto& wanted = context.node().integers("shape");
  const Dim count = context.shape(0).numel();
  std::vector<Dim> dims(wanted.begin(), wanted.end());
  Dim rest(1);
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < -1) context.fail_attribute("shape", fmt::format("{} is no size", wanted[i]));
    if (wanted[i] >= 0) {
      rest = rest * Dim(wanted[i]);
    } else {
      if (open) context.fail_attribute("shape", "only one size may be -1");
      open = i;
    }
  }
  const std::string text = fmt::format("{} cannot become [{}]", context.shape(0).text(), fmt::join(wanted, ", "));
  if (!open) {
    context.require_equal(count, rest, text);
  } else if (rest == Dim(0)) {
    context.fail_shape(text + ": -1 beside a size of 0 could be anything");
  } else if (const auto exact = exact_div(count, rest)) {
    dims[*open] = *exact;
  } else if (count.is_static()) {
    context.fail_shape(fmt::format("{}: {} elements are no multiple of {}", text, count.text(), rest.text()));
  } else {
    dims[*open] = floor_div(count, *rest.value());
    context.require_equal(count, dims[*open] * rest, text);
  }
  const Shape shape{std::move(dims)};
  require_block_axis(context, shape);
  context.output(shape, context.dtype(0));
}

// perm with its default, the reversed axes.
std::vector<std::size_t> permutation(const Node& node, std::size_t rank) {
  std::vector<std::size_t> perm;
  for (const std::int64_t axis : node.integers("perm"))
    perm.push_back(static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis));
  if (perm.empty())
    for (std::size_t axis = rank; axis-- > 0;) perm.push_back(axis);
  return perm;
}

void infer_transpose(InferContext& context) {
  const std::size_t rank = context.rank(0);
  const auto perm = permutation(context.node(), rank);
  std::vector<std::size_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool valid = sorted.size() == rank;
  for (std::size_t i = 0; valid && i < rank; ++i) valid = sorted[i] == i;
  if (!valid)
    context.fail_attribute("perm", fmt::format("[{}] is no permutation of {} axes",
                                               fmt::join(context.node().integers("perm"), ", "), rank));
  Shape shape;
  for (const std::size_t axis : perm) shape.push_back(context.shape(0)[axis]);
  if (is_block(context.dtype(0)) && perm.back() + 1 != rank)
    context.fail_dtype(
        fmt::format("{} packs blocks along the last axis, which must stay last", to_string(context.dtype(0))));
  context.output(std::move(shape), context.dtype(0));
}

void run_transpose(const KernelContext& context) {
  const Tensor& x = context.input(0);
  const auto own = strides_of(unit_dims(x));
  std::vector<std::int64_t> strides;
  for (const std::size_t axis : permutation(context.node(), x.rank())) strides.push_back(own[axis]);
  copy_strided(context.pool(), x, strides, context.output(0));
}

// A transpose that only moves axes of size 1 leaves the bytes where they are.
std::optional<ViewOf> view_transpose(const Node& node, const RunDims& run, std::size_t) {
  const std::vector<std::int64_t>& dims = run.inputs[0];
  std::optional<std::size_t> last;
  for (const std::size_t axis : permutation(node, dims.size())) {
    if (dims[axis] == 1) continue;
    if (last && *last > axis) return std::nullopt;
    last = axis;
  }
  return ViewOf{};
}

void infer_expand(InferContext& context) {
  const Shape& wanted = context.node().shape("shape");
  const Shape& from = context.shape(0);
  if (wanted.rank() < from.rank())
    context.fail_shape(fmt::format("{} has fewer axes than the input's {}", wanted.text(), from.text()));
  if (is_block(context.dtype(0)))
    context.fail_dtype(fmt::format("input 0 is {}: decode it first", to_string(context.dtype(0))));
  const std::size_t fresh = wanted.rank() - from.rank();
  Shape shape;
  for (std::size_t axis = 0; axis < wanted.rank(); ++axis) {
    Dim target = wanted[axis];
    if (target == Dim(-1)) {
      if (axis < fresh) context.fail_attribute("shape", fmt::format("axis {} is new, -1 keeps nothing", axis));
      target = from[axis - fresh];
    } else if (target.value().value_or(0) < 0) {
      context.fail_attribute("shape", fmt::format("{} is no size", target.text()));
    } else if (axis >= fresh && from[axis - fresh] != Dim(1)) {
      const Dim& size = from[axis - fresh];
      const std::string what = fmt::format("axis {} of {} to {}", axis, from.text(), wanted.text());
      // A size that may still be 1 broadcasts to the target; a known one has to be it.
      context.require_equal(size.is_static() ? size : broadcast(size, target), target, what);
    }
    shape.push_back(target);
  }
  context.output(std::move(shape), context.dtype(0));
}

void run_expand(const KernelContext& context) {
  const Tensor& x = context.input(0);
  copy_strided(context.pool(), x, broadcast_strides(x.dims(), context.output(0).dims()), context.output(0));
}

const OpRegistration reshape{{
    .name = "Reshape",
    .tag = 40,
    .family = "reshape",
    .maths = "The same elements in row-major order under other dims. One size may be -1: what remains. 0 is a size of "
             "0. Where symbols leave open whether the counts agree, each run checks it.",
    .attributes = {{.name = "shape", .type = AttributeType::integers, .required = true, .doc = "the new sizes"}},
    .inputs = {{"x"}},
    .op_class = OpClass::movement,
    .infer = infer_reshape,
    .reference =
        [](const KernelContext& context) {
          const auto bytes = context.input(0).bytes();
          std::copy(bytes.begin(), bytes.end(), context.output(0).mutable_bytes().begin());
        },
    .view = [](const Node&, const RunDims&, std::size_t) -> std::optional<ViewOf> { return ViewOf{}; },
    .flops = no_flops,
    .unfuse = Rule::not_applicable("a primitive"),
}};

const OpRegistration transpose{{
    .name = "Transpose",
    .tag = 41,
    .family = "reshape",
    .maths = "Axis i of the result is axis perm[i] of x; without perm the axes are reversed.",
    .attributes = {{.name = "perm",
                    .type = AttributeType::integers,
                    .default_value = std::vector<std::int64_t>{},
                    .doc = "a permutation of the axes; empty: reversed"}},
    .inputs = {{"x"}},
    .op_class = OpClass::movement,
    .infer = infer_transpose,
    .reference = run_transpose,
    .view = view_transpose,
    .flops = no_flops,
    .unfuse = Rule::not_applicable("a primitive"),
}};

const OpRegistration expand{{
    .name = "Expand",
    .tag = 46,
    .family = "reshape",
    .maths = "x repeated along axes of size 1, and along new axes in front, until it has the given dims; -1 keeps a "
             "size.",
    .attributes = {{.name = "shape", .type = AttributeType::shape, .required = true, .doc = "the new dims"}},
    .inputs = {{"x"}},
    .op_class = OpClass::movement,
    .infer = infer_expand,
    .reference = run_expand,
    .flops = no_flops,
    .unfuse = Rule::not_applicable("a primitive"),
}};

}  // namespace
}  // namespace weft::ops
