// Convolutions over one, two or three spatial axes, and their transposes.
#include <algorithm>
#include <vector>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ops/element.h"
#include "weft/ops/windows.h"

namespace weft::ops {
namespace {

// Checks w [_, _, kernel...] and what the operands are; gives the number of spatial axes.
std::size_t check_operands(InferContext& context) {
  context.require_float(0);
  for (const std::size_t operand : {1, 2})
    if (context.has(operand) && context.dtype(operand) != DType::f32) context.require_same_dtype(0, operand);
  const std::size_t axes = context.node().integers("kernel").size();
  check_windows(context, axes);
  context.require_rank(1, axes + 2, axes + 2);
  for (std::size_t i = 0; i < axes; ++i)
    context.require_equal(context.shape(1)[i + 2], Dim(context.node().integers("kernel")[i]), "w and the kernel");
  if (context.has(2)) context.require_rank(2, 1, 1);
  const std::int64_t groups = context.node().integer("groups");
  if (groups < 1) context.fail_attribute("groups", fmt::format("{} is not 1 or more", groups));
  return axes;
}

void require_groups(InferContext& context, const Dim& channels, std::int64_t groups, const char* what) {
  if (channels.value() && *channels.value() % groups != 0)
    context.fail_shape(fmt::format("the {} {} channels do not divide into {} groups", *channels.value(), what, groups));
  if (!channels.is_static())
    context.require_equal(floor_div(channels, groups) * Dim(groups), channels, "the channels of all groups");
}

void infer_conv(InferContext& context) {
  const std::size_t axes = check_operands(context);
  const ImageShape image = image_shape(context, axes);
  const std::int64_t groups = context.node().integer("groups");
  const Shape& w = context.shape(1);
  require_groups(context, image.channels, groups, "input");
  require_groups(context, w[0], groups, "output");
  context.require_equal(w[1] * Dim(groups), image.channels, "the channels that w reads in all groups and those of x");
  if (context.has(2)) context.require_equal(context.shape(2)[0], w[0], "the bias and the output channels of w");
  const std::vector<WindowAxis> windows = window_axes(context.node());
  Shape spatial;
  for (std::size_t i = 0; i < axes; ++i) {
    spatial.push_back(window_count(context, image.spatial[i], windows[i]));
    if (context.node().text("pad_mode") == "replicate" && image.spatial[i].value() == 0)
      context.fail_shape("an axis without elements has none to repeat as padding");
  }
  context.output(image_output(image, w[0], spatial), context.dtype(0));
}

void infer_conv_transpose(InferContext& context) {
  const std::size_t axes = check_operands(context);
  const ImageShape image = image_shape(context, axes);
  const std::int64_t groups = context.node().integer("groups");
  const Shape& w = context.shape(1);
  context.require_equal(w[0], image.channels, "the first axis of w and the channels of x");
  require_groups(context, image.channels, groups, "input");
  const Dim channels = w[1] * Dim(groups);
  if (context.has(2)) context.require_equal(context.shape(2)[0], channels, "the bias and the output channels");
  const std::vector<WindowAxis> windows = window_axes(context.node());
  Shape spatial;
  for (std::size_t i = 0; i < axes; ++i) {
    const WindowAxis& axis = windows[i];
    if (axis.extra >= std::max(axis.stride, axis.dilation))
      context.fail_attribute("output_padding", fmt::format("{} is not below the stride or the dilation", axis.extra));
    const Dim size = (image.spatial[i] - Dim(1)) * Dim(axis.stride) +
                     Dim(axis.dilation * (axis.kernel - 1) + axis.extra + 1 - axis.low - axis.high);
    if (image.spatial[i].value() == 0) context.fail_shape("there are no elements to start from");
    if (size.value() && *size.value() < 1)
      context.fail_shape(fmt::format("an axis of the output would have size {}; reduce the padding", *size.value()));
    if (!size.is_static()) context.require_equal(max(size, Dim(1)), size, "an axis of the output and at least 1");
    spatial.push_back(size);
  }
  context.output(image_output(image, channels, spatial), context.dtype(0));
}

struct Operands {
  ImageDims in, out;
  Windows windows;
  std::int64_t groups;
  std::vector<double> x, w, bias;

