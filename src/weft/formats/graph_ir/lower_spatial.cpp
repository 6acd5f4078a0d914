// Ops that move pixels about, as MIR.
#include "weft/formats/graph_ir/lower.h"
#include "weft/formats/graph_ir/patches.h"

namespace weft::graph_ir {
namespace {

// Dims and axes for one Reshape, Transpose, Reshape.
struct Shuffle {
  weft::Shape apart;
  std::vector<std::int64_t> order;
  weft::Shape joined;

  // One that leaves the first `lead` axes where they are.
  static Shuffle behind(const weft::Shape& shape, std::size_t lead) {
    Shuffle shuffle;
    for (std::size_t i = 0; i < lead; ++i) {
      shuffle.apart.push_back(shape[i]);
      shuffle.joined.push_back(shape[i]);
      shuffle.order.push_back(static_cast<std::int64_t>(i));
    }
    return shuffle;
  }
  Value apply(LowerContext& c, Value x) const { return c.reshape(c.transpose(c.reshape(x, apart), order), joined); }
};

Value with_bias(LowerContext& c, Value product) {
  return c.input_count() > 2 ? c.binary("add", product, c.real(2)) : product;
}

// Patches as rows of a matrix times a flat, perhaps packed W.
Value patch_product(LowerContext& c, Value image) {
  const weft::Shape& shape = c.shape(image);
  const weft::Dim patch(c.word("patch_size"));
  const auto count = [&](std::size_t axis) {
    return weft::Dim(c.known_size(shape[axis], "every side of the image") / *patch.value());
  };
  const weft::Dim rows = count(2), columns = count(3);
  const Shuffle shuffle{{shape[0], shape[1], rows, patch, columns, patch},
                        {0, 2, 4, 1, 3, 5},
                        {shape[0], rows * columns, shape[1] * patch * patch}};
  return with_bias(c, c.matmul(shuffle.apply(c, image), c.matrix(1)));
}

}  // namespace

void lower_interpolate(LowerContext& c) {
  static constexpr const char* modes[] = {"nearest", "linear", "area"};
  const auto mode = c.node.op.get<std::uint8_t>("mode");
  c.result(0, c.emit("Resize", {c.real(0)},
                     {{"mode", modes[mode]},
                      {"scale", double{c.node.op.get<float>("scale")}},
                      {"align_corners", mode == 1 && attr_or_default<bool>(c.node, "align_corners")}}));
}

void lower_pixel_shuffle(LowerContext& c) {
  const Value x = c.kept(0);
  const weft::Shape& shape = c.shape(x);
  const weft::Dim factor(c.word("upscale_factor"));
  const std::size_t lead = shape.rank() - 3;
  const weft::Dim channels(c.known_size(shape[lead], "the channels") / *(factor * factor).value());
  Shuffle shuffle = Shuffle::behind(shape, lead);
  const auto first = static_cast<std::int64_t>(lead);
  for (const weft::Dim& dim : {channels, factor, factor, shape[lead + 1], shape[lead + 2]})
    shuffle.apart.push_back(dim);
  for (const std::int64_t axis : {0, 3, 1, 4, 2}) shuffle.order.push_back(first + axis);  // C, H, r, W, r
  for (const weft::Dim& dim : {channels, shape[lead + 1] * factor, shape[lead + 2] * factor})
    shuffle.joined.push_back(dim);
  c.result(0, shuffle.apply(c, x));
}

void lower_pixel_unshuffle(LowerContext& c) {
  const Value x = c.kept(0);
  const weft::Shape& shape = c.shape(x);
  const std::int64_t factor = c.word("downscale_factor");
  const std::size_t lead = shape.rank() - 3;
  const weft::Dim r(factor), rows(c.known_size(shape[lead + 1], "the height") / factor),
      columns(c.known_size(shape[lead + 2], "the width") / factor);
  Shuffle shuffle = Shuffle::behind(shape, lead);
  const auto first = static_cast<std::int64_t>(lead);
  for (const weft::Dim& dim : {shape[lead], rows, r, columns, r}) shuffle.apart.push_back(dim);
  for (const std::int64_t axis : {0, 2, 4, 1, 3}) shuffle.order.push_back(first + axis);  // C, r, r, H, W
  for (const weft::Dim& dim : {shape[lead] * r * r, rows, columns}) shuffle.joined.push_back(dim);
  c.result(0, shuffle.apply(c, x));
}

void lower_patch_embed(LowerContext& c) {
  const Value image = c.real(0);
  const weft::Shape w = c.shape(c.raw(1));
  if (w.rank() == 2) return c.result(0, patch_product(c, image));
  // A convolution whose windows are the patches, its pixels in a row.
  std::vector<std::int64_t> kernel;
  weft::Dim patches(1), values = w[1];
  for (std::size_t axis = 2; axis < w.rank(); ++axis) {
    kernel.push_back(c.known_size(w[axis], "the patches of W"));
    patches = patches * weft::Dim(c.known_size(c.shape(image)[axis], "every side of the image") / kernel.back());
    values = values * w[axis];
  }
  if (patches == weft::Dim(0)) {  // which no convolution has
    const Value rows = c.reshape(image, {c.shape(image)[0], patches, values});
    return c.result(0, with_bias(c, c.matmul(rows, c.reshape(c.real(1), {w[0], values}))));
  }
  std::vector<Value> operands{image};
  for (std::size_t i = 1; i < c.input_count(); ++i) operands.push_back(c.real(i));
  const Value grid = c.emit("Conv", std::move(operands), {{"kernel", kernel}, {"stride", kernel}});
  const weft::Shape& shape = c.shape(grid);
  c.result(0, c.transpose(c.reshape(grid, {shape[0], shape[1], patches}), {0, 2, 1}));
}

void lower_unpatchify(LowerContext& c) {
  std::vector<Value> operands{c.kept(0)};
  Attributes attributes{{"order", attr_or_default<std::string>(c.node, "order")}};
  if (c.input_count() > 1) {
    operands.push_back(c.raw(1));
  } else {
    const PatchGrid grid = resolve_patches(c.rule_context());
    attributes.emplace_back("patch", std::vector<std::int64_t>{grid.patch_h, grid.patch_w});
    for (const char* side : {"grid_h", "grid_w"})
      if (const auto found = c.node.attrs.find(side); found != c.node.attrs.end())
        attributes.emplace_back(side, std::get<std::int64_t>(found->second));
  }
  c.result(0, c.emit("Unpatchify", std::move(operands), attributes));
}

}  // namespace weft::graph_ir
