// Resizing of images and signals.
#include "weft/ops/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ops/element.h"

namespace weft::ops {
namespace {

// A fraction of small numbers that is the scale, as far as f32 tells.
std::optional<std::pair<std::int64_t, std::int64_t>> small_fraction(double scale) {
  for (std::int64_t q = 1; q <= 64; ++q) {
    const double p = std::round(scale * static_cast<double>(q));
    if (p >= 1 && p <= 4096 && static_cast<float>(p / static_cast<double>(q)) == static_cast<float>(scale))
      return std::pair{static_cast<std::int64_t>(p), q};
  }
  return std::nullopt;
}

void infer_resize(InferContext& context) {
  context.require_float(0);
  context.require_rank(0, 3, 5);
  const double scale = context.node().real("scale");
  if (!(scale > 0) || std::isinf(scale)) context.fail_attribute("scale", "expected a finite number above 0");
  if (context.node().boolean("align_corners") && context.node().text("mode") != "linear")
    context.fail_attribute("align_corners", "only the mode linear has corners to align");
  const Shape& x = context.shape(0);
  Shape y{x[0], x[1]};
  for (std::size_t i = 2; i < x.rank(); ++i) {
    const Dim size = resized(x[i], scale);
    if (size.value() && *size.value() < 1)
      context.fail_shape(fmt::format("an axis of {} scaled by {} leaves no element", x[i].text(), scale));
    if (!size.is_static()) context.require_equal(max(size, Dim(1)), size, "a resized axis and at least one element");
    y.push_back(size);
  }
  context.output(std::move(y), context.dtype(0));
}

void run_resize(const KernelContext& context) {
  const Tensor &x = context.input(0), &y = context.output(0);
  const Resize resize = resize_of(context.node());
  std::int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  std::vector<ResizeTap> taps[3];
  const std::size_t axes = x.rank() - 2;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (axis + axes >= 3) {
      in[axis] = x.dim(axis + axes - 1);
      out[axis] = y.dim(axis + axes - 1);
    }
    const bool given = axis + axes >= 3;
    for (std::int64_t i = 0; i < out[axis]; ++i)
      taps[axis].push_back(given ? resize_tap(resize, in[axis], out[axis], i) : ResizeTap());
  }
  const std::int64_t in_size = in[0] * in[1] * in[2], out_size = out[0] * out[1] * out[2];
  const auto weight = [&](const ResizeTap& tap, std::int64_t k) {
    if (resize.mode == ResizeMode::linear && tap.count == 2) return k == 0 ? 1 - tap.second : tap.second;
    return 1.0;
  };
  context.pool().parallel_for(x.dim(0) * x.dim(1), 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> plane(static_cast<std::size_t>(in_size)), result(static_cast<std::size_t>(out_size));
    for (std::int64_t p = begin; p < end; ++p) {
      load_f64(x, p * in_size, plane);
      std::size_t at = 0;
      for (const ResizeTap& a : taps[0])
        for (const ResizeTap& b : taps[1])
          for (const ResizeTap& c : taps[2]) {
            double sum = 0;
            for (std::int64_t i = 0; i < a.count; ++i)
              for (std::int64_t j = 0; j < b.count; ++j)
                for (std::int64_t k = 0; k < c.count; ++k)
                  sum += weight(a, i) * weight(b, j) * weight(c, k) *
                         plane[static_cast<std::size_t>(((a.first + i) * in[1] + b.first + j) * in[2] + c.first + k)];
            result[at++] =
                resize.mode == ResizeMode::area ? sum / static_cast<double>(a.count * b.count * c.count) : sum;
          }
      store_f64(context.output(0), p * out_size, result);
    }
  });
}

const OpRegistration resize{{
    .name = "Resize",
    .tag = 183,
    .family = "resize",
    .maths =
        "x [N, C, spatial...], one to three spatial axes, each of floor(size * scale * (1 + 2^-22)) elements in y, at "
        "least one. nearest: element min(floor(i * (1 / scale)), size - 1), in f32. linear: s = max((i + 1/2) / scale "
        "- 1/2, 0), or with align_corners i (size - 1) / (out - 1), 0 where out is 1; between elements floor(s) and "
        "min(floor(s) + 1, size - 1) by the fraction of s, axis by axis. area: the mean of elements floor(i * size / "
        "out) to ceil((i + 1) size / out) - 1. Computed in f64 and rounded once to x's type.",
    .attributes = {{.name = "mode",
                    .type = AttributeType::choice,
                    .required = true,
                    .doc = "how elements between elements are made",
                    .choices = {"nearest", "linear", "area"}},
                   {.name = "scale", .type = AttributeType::real, .required = true, .doc = "of every spatial axis"},
                   {.name = "align_corners",
                    .type = AttributeType::boolean,
                    .default_value = false,
                    .doc = "linear: the first and last elements stay where they are"}},
    .inputs = {{"x"}},
    .infer = infer_resize,
    .reference = run_resize,
    .unfuse = Rule::not_applicable("a primitive"),
}};

}  // namespace

Resize resize_of(const Node& node) {
  const std::string& mode = node.text("mode");
  return {mode == "nearest"  ? ResizeMode::nearest
          : mode == "linear" ? ResizeMode::linear
                             : ResizeMode::area,
          node.real("scale"), node.boolean("align_corners")};
}

Dim resized(const Dim& in, double scale) {
  constexpr double nudge = 1.0 + 0x1p-22;
  if (const auto size = in.value()) {
    const double result = std::floor(static_cast<double>(*size) * scale * nudge);
    if (!(result < 0x1p62))
      fail(ErrorKind::shape_mismatch, "SizeOverflow", "", "{} scaled by {} is more than 2^62", *size, scale);
    return Dim(static_cast<std::int64_t>(result));
  }
  // The same for every size below a million where a small fraction is meant, else in steps of 2^-30.
  if (const auto fraction = small_fraction(scale)) return floor_div(in * Dim(fraction->first), fraction->second);
  constexpr std::int64_t steps = std::int64_t{1} << 30;
  if (!(scale < 0x1p20))
    fail(ErrorKind::shape_mismatch, "SizeOverflow", "", "an open size scaled by {}; give the size", scale);
  return floor_div(in * Dim(static_cast<std::int64_t>(std::floor(scale * nudge * steps))), steps);
}

ResizeTap resize_tap(const Resize& resize, std::int64_t in, std::int64_t out, std::int64_t i) {
  switch (resize.mode) {
    case ResizeMode::nearest: {
      const float source = std::floor(static_cast<float>(i) * static_cast<float>(1.0 / resize.scale));
      return {std::min(static_cast<std::int64_t>(source), in - 1), 1, 0};
    }
    case ResizeMode::linear: {
      double s = 0;
      if (!resize.align_corners)
        s = std::max((static_cast<double>(i) + 0.5) / resize.scale - 0.5, 0.0);
      else if (out > 1)
        s = static_cast<double>(i) * static_cast<double>(in - 1) / static_cast<double>(out - 1);
      const auto first = std::min(static_cast<std::int64_t>(s), in - 1);
      if (first == in - 1) return {first, 1, 0};
      return {first, 2, s - static_cast<double>(first)};
    }
    case ResizeMode::area: break;
  }
  const std::int64_t first = i * in / out, last = ((i + 1) * in + out - 1) / out;
  return {first, last - first, 0};
}

}  // namespace weft::ops