  explicit Operands(const KernelContext& context)
      : windows(windows_of(context.node())),
        groups(context.node().integer("groups")),
        x(load_f64(context.input(0))),
        w(load_f64(context.input(1))) {
    const std::size_t axes = context.node().integers("kernel").size();
    in = image_dims(context.input(0).dims(), axes);
    out = image_dims(context.output(0).dims(), axes);
    if (context.has(2)) bias = load_f64(context.input(2));
  }
};

// Runs value(n, channel, o0, o1, o2) for every output element and stores it plus the bias.
template <class Value>
void for_each_output(const KernelContext& context, const Operands& of, Value value) {
  const ImageDims& out = of.out;
  const std::int64_t pixels = out.pixels();
  context.pool().parallel_for(out.batch * out.channels, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> plane(static_cast<std::size_t>(pixels));
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t n = unit / out.channels, channel = unit % out.channels;
      std::size_t at = 0;
      for (std::int64_t a = 0; a < out.spatial[0]; ++a)
        for (std::int64_t b = 0; b < out.spatial[1]; ++b)
          for (std::int64_t c = 0; c < out.spatial[2]; ++c) {
            const double sum = value(n, channel, a, b, c);
            plane[at++] = of.bias.empty() ? sum : sum + of.bias[static_cast<std::size_t>(channel)];
          }
      store_f64(context.output(0), unit * pixels, plane);
    }
  });
}

// Sums x * w over the input channels of a group and the taps, each where source(axis, o, tap) is inside.
template <class Source>
double sum_of_taps(const Operands& of, std::int64_t image, std::int64_t channels, std::int64_t w_start,
                   std::int64_t w_step, const std::int64_t (&o)[3], Source source) {
  const Windows& windows = of.windows;
  double sum = 0;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    const std::int64_t plane = (image + channel) * of.in.pixels();
    std::int64_t tap = w_start + channel * w_step;
    for (std::int64_t a = 0; a < windows.axes[0].kernel; ++a) {
      const std::int64_t i = source(0, o[0], a);
      for (std::int64_t b = 0; b < windows.axes[1].kernel; ++b) {
        const std::int64_t j = source(1, o[1], b);
        for (std::int64_t c = 0; c < windows.axes[2].kernel; ++c, ++tap) {
          const std::int64_t k = source(2, o[2], c);
          if (i < 0 || j < 0 || k < 0) continue;
          const std::int64_t from = plane + (i * of.in.spatial[1] + j) * of.in.spatial[2] + k;
          sum += of.x[static_cast<std::size_t>(from)] * of.w[static_cast<std::size_t>(tap)];
        }
      }
    }
  }
  return sum;
}

void run_conv(const KernelContext& context) {
  const Operands of(context);
  const bool replicate = context.node().text("pad_mode") == "replicate";
  const std::int64_t channels = of.in.channels / of.groups, taps = of.windows.taps();
  // -1: a tap in the padding.
  const auto source = [&](std::size_t axis, std::int64_t o, std::int64_t tap) {
    const WindowAxis& window = of.windows.axes[axis];
    const std::int64_t i = o * window.stride - window.low + tap * window.dilation, size = of.in.spatial[axis];
    if (replicate) return std::clamp<std::int64_t>(i, 0, size - 1);
    return i < size ? i : -1;
  };
  for_each_output(context, of,
                  [&](std::int64_t n, std::int64_t channel, std::int64_t a, std::int64_t b, std::int64_t c) {
                    const std::int64_t group = channel / (of.out.channels / of.groups);
                    return sum_of_taps(of, n * of.in.channels + group * channels, channels, channel * channels * taps,
                                       taps, {a, b, c}, source);
                  });
}

void run_conv_transpose(const KernelContext& context) {
  const Operands of(context);
  const std::int64_t channels = of.in.channels / of.groups, taps = of.windows.taps();
  const std::int64_t per_group = of.out.channels / of.groups;
  // -1: no input reaches output o through the tap.
  const auto source = [&](std::size_t axis, std::int64_t o, std::int64_t tap) {
    const WindowAxis& window = of.windows.axes[axis];
    const std::int64_t reach = o + window.low - tap * window.dilation;
    if (reach < 0 || reach % window.stride != 0) return std::int64_t{-1};
    return reach / window.stride < of.in.spatial[axis] ? reach / window.stride : -1;
  };
  for_each_output(context, of,
                  [&](std::int64_t n, std::int64_t channel, std::int64_t a, std::int64_t b, std::int64_t c) {
                    const std::int64_t group = channel / per_group;
                    return sum_of_taps(of, n * of.in.channels + group * channels, channels,
                                       (group * channels * per_group + channel % per_group) * taps, per_group * taps,
                                       {a, b, c}, source);
                  });
}

