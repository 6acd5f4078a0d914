// Convolutions, pooling and what moves pixels of MIR in the Graph IR.
#include <algorithm>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/raise.h"

namespace weft::graph_ir {
namespace {

using Words = std::vector<std::uint32_t>;
using Sizes = std::vector<std::int64_t>;

// A list of the node, one entry an axis.
Sizes sizes(const RaiseContext& c, std::string_view name, std::int64_t absent) {
  const Sizes& given = c.node.integers(name);
  return given.empty() ? Sizes(c.node.integers("kernel").size(), absent) : given;
}

bool all_equal(const Sizes& values) {
  return std::count(values.begin(), values.end(), values[0]) == std::ssize(values);
}

std::vector<std::string> operands(RaiseContext& c) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < c.node.inputs.size(); ++i) names.push_back(c.real(i));
  return names;
}

void raise_causal_conv(RaiseContext& c, const Sizes& kernel, const Sizes& low, const Sizes& high) {
  if (kernel.size() != 1 || low[0] != kernel[0] - 1 || high[0] != 0 || sizes(c, "stride", 1)[0] != 1 ||
      sizes(c, "dilation", 1)[0] != 1)
    c.refuse(
        "padding of two kinds, or other than zeros, is only that of a causal convolution in the Graph IR: one axis, "
        "kernel - 1 in front, stride and dilation 1");
  Attrs attrs;
  if (c.node.text("pad_mode") == "zeros") attrs["pad_mode"] = std::string("zeros");
  c.add(make_op(Tag::causal_conv1d, {{"kernel", c.u32(kernel[0], "kernel")}}), operands(c), std::move(attrs));
}

// Whether the node is what a DepthwiseConv says.
bool is_depthwise(const RaiseContext& c, const Sizes& kernel, const Sizes& padding) {
  const weft::Shape& x = c.shape(0);
  return kernel.size() < 3 && c.shape(1)[1] == weft::Dim(1) &&
         x[x.rank() - kernel.size() - 1] == weft::Dim(c.node.integer("groups")) && all_equal(kernel) &&
         all_equal(padding) && all_equal(sizes(c, "stride", 1)) && all_equal(sizes(c, "dilation", 1));
}

}  // namespace

void raise_conv(RaiseContext& c) {
  static constexpr Tag tags[] = {Tag::conv1d, Tag::conv2d, Tag::conv3d};
  const Sizes& kernel = c.node.integers("kernel");
  const Sizes low = sizes(c, "padding", 0);
  const Sizes& high = c.node.integers("padding_hi").empty() ? low : c.node.integers("padding_hi");
  const bool padded = std::any_of(low.begin(), low.end(), [](std::int64_t size) { return size != 0; });
  if (c.origin_op() == "CausalConv1d" || low != high || (padded && c.node.text("pad_mode") != "zeros"))
    return raise_causal_conv(c, kernel, low, high);
  if (c.origin_op() == "DepthwiseConv" && is_depthwise(c, kernel, low)) {
    Attrs attrs;
    if (low[0] != 0) attrs["padding"] = low[0];
    if (const std::int64_t dilation = sizes(c, "dilation", 1)[0]; dilation != 1) attrs["dilation"] = dilation;
    return c.add(make_op(Tag::depthwise_conv, {{"kernel", c.u32(kernel[0], "kernel")},
                                               {"stride", c.u32(sizes(c, "stride", 1)[0], "stride")}}),
                 operands(c), std::move(attrs));
  }
  const auto field = [&](const char* name, std::int64_t absent) -> ParamValue {
    Words values = c.u32_list(sizes(c, name, absent), name);
    if (kernel.size() == 1) return values[0];
    return values;
  };
  c.add(make_op(tags[kernel.size() - 1], {{"kernel", field("kernel", 1)},
                                          {"stride", field("stride", 1)},
                                          {"padding", field("padding", 0)},
                                          {"dilation", field("dilation", 1)},
                                          {"groups", c.u32(c.node.integer("groups"), "groups")}}),
        operands(c));
}

void raise_conv_transpose(RaiseContext& c) {
  const Sizes& kernel = c.node.integers("kernel");
  if (kernel.size() != 2) c.refuse("the Graph IR has transposed convolutions over two axes alone");
  Attrs attrs;
  if (const std::int64_t groups = c.node.integer("groups"); groups != 1) attrs["groups"] = groups;
  if (Sizes dilation = sizes(c, "dilation", 1); dilation != Sizes{1, 1}) attrs["dilation"] = std::move(dilation);
  if (Sizes extra = sizes(c, "output_padding", 0); extra != Sizes{0, 0}) attrs["output_padding"] = std::move(extra);
  c.add(make_op(Tag::conv_transpose2d, {{"kernel", c.u32_list(kernel, "kernel")},
                                        {"stride", c.u32_list(sizes(c, "stride", 1), "stride")},
                                        {"padding", c.u32_list(sizes(c, "padding", 0), "padding")}}),
        operands(c), std::move(attrs));
}

void raise_pool(RaiseContext& c) {
  const Sizes& kernel = c.node.integers("kernel");
  if (kernel.size() != 2) c.refuse("the Graph IR pools over two axes alone");
  if (c.node.boolean("ceil_mode")) c.refuse("a Pool of the Graph IR has no window beyond the padding");
  c.add(make_op(Tag::pool, {{"mode", static_cast<std::uint8_t>(c.node.text("kind") == "max" ? 0 : 1)},
                            {"kernel", c.u32_list(kernel, "kernel")},
                            {"stride", c.u32_list(sizes(c, "stride", 0), "stride")},
                            {"padding", c.u32_list(sizes(c, "padding", 0), "padding")}}),
        operands(c));
}

void raise_resize(RaiseContext& c) {
  const std::string& mode = c.node.text("mode");
  Attrs attrs;
  if (c.node.boolean("align_corners")) attrs["align_corners"] = true;
  c.add(make_op(Tag::interpolate, {{"mode", static_cast<std::uint8_t>(mode == "nearest"  ? 0
                                                                      : mode == "linear" ? 1
                                                                                         : 2)},
                                   {"scale", c.f32("scale")}}),
        operands(c), std::move(attrs));
}

void raise_unpatchify(RaiseContext& c) {
  std::vector<std::string> names{c.plain(0)};
  if (c.has(1)) names.push_back(c.stored(1));
  Attrs attrs;
  if (const Sizes& patch = c.node.integers("patch"); !patch.empty()) {
    if (patch[0] == patch[1])
      attrs["patch_size"] = patch[0];
    else
      attrs["patch_size"] = patch;
  }
  for (const char* side : {"grid_h", "grid_w"})
    if (const auto size = c.node.optional_integer(side)) attrs[side] = *size;
  if (c.node.text("order") != "cpp") attrs["order"] = c.node.text("order");
  c.add(make_op(Tag::unpatchify), std::move(names), std::move(attrs));
}

}  // namespace weft::graph_ir
