// Shape rules of ops that move elements about without computing.
#include <algorithm>
#include <cmath>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/infer_rules.h"
#include "weft/formats/graph_ir/patches.h"

namespace weft::graph_ir {
namespace {

using Words = std::vector<std::uint32_t>;

std::size_t require_axis(const RuleContext& c, const Shape& shape) {
  const auto axis = c.node.op.get<std::uint32_t>("axis");
  if (axis >= shape.size())
    c.bad_param("axis", fmt::format("is {}, but {} has {} axes", axis, c.operand(0), shape.size()));
  return axis;
}

// `size` cut into pieces of `part`, where both are known.
Dim divided(const RuleContext& c, Dim size, Dim part, std::string_view what) {
  if (!known(size) || !known(part)) return unknown_dim;
  if (part == 0 || size % part != 0)
    c.mismatch(fmt::format("{} of {} must be a multiple of {}, found {}", what, c.operand(0), part, size));
  return size / part;
}

}  // namespace

void infer_permute(RuleContext& c) {
  c.out[0].dtype = c.in[0].dtype;
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  const auto& axes = std::get<Words>(c.node.op.params[0]);
  if (axes.empty()) {
    c.out[0].shape = Shape(x->rbegin(), x->rend());
    return;
  }
  if (axes.size() != x->size())
    c.bad_param(c.def.fields[0].name,
                fmt::format("lists {} axes, but {} has {}", axes.size(), c.operand(0), x->size()));
  c.out[0].shape.emplace();
  for (const std::uint32_t axis : axes) c.out[0].shape->push_back((*x)[axis]);
}

void infer_reshape(RuleContext& c) {
  c.out[0].dtype = c.in[0].dtype;
  Shape wanted = c.node.op.get<std::vector<std::int64_t>>("shape");
  const auto open = std::find(wanted.begin(), wanted.end(), unknown_dim);
  const Dim count = c.shape(0) == nullptr ? unknown_dim : numel(*c.shape(0));
  if (open != wanted.end() && known(count)) {
    *open = 1;
    const Dim rest = numel(wanted);
    if (rest == 0 || count % rest != 0)
      c.mismatch(fmt::format("{} elements of {} cannot fill {}: the size for -1 does not come out even", count,
                             c.operand(0), shape_text(c.node.op.get<std::vector<std::int64_t>>("shape"))));
    *open = count / rest;
  } else if (open == wanted.end() && known(count) && numel(wanted) != count) {
    c.mismatch(
        fmt::format("{} has {} elements, but {} has {}", c.operand(0), count, shape_text(wanted), numel(wanted)));
  }
  c.out[0].shape = std::move(wanted);
}

void infer_concat(RuleContext& c) {
  c.out[0].dtype = c.in[0].dtype;
  for (std::size_t i = 1; i < c.in.size(); ++i) {
    if (c.in[i].dtype && c.out[0].dtype && c.in[i].dtype != c.out[0].dtype)
      fail(ErrorKind::dtype_mismatch, "DtypeMismatch", "", "all operands must have one dtype, found {} and {}",
           to_string(*c.out[0].dtype), to_string(*c.in[i].dtype));
    if (!c.out[0].dtype) c.out[0].dtype = c.in[i].dtype;
  }
  const Shape* first = c.shape(0);
  if (first == nullptr) return;
  const std::size_t axis = require_axis(c, *first);
  Shape result = *first;
  for (std::size_t i = 1; i < c.in.size(); ++i) {
    const Shape* next = c.shape(i);
    if (next == nullptr) return;
    if (next->size() != result.size())
      c.mismatch(fmt::format("{} and {} must have the same number of axes", c.operand(0), c.operand(i)));
    for (std::size_t k = 0; k < result.size(); ++k)
      result[k] =
          k == axis ? plus(result[k], (*next)[k]) : c.unify(result[k], (*next)[k], "all axes but the joined one");
  }
  c.out[0].shape = std::move(result);
}

void infer_split(RuleContext& c) {
  for (ValueType& out : c.out) out.dtype = c.in[0].dtype;
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  const std::size_t axis = require_axis(c, *x);
  const auto& sizes = c.node.op.get<Words>("sizes");
  Dim sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sum = plus(sum, sizes[i]);
    c.out[i].shape = *x;
    (*c.out[i].shape)[axis] = sizes[i];
  }
  if (!unified(sum, (*x)[axis]))
    c.bad_param("sizes", fmt::format("add up to {}, but axis {} of {} has {}", sum, axis, c.operand(0), (*x)[axis]));
}