const AttributeSpec groups_attribute{.name = "groups",
                                     .type = AttributeType::integer,
                                     .default_value = std::int64_t{1},
                                     .doc = "parts of the channels that see each other"};

// A product and a sum for each output element, input channel of its group and tap. `read`: the axis of w that is as
// long as there are channels that an output element reads.
Dim conv_flops(const InferContext& context, std::size_t read, std::int64_t groups) {
  Dim count = Dim(2) * context.outputs()[0].shape.numel() * floor_div(context.shape(1)[read], groups);
  for (const std::int64_t size : context.node().integers("kernel")) count = count * Dim(size);
  return count;
}

const OpRegistration conv{{
    .name = "Conv",
    .tag = 180,
    .family = "conv",
    .maths = "Cross-correlation of x [N, Cin, spatial...] (N may be missing) with w [Cout, Cin / groups, kernel...], "
             "over one to three spatial axes: y[n, c, o] = bias[c] + sum over the channels i of the group that c is in "
             "and the taps k of x[n, i, o * stride - padding + k * dilation] w[c, i, k]. Outside of x are zeros, or "
             "with replicate the nearest elements. An output axis has floor((size + padding + padding_hi - "
             "dilation (kernel - 1) - 1) / stride) + 1 elements, at least one. Sums are f64, channels outermost, "
             "rounded once with the bias to x's type.",
    .attributes = {window_attribute("kernel", "spatial sizes of w", true),
                   window_attribute("stride", "empty: ones"),
                   window_attribute("padding", "in front of each spatial axis; empty: none"),
                   window_attribute("padding_hi", "behind each spatial axis; empty: as in front"),
                   window_attribute("dilation", "distance of taps; empty: ones"),
                   groups_attribute,
                   {.name = "pad_mode",
                    .type = AttributeType::choice,
                    .default_value = std::string("zeros"),
                    .doc = "what stands outside of x",
                    .choices = {"zeros", "replicate"}}},
    .inputs = {{.name = "x"},
               {.name = "w"},
               {.name = "bias", .presence = Presence::optional, .doc = "per output channel"}},
    .infer = infer_conv,
    .reference = run_conv,
    .flops = [](const InferContext& context) { return conv_flops(context, 1, 1); },
    .unfuse = Rule::not_applicable("a primitive"),
}};

const OpRegistration conv_transpose{{
    .name = "ConvTranspose",
    .tag = 181,
    .family = "conv",
    .maths = "The transpose of Conv with x [N, Cin, spatial...] (N may be missing) and w [Cin, Cout / groups, "
             "kernel...]: y[n, c, o] = bias[c] + sum over the channels i of the group that c is in, the elements p and "
             "the taps k with p * stride - padding + k * dilation = o of x[n, i, p] w[i, c, k]. An output axis has "
             "(size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1 elements, at least one. Sums "
             "are f64, channels outermost, rounded once with the bias to x's type.",
    .attributes = {window_attribute("kernel", "spatial sizes of w", true), window_attribute("stride", "empty: ones"),
                   window_attribute("padding", "cut off from both ends of each spatial axis; empty: none"),
                   window_attribute("output_padding", "further elements behind each spatial axis; empty: none"),
                   window_attribute("dilation", "distance of taps; empty: ones"), groups_attribute},
    .inputs = {{.name = "x"},
               {.name = "w"},
               {.name = "bias", .presence = Presence::optional, .doc = "per output channel"}},
    .infer = infer_conv_transpose,
    .reference = run_conv_transpose,
    .flops = [](const InferContext& context) { return conv_flops(context, 0, context.node().integer("groups")); },
    .unfuse = Rule::not_applicable("a primitive"),
}};

}  // namespace
}  // namespace weft::ops
