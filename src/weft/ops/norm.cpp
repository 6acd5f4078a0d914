// Normalization over trailing axes.
#include <cmath>
#include <vector>

#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ops/element.h"
#include "weft/ops/schema_parts.h"

namespace weft::ops {
namespace {

// Gain and bias have the normalized axes, in x's type or f32. Optional both.
void infer_affine(InferContext& context, std::size_t axis) {
  const Shape& x = context.shape(0);
  for (const std::size_t operand : {1, 2}) {
    if (!context.has(operand)) continue;
    if (context.dtype(operand) != DType::f32) context.require_same_dtype(0, operand);
    const Shape& given = context.shape(operand);
    context.require_rank(operand, x.rank() - axis, x.rank() - axis);
    for (std::size_t i = 0; i < given.rank(); ++i)
      context.require_equal(given[i], x[axis + i], operand == 1 ? "gain and x" : "bias and x");
  }
  context.output(x, context.dtype(0));
}

void check_eps(const InferContext& context) {
  const double eps = context.node().real("eps");
  if (!(eps >= 0) || std::isinf(eps)) context.fail_attribute("eps", "expected a finite number, 0 or more");
}

void infer_rms_norm(InferContext& context) {
  context.require_float(0);
  if (context.rank(0) == 0) context.fail_shape("a scalar has no last axis");
  check_eps(context);
  infer_affine(context, context.rank(0) - 1);
}

void infer_layer_norm(InferContext& context) {
  context.require_float(0);
  check_eps(context);
  infer_affine(context, context.axis("axis", context.rank(0)));
}

// Rows of `width` values; normalize(row) replaces a row by its normalized values.
template <class Normalize>
void run_rows(const KernelContext& context, std::size_t axis, Normalize normalize) {
  const Tensor& x = context.input(0);
  std::int64_t width = 1;
  for (std::size_t i = axis; i < x.rank(); ++i) width *= x.dim(i);
  if (x.numel() == 0) return;
  const std::vector<double> gain = context.has(1) ? load_f64(context.input(1)) : std::vector<double>();
  const std::vector<double> bias = context.has(2) ? load_f64(context.input(2)) : std::vector<double>();
  constexpr std::int64_t worthwhile = 1 << 14;
  context.pool().parallel_for(x.numel() / width, worthwhile / width + 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> row(static_cast<std::size_t>(width));
    for (std::int64_t r = begin; r < end; ++r) {
      load_f64(x, r * width, row);
      normalize(row);
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (!gain.empty()) row[i] *= gain[i];
        if (!bias.empty()) row[i] += bias[i];
      }
      store_f64(context.output(0), r * width, row);
    }
  });
}

void run_rms_norm(const KernelContext& context) {
  const double eps = context.node().real("eps");
  run_rows(context, context.input(0).rank() - 1, [eps](std::vector<double>& row) {
    double sum = 0;
    for (const double value : row) sum += value * value;
    const double scale = 1 / std::sqrt(sum / static_cast<double>(row.size()) + eps);
    for (double& value : row) value *= scale;
  });
}

void run_layer_norm(const KernelContext& context) {
  const double eps = context.node().real("eps");
  run_rows(context, context.axis("axis", context.input(0).rank()), [eps](std::vector<double>& row) {
    const auto count = static_cast<double>(row.size());
    double sum = 0, squares = 0;
    for (const double value : row) sum += value;
    const double mean = sum / count;
    for (double& value : row) {
      value -= mean;
      squares += value * value;
    }
    const double scale = 1 / std::sqrt(squares / count + eps);
    for (double& value : row) value *= scale;
  });
}

std::vector<InputSpec> norm_inputs() {
  return {{.name = "x"},
          {.name = "gain", .presence = Presence::optional, .doc = "one factor per normalized element; absent: ones"},
          {.name = "bias", .presence = Presence::optional, .doc = "added last; absent: zeros"}};
}

const OpRegistration rms_norm{{
    .name = "RmsNorm",
    .tag = 100,
    .family = "norm",
    .maths =
        "Over the last axis, of length D: y = x / sqrt(sum(x^2) / D + eps) * gain + bias. The mean is not removed. "
        "Sums are f64 in ascending order, the result is rounded once to x's type.",
    .attributes = {eps_attribute(1e-6)},
    .inputs = norm_inputs(),
    .op_class = OpClass::reduction,
    .infer = infer_rms_norm,
    .reference = run_rms_norm,
    .flops = norm_flops,
}};

const OpRegistration layer_norm{{
    .name = "LayerNorm",
    .tag = 101,
    .family = "norm",
    .maths = "Over the axes from `axis` to the last, with mean u and biased variance v of their elements: "
             "y = (x - u) / sqrt(v + eps) * gain + bias. Sums are f64 in row-major order, the variance from the "
             "differences; the result is rounded once to x's type.",
    .attributes = {{.name = "axis",
                    .type = AttributeType::integer,
                    .default_value = std::int64_t{-1},
                    .doc = "first normalized axis"},
                   eps_attribute(1e-5)},
    .inputs = norm_inputs(),
    .op_class = OpClass::reduction,
    .infer = infer_layer_norm,
    .reference = run_layer_norm,
    .flops = norm_flops,
}};

}  // namespace
}  // namespace weft::ops