void infer_chunk(RuleContext& c) {
  for (ValueType& out : c.out) out.dtype = c.in[0].dtype;
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  const std::size_t axis = require_axis(c, *x);
  Shape part = *x;
  part[axis] = divided(c, part[axis], c.node.op.get<std::uint32_t>("chunks"), fmt::format("axis {}", axis));
  for (ValueType& out : c.out) out.shape = part;
}

void infer_pixel_shuffle(RuleContext& c) {
  c.out[0].dtype = c.in[0].dtype;
  c.require_rank(0, 3, max_rank);
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  const Dim factor = c.node.op.get<std::uint32_t>("upscale_factor");
  Shape result = *x;
  const std::size_t rank = x->size();
  result[rank - 3] = divided(c, result[rank - 3], times(factor, factor), "the channels");
  result[rank - 2] = times(result[rank - 2], factor);
  result[rank - 1] = times(result[rank - 1], factor);
  c.out[0].shape = std::move(result);
}

void infer_pixel_unshuffle(RuleContext& c) {
  c.out[0].dtype = c.in[0].dtype;
  c.require_rank(0, 3, max_rank);
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  const Dim factor = c.node.op.get<std::uint32_t>("downscale_factor");
  Shape result = *x;
  const std::size_t rank = x->size();
  result[rank - 3] = times(result[rank - 3], times(factor, factor));
  result[rank - 2] = divided(c, result[rank - 2], factor, "the height");
  result[rank - 1] = divided(c, result[rank - 1], factor, "the width");
  c.out[0].shape = std::move(result);
}

void infer_patch_embed(RuleContext& c) {
  const Shape *image = c.shape(0), *w = c.shape(1);
  c.require_rank(0, 4, 5);
  c.require_rank(2, 1);
  const Dim patch = c.node.op.get<std::uint32_t>("patch_size");
  if (image == nullptr) return;
  const bool video = image->size() == 5;
  if (w != nullptr && w->size() != 2 && w->size() != image->size())
    c.mismatch(fmt::format("{} must be [D, C, p, p]{}", c.operand(1),
                           video ? " with a third patch axis" : ", or flat [D, C*p*p]"));
  if (w != nullptr && video && w->size() == 2)
    c.mismatch(
        fmt::format("{} must keep its patch axes: the length of a patch in time is read from them", c.operand(1)));
  Dim features = w == nullptr ? unknown_dim : (*w)[0];
  features = c.require_vector(2, features, "the rows of W");
  const Dim channels = (*image)[1];
  Dim time = video ? unknown_dim : 1;
  if (w != nullptr && w->size() == 2) {
    c.unify((*w)[1], times(channels, times(patch, patch)), "the columns of W and the elements of a patch");
  } else if (w != nullptr) {
    c.unify((*w)[1], channels, "the channels of W and of the image");
    for (std::size_t i = w->size() - 2; i < w->size(); ++i)
      if (!unified((*w)[i], patch))
        c.bad_param("patch_size", fmt::format("is {}, but {} has patches of {}", patch, c.operand(1), (*w)[i]));
    if (video) time = divided(c, (*image)[2], (*w)[2], "the frames");
  }
  const std::size_t rank = image->size();
  const Dim rows = divided(c, (*image)[rank - 2], patch, "the height");
  const Dim columns = divided(c, (*image)[rank - 1], patch, "the width");
  c.out[0].shape = Shape{(*image)[0], times(time, times(rows, columns)), features};
}

void infer_unpatchify(RuleContext& c) {
  c.out[0].dtype = c.in[0].dtype;
  c.require_rank(0, 3);
  c.require_rank(1, 4);
  if (c.shape(0) == nullptr) return;
  const PatchGrid grid = resolve_patches(c);
  c.out[0].shape =
      Shape{(*c.shape(0))[0], grid.channels, times(grid.rows, grid.patch_h), times(grid.columns, grid.patch_w)};
}

}  // namespace weft::graph_ir
