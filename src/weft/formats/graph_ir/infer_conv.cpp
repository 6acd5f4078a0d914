// Shape rules of convolutions, pooling and interpolation.
#include <cmath>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/infer_rules.h"

namespace weft::graph_ir {
namespace {

using Words = std::vector<std::uint32_t>;

// A field of words, or a single word for every one of `count` axes.
Words per_axis(const Op& op, std::string_view field, std::size_t count) {
  const ParamValue& value = op.param(field);
  if (const auto* word = std::get_if<std::uint32_t>(&value)) return Words(count, *word);
  return std::get<Words>(value);
}

// x [B, C, spatial...], or without B.
struct Image {
  bool batched;
  Dim channels;
  Shape spatial;
};

Image image_of(const RuleContext& c, const Shape& x, std::size_t spatial_axes) {
  c.require_rank(0, spatial_axes + 1, spatial_axes + 2);
  const bool batched = x.size() == spatial_axes + 2;
  const std::size_t channel = batched ? 1 : 0;
  return {batched, x[channel], Shape(x.begin() + static_cast<std::ptrdiff_t>(channel) + 1, x.end())};
}

Shape image_shape(const Shape& x, const Image& image, Dim channels, const Shape& spatial) {
  Shape result;
  if (image.batched) result.push_back(x[0]);
  result.push_back(channels);
  result.insert(result.end(), spatial.begin(), spatial.end());
  return result;
}

// floor((i + 2p - d(k - 1) - 1) / s) + 1
Dim window_count(const RuleContext& c, Dim in, Dim kernel, Dim stride, Dim padding, Dim dilation) {
  const Dim padded = plus(in, times(2, padding)), reach = plus(times(dilation, kernel - 1), 1);
  if (!known(padded)) return unknown_dim;
  if (padded < reach)
    c.mismatch(fmt::format("a kernel that reaches over {} elements does not fit into {}, padded to {}", reach,
                           c.operand(0), padded));
  return (padded - reach) / stride + 1;
}

void require_kernel(const RuleContext& c, const Shape& w, const Words& kernel) {
  for (std::size_t i = 0; i < kernel.size(); ++i)
    if (const Dim found = w[w.size() - kernel.size() + i]; !unified(found, kernel[i]))
      c.bad_param("kernel",
                  fmt::format("is [{}], but {} has a side of {}", fmt::join(kernel, ", "), c.operand(1), found));
}

void require_groups(const RuleContext& c, Dim channels, Dim groups, std::string_view what) {
  if (known(channels) && known(groups) && (groups == 0 || channels % groups != 0))
    c.mismatch(fmt::format("the {} {} channels do not divide into {} groups", channels, what, groups));
}

// Output channels of x [.., Cin, ..] through W [Cout, Cin / groups, ..] with bias [Cout].
Dim conv_channels(const RuleContext& c, const Image& image, const Shape& w, Dim groups) {
  require_groups(c, image.channels, groups, "input");
  c.unify(times(w[1], groups), image.channels, "the channels of x and those that W reads in all groups");
  require_groups(c, w[0], groups, "output");
  return c.require_vector(2, w[0], "the output channels of W");
}

std::size_t spatial_axes_of(Tag tag) { return tag == Tag::conv1d ? 1 : tag == Tag::conv2d ? 2 : 3; }

}  // namespace

void infer_conv(RuleContext& c) {
  const std::size_t axes = spatial_axes_of(c.node.op.tag);
  c.require_rank(1, axes + 2);
  const Shape *x = c.shape(0), *w = c.shape(1);
  const Words kernel = per_axis(c.node.op, "kernel", axes), stride = per_axis(c.node.op, "stride", axes),
              padding = per_axis(c.node.op, "padding", axes), dilation = per_axis(c.node.op, "dilation", axes);
  if (w != nullptr) require_kernel(c, *w, kernel);
  if (x == nullptr) return;
  const Image image = image_of(c, *x, axes);
  Shape spatial;
  for (std::size_t i = 0; i < axes; ++i)
    spatial.push_back(window_count(c, image.spatial[i], kernel[i], stride[i], padding[i], dilation[i]));
  const Dim channels = w == nullptr ? unknown_dim : conv_channels(c, image, *w, c.node.op.get<std::uint32_t>("groups"));
  c.out[0].shape = image_shape(*x, image, channels, spatial);
}

void infer_conv_transpose(RuleContext& c) {
  c.require_rank(1, 4);
  const Shape *x = c.shape(0), *w = c.shape(1);
  const auto &kernel = c.node.op.get<Words>("kernel"), &stride = c.node.op.get<Words>("stride"),
             &padding = c.node.op.get<Words>("padding");
  const auto dilation = attr_or_default<std::vector<std::int64_t>>(c.node, "dilation"),
             extra = attr_or_default<std::vector<std::int64_t>>(c.node, "output_padding");
  const auto groups = attr_or_default<std::int64_t>(c.node, "groups");
  for (std::size_t i = 0; i < 2; ++i)
    if (extra[i] >= stride[i] && extra[i] >= dilation[i])
      c.bad_attr("output_padding", fmt::format("must be below the stride or the dilation, found {}", extra[i]));
  if (w != nullptr) require_kernel(c, *w, kernel);
  if (x == nullptr) return;
  const Image image = image_of(c, *x, 2);
  Dim channels = unknown_dim;
  if (w != nullptr) {
    c.unify(image.channels, (*w)[0], "the channels of x and the first axis of W");
    require_groups(c, (*w)[0], groups, "input");
    channels = c.require_vector(2, times((*w)[1], groups), "the output channels of W");
  }
  Shape spatial;
  for (std::size_t i = 0; i < 2; ++i) {
    Dim size = unknown_dim;
    if (known(image.spatial[i])) {
      if (image.spatial[i] == 0) c.mismatch(fmt::format("{} has no pixels to start from", c.operand(0)));
      // (i - 1)s - 2p + d(k - 1) + output_padding + 1
      const Dim grown =
          plus(times(image.spatial[i] - 1, stride[i]), plus(times(dilation[i], Dim{kernel[i]} - 1), plus(extra[i], 1)));
      size = grown - 2 * Dim{padding[i]};
      if (size < 1) c.mismatch(fmt::format("the output would have a side of {}; reduce the padding", size));
    }
    spatial.push_back(size);
  }
  c.out[0].shape = image_shape(*x, image, channels, spatial);
}

void infer_causal_conv(RuleContext& c) {
  c.require_rank(1, 3);
  const Shape *x = c.shape(0), *w = c.shape(1);
  if (w != nullptr) require_kernel(c, *w, {c.node.op.get<std::uint32_t>("kernel")});
  if (x == nullptr) return;
  const Image image = image_of(c, *x, 1);
  Dim channels = unknown_dim;
  if (w != nullptr) {
    Dim groups = unknown_dim;
    if (known(image.channels) && known((*w)[1])) {
      if ((*w)[1] == 0 || image.channels % (*w)[1] != 0)
        c.mismatch(fmt::format("the {} channels of x are no multiple of the {} that {} reads per group", image.channels,
                               (*w)[1], c.operand(1)));
      groups = image.channels / (*w)[1];
    }
    require_groups(c, (*w)[0], groups, "output");
    channels = c.require_vector(2, (*w)[0], "the output channels of W");
  }
  c.out[0].shape = image_shape(*x, image, channels, image.spatial);
}

void infer_depthwise_conv(RuleContext& c) {
  c.require_rank(1, 3, 4);
  const Shape *x = c.shape(0), *w = c.shape(1);
  if (w == nullptr) return;
  const std::size_t axes = w->size() - 2;
  const Words kernel = per_axis(c.node.op, "kernel", axes);
  require_kernel(c, *w, kernel);
  c.unify((*w)[1], 1, "the second axis of W and 1");
  if (x == nullptr) return;
  const Image image = image_of(c, *x, axes);
  require_groups(c, (*w)[0], image.channels, "output");
  const Dim channels = c.require_vector(2, (*w)[0], "the output channels of W");
  const Dim stride = c.node.op.get<std::uint32_t>("stride");
  const auto padding = attr_or_default<std::int64_t>(c.node, "padding"),
             dilation = attr_or_default<std::int64_t>(c.node, "dilation");
  Shape spatial;
  for (std::size_t i = 0; i < axes; ++i)
    spatial.push_back(window_count(c, image.spatial[i], kernel[i], stride, padding, dilation));
  c.out[0].shape = image_shape(*x, image, channels, spatial);
}

void infer_pool(RuleContext& c) {
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  const Image image = image_of(c, *x, 2);
  const auto &kernel = c.node.op.get<Words>("kernel"), &stride = c.node.op.get<Words>("stride"),
             &padding = c.node.op.get<Words>("padding");
  Shape spatial;
  for (std::size_t i = 0; i < 2; ++i)  // a stride of 0 stands for the kernel
    spatial.push_back(
        window_count(c, image.spatial[i], kernel[i], stride[i] == 0 ? kernel[i] : stride[i], padding[i], 1));
  c.out[0].shape = image_shape(*x, image, image.channels, spatial);
}

void infer_interpolate(RuleContext& c) {
  c.require_rank(0, 3, 4);
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  const double scale = c.node.op.get<float>("scale");
  Shape result = *x;
  for (std::size_t i = 2; i < result.size(); ++i) {
    if (!known(result[i])) continue;
    // The nudge undoes the rounding of factors such as 0.7 to f32.
    const double size = std::floor(static_cast<double>(result[i]) * scale * (1.0 + 0x1p-22));
    if (!(size < 0x1p62))
      fail(ErrorKind::shape_mismatch, "SizeOverflow", "", "scaling {} by {} gives more than 2^62 pixels", c.operand(0),
           scale);
    if (size < 1) c.mismatch(fmt::format("scaling {} by {} leaves no pixel", c.operand(0), scale));
    result[i] = static_cast<Dim>(size);
  }
  c.out[0].shape = std::move(result);
}

}  // namespace weft::graph_ir
