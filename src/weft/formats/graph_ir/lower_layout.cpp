// Ops that move elements, as MIR.
#include <algorithm>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/lower.h"
#include "weft/formats/graph_ir/patches.h"

namespace weft::graph_ir {
namespace {

using Words = std::vector<std::uint32_t>;

// An operand of an op that keeps dtypes; packed weights count as f32.
Value kept(LowerContext& c, std::size_t input) {
  return is_packed(c.dtype(c.raw(input))) ? c.real(input) : c.raw(input);
}

std::int64_t word(const LowerContext& c, std::string_view field) { return c.node.op.get<std::uint32_t>(field); }

// Dims and axes for one Reshape, Transpose, Reshape.
struct Shuffle {
  weft::Shape apart;
  std::vector<std::int64_t> order;
  weft::Shape joined;

  Value apply(LowerContext& c, Value x) const { return c.reshape(c.transpose(c.reshape(x, apart), order), joined); }
};

}  // namespace

void lower_permute(LowerContext& c) {
  const auto& axes = std::get<Words>(c.node.op.params[0]);
  c.result(0, c.transpose(kept(c, 0), {axes.begin(), axes.end()}));
}

void lower_reshape(LowerContext& c) {
  c.result(0, c.emit("Reshape", {kept(c, 0)}, {{"shape", c.node.op.get<std::vector<std::int64_t>>("shape")}}));
}

void lower_concat(LowerContext& c) {
  std::vector<Value> parts;
  for (std::size_t i = 0; i < c.input_count(); ++i) parts.push_back(kept(c, i));
  c.result(0, c.emit("Concat", std::move(parts), {{"axis", word(c, "axis")}}));
}

void lower_split(LowerContext& c) {
  const auto& sizes = c.node.op.get<Words>("sizes");
  const std::int32_t node =
      c.emit_node("Split", {kept(c, 0)},
                  {{"axis", word(c, "axis")}, {"sizes", std::vector<std::int64_t>(sizes.begin(), sizes.end())}});
  for (std::size_t i = 0; i < c.node.outputs.size(); ++i) c.result(i, {node, static_cast<std::int32_t>(i)});
}

void lower_chunk(LowerContext& c) {
  const std::int32_t node = c.equal_pieces(kept(c, 0), word(c, "axis"), word(c, "chunks"));
  for (std::size_t i = 0; i < c.node.outputs.size(); ++i) c.result(i, {node, static_cast<std::int32_t>(i)});
}

void lower_pixel_shuffle(LowerContext& c) {
  const Value x = kept(c, 0);
  const weft::Shape& shape = c.shape(x);
  const weft::Dim factor(word(c, "upscale_factor"));
  const std::size_t lead = shape.rank() - 3;
  const weft::Dim channels(c.known_size(shape[lead], "the channels") / *(factor * factor).value());
  Shuffle shuffle;
  for (std::size_t i = 0; i < lead; ++i) {
    shuffle.apart.push_back(shape[i]);
    shuffle.joined.push_back(shape[i]);
    shuffle.order.push_back(static_cast<std::int64_t>(i));
  }
  const auto first = static_cast<std::int64_t>(lead);
  for (const weft::Dim& dim : {channels, factor, factor, shape[lead + 1], shape[lead + 2]})
    shuffle.apart.push_back(dim);
  for (const std::int64_t axis : {0, 3, 1, 4, 2}) shuffle.order.push_back(first + axis);  // C, H, r, W, r
  for (const weft::Dim& dim : {channels, shape[lead + 1] * factor, shape[lead + 2] * factor})
    shuffle.joined.push_back(dim);
  c.result(0, shuffle.apply(c, x));
}

void lower_pixel_unshuffle(LowerContext& c) {
  const Value x = kept(c, 0);
  const weft::Shape& shape = c.shape(x);
  const std::int64_t factor = word(c, "downscale_factor");
  const std::size_t lead = shape.rank() - 3;
  const weft::Dim r(factor), rows(c.known_size(shape[lead + 1], "the height") / factor),
      columns(c.known_size(shape[lead + 2], "the width") / factor);
  Shuffle shuffle;
  for (std::size_t i = 0; i < lead; ++i) {
    shuffle.apart.push_back(shape[i]);
    shuffle.joined.push_back(shape[i]);
    shuffle.order.push_back(static_cast<std::int64_t>(i));
  }
  const auto first = static_cast<std::int64_t>(lead);
  for (const weft::Dim& dim : {shape[lead], rows, r, columns, r}) shuffle.apart.push_back(dim);
  for (const std::int64_t axis : {0, 2, 4, 1, 3}) shuffle.order.push_back(first + axis);  // C, r, r, H, W
  for (const weft::Dim& dim : {shape[lead] * r * r, rows, columns}) shuffle.joined.push_back(dim);
  c.result(0, shuffle.apply(c, x));
}

void lower_patch_embed(LowerContext& c) {
  const Value image = c.real(0);
  const weft::Shape& shape = c.shape(image);
  const std::size_t axes = shape.rank() - 2;  // height and width, with time in front of a video
  const std::int64_t patch = word(c, "patch_size");
  const weft::Shape w_shape = c.shape(c.raw(1));
  std::vector<std::int64_t> sides(axes, patch);
  if (axes == 3) sides[0] = *w_shape[2].value();
  Shuffle shuffle;
  shuffle.apart = {shape[0], shape[1]};
  weft::Dim patches(1), values = shape[1];
  for (std::size_t i = 0; i < axes; ++i) {
    const weft::Dim count(c.known_size(shape[2 + i], "every side of the image") / sides[i]);
    shuffle.apart.push_back(count);
    shuffle.apart.push_back(weft::Dim(sides[i]));
    patches = patches * count;
    values = values * weft::Dim(sides[i]);
  }
  shuffle.order = {0};
  for (std::size_t i = 0; i < axes; ++i) shuffle.order.push_back(static_cast<std::int64_t>(2 + 2 * i));
  shuffle.order.push_back(1);
  for (std::size_t i = 0; i < axes; ++i) shuffle.order.push_back(static_cast<std::int64_t>(3 + 2 * i));
  shuffle.joined = {shape[0], patches, values};
  const Value w = w_shape.rank() == 2 ? c.matrix(1) : c.reshape(c.real(1), {w_shape[0], values});
  const Value product = c.matmul(shuffle.apply(c, image), w);
  c.result(0, c.input_count() > 2 ? c.binary("add", product, c.real(2)) : product);
}

void lower_unpatchify(LowerContext& c) {
  const RuleContext rules = c.rule_context();
  const PatchGrid grid = resolve_patches(rules);
  for (const Dim size : {grid.rows, grid.columns, grid.patch_h, grid.patch_w, grid.channels})
    if (!known(size)) c.unsupported("the grid and the patches must be known before a run");
  const weft::Dim rows(grid.rows), columns(grid.columns), high(grid.patch_h), wide(grid.patch_w),
      channels(grid.channels);
  const Value x = kept(c, 0);
  const weft::Dim batch = c.shape(x)[0];
  Shuffle shuffle;
  if (attr_or_default<std::string>(c.node, "order") == "cpp") {
    shuffle.apart = {batch, rows, columns, channels, high, wide};
    shuffle.order = {0, 3, 1, 4, 2, 5};
  } else {
    shuffle.apart = {batch, rows, columns, high, wide, channels};
    shuffle.order = {0, 5, 1, 3, 2, 4};
  }
  shuffle.joined = {batch, channels, rows * high, columns * wide};
  c.result(0, shuffle.apply(c, x));
}

}  // namespace weft::graph_ir
