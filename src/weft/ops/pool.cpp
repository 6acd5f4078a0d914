// Pooling over one, two or three spatial axes.
#include <cmath>
#include <limits>
#include <vector>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ops/element.h"
#include "weft/ops/windows.h"

namespace weft::ops {
namespace {

void infer_pool(InferContext& context) {
  context.require_float(0);
  const std::size_t axes = context.node().integers("kernel").size();
  check_windows(context, axes);
  const ImageShape image = image_shape(context, axes);
  const std::vector<WindowAxis> windows = window_axes(context.node());
  Shape spatial;
  for (std::size_t i = 0; i < axes; ++i) {
    if (windows[i].low > windows[i].kernel / 2)
      context.fail_attribute("padding",
                             fmt::format("{} is more than half of a kernel of {}", windows[i].low, windows[i].kernel));
    spatial.push_back(window_count(context, image.spatial[i], windows[i]));
  }
  context.output(image_output(image, image.channels, spatial), context.dtype(0));
}

// The elements of one window inside of a plane, in row-major order.
template <class Use>
void for_each_tap(const Windows& windows, const ImageDims& in, const std::int64_t (&o)[3], Use use) {
  std::int64_t begin[3], end[3];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t first = o[axis] * windows.axes[axis].stride - windows.axes[axis].low;
    begin[axis] = std::max<std::int64_t>(first, 0);
    end[axis] = std::min(first + windows.axes[axis].kernel, in.spatial[axis]);
  }
  for (std::int64_t a = begin[0]; a < end[0]; ++a)
    for (std::int64_t b = begin[1]; b < end[1]; ++b)
      for (std::int64_t c = begin[2]; c < end[2]; ++c) use((a * in.spatial[1] + b) * in.spatial[2] + c);
}

// What a mean divides by: the elements of a window, those beyond the padding left out.
double divisor(const Windows& windows, const ImageDims& in, const std::int64_t (&o)[3]) {
  double count = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const WindowAxis& w = windows.axes[axis];
    count *= static_cast<double>(std::min(w.kernel, in.spatial[axis] + w.low + w.high - o[axis] * w.stride));
  }
  return count;
}

void run_pool(const KernelContext& context) {
  const std::size_t axes = context.node().integers("kernel").size();
  const Windows windows = windows_of(context.node());
  const ImageDims in = image_dims(context.input(0).dims(), axes), out = image_dims(context.output(0).dims(), axes);
  const bool mean = context.node().text("kind") == "mean";
  context.pool().parallel_for(out.batch * out.channels, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> x(static_cast<std::size_t>(in.pixels())), y(static_cast<std::size_t>(out.pixels()));
    for (std::int64_t plane = begin; plane < end; ++plane) {
      load_f64(context.input(0), plane * in.pixels(), x);
      std::size_t at = 0;
      for (std::int64_t a = 0; a < out.spatial[0]; ++a)
        for (std::int64_t b = 0; b < out.spatial[1]; ++b)
          for (std::int64_t c = 0; c < out.spatial[2]; ++c) {
            double result = mean ? 0 : -std::numeric_limits<double>::infinity();
            for_each_tap(windows, in, {a, b, c}, [&](std::int64_t i) {
              const double value = x[static_cast<std::size_t>(i)];
              if (mean)
                result += value;
              else if (value > result || std::isnan(value))
                result = value;
            });
            y[at++] = mean ? result / divisor(windows, in, {a, b, c}) : result;
          }
      store_f64(context.output(0), plane * out.pixels(), y);
    }
  });
}

const OpRegistration pool{{
    .name = "Pool",
    .tag = 182,
    .family = "pool",
    .maths =
        "The maximum or mean of x [N, C, spatial...] (N may be missing) over windows of one to three spatial axes. "
        "Output o of an axis has the window of elements o * stride - padding and on; the maximum takes those "
        "inside of x, and NaN wins; the mean divides their sum by the size of the window, as if zeros stood "
        "outside. An output axis has floor((size + 2 padding - kernel) / stride) + 1 elements, at least one. With "
        "ceil_mode the quotient is rounded up instead, as long as every window begins in x or in the padding before "
        "it; a mean then counts no element beyond the padding. "
        "Sums are f64, rounded once to x's type.",
    .attributes = {{.name = "kind",
                    .type = AttributeType::choice,
                    .required = true,
                    .doc = "what is taken of a window",
                    .choices = {"max", "mean"}},
                   window_attribute("kernel", "sizes of a window", true),
                   window_attribute("stride", "empty, or 0: the kernel's"),
                   window_attribute("padding", "on both ends, at most half of the kernel; empty: none"),
                   {.name = "ceil_mode",
                    .type = AttributeType::boolean,
                    .default_value = false,
                    .doc = "a last window may reach beyond the padding"}},
    .inputs = {{"x"}},
    .op_class = OpClass::reduction,
    .infer = infer_pool,
    .reference = run_pool,
    .flops =
        [](const InferContext& context) {
          Dim count = context.outputs()[0].shape.numel();
          for (const std::int64_t size : context.node().integers("kernel")) count = count * Dim(size);
          return count;
        },
    .unfuse = Rule::not_applicable("a primitive"),
}};

}  // namespace
}  // namespace weft::ops
