// Normalization over channels, groups of them, and with a modulation from outside.
#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ops/element.h"
#include "weft/ops/schema_parts.h"

namespace weft::ops {
namespace {

void check_eps(const InferContext& context) {
  const double eps = context.node().real("eps");
  if (!(eps >= 0) || std::isinf(eps)) context.fail_attribute("eps", "expected a finite number, 0 or more");
}

// Operands [C], in x's type or f32.
void require_channel_vectors(InferContext& context, const Dim& channels) {
  for (std::size_t operand = 1; operand < context.input_count(); ++operand) {
    if (!context.has(operand)) continue;
    if (context.dtype(operand) != DType::f32) context.require_same_dtype(0, operand);
    context.require_rank(operand, 1, 1);
    context.require_equal(context.shape(operand)[0], channels,
                          context.node().schema->inputs[operand].name + " and the channels of x");
  }
}

void infer_group_norm(InferContext& context) {
  context.require_float(0);
  context.require_rank(0, 2, SIZE_MAX);
  check_eps(context);
  const Dim& channels = context.shape(0)[1];
  if (const auto groups = context.node().optional_integer("num_groups")) {
    if (*groups < 1) context.fail_attribute("num_groups", fmt::format("{} is not 1 or more", *groups));
    if (channels.value() && *channels.value() % *groups != 0)
      context.fail_shape(fmt::format("{} channels do not divide into {} groups", *channels.value(), *groups));
    if (!channels.is_static())
      context.require_equal(floor_div(channels, *groups) * Dim(*groups), channels, "the channels of all groups");
  }
  require_channel_vectors(context, channels);
  context.output(context.shape(0), context.dtype(0));
}

void infer_batch_norm(InferContext& context) {
  context.require_float(0);
  check_eps(context);
  require_channel_vectors(context, context.shape(0)[context.axis("channel_axis", context.rank(0))]);
  context.output(context.shape(0), context.dtype(0));
}

// Whether an operand [B, D] meets x [B, ..., D] with its first axis; otherwise it broadcasts from the right.
bool by_sample(std::size_t rank, std::size_t x_rank) { return rank == 2 && x_rank > 2; }

void infer_ada_layer_norm(InferContext& context) {
  context.require_float(0);
  const Shape& x = context.shape(0);
  if (x.rank() == 0) context.fail_shape("a scalar has no last axis");
  check_eps(context);
  for (const std::size_t operand : {1, 2}) {
    if (context.dtype(operand) != DType::f32) context.require_same_dtype(0, operand);
    const Shape& given = context.shape(operand);
    const std::string& name = context.node().schema->inputs[operand].name;
    if (given.rank() == 1 || given.rank() == x.rank()) {
      for (std::size_t i = 0; i < given.rank(); ++i)
        context.require_equal(given[i], x[x.rank() - given.rank() + i], name + " and x");
    } else if (by_sample(given.rank(), x.rank())) {
      context.require_equal(given[0], x[0], name + " and the batch of x");
      context.require_equal(given[1], x[x.rank() - 1], name + " and the last axis of x");
    } else {
      context.fail_shape(
          fmt::format("{} {} is neither [D] nor [B, D] nor of the shape of x, {}", name, given.text(), x.text()));
    }
  }
  context.output(x, context.dtype(0));
}

struct Statistics {
  double mean = 0, scale = 0;
};

// Of the elements that visit(use) calls use for: mean and 1 / sqrt(biased variance + eps).
template <class Visit>
Statistics statistics(double count, double eps, Visit visit) {
  double sum = 0, squares = 0;
  visit([&](double value) { sum += value; });
  const double mean = sum / count;
  visit([&](double value) { squares += (value - mean) * (value - mean); });
  return {mean, 1 / std::sqrt(squares / count + eps)};
}

// x seen as [outer, channels, inner].
struct ChannelView {
  std::int64_t outer = 1, channels = 1, inner = 1;
  ChannelView(const Tensor& x, std::size_t axis) : channels(x.dim(axis)) {
    for (std::size_t i = 0; i < x.rank(); ++i)
      if (i != axis) (i < axis ? outer : inner) *= x.dim(i);
  }
};

std::vector<double> vector_of(const KernelContext& context, std::size_t operand) {
  return context.has(operand) ? load_f64(context.input(operand)) : std::vector<double>();
}

// (value - mean) * scale * gain + bias over the elements of row `channel`.
void affine(std::span<double> row, const Statistics& with, const std::vector<double>& gain,
            const std::vector<double>& bias, std::int64_t channel) {
  const auto c = static_cast<std::size_t>(channel);
  for (double& value : row) {
    value = (value - with.mean) * with.scale;
    if (!gain.empty()) value *= gain[c];
    if (!bias.empty()) value += bias[c];
  }
}

void run_group_norm(const KernelContext& context) {
  const Tensor& x = context.input(0);
  if (x.numel() == 0) return;
  const ChannelView view(x, 1);
  const std::int64_t groups = context.node().optional_integer("num_groups").value_or(view.channels);
  const std::int64_t width = view.channels / groups * view.inner;
  const double eps = context.node().real("eps");
  const std::vector<double> gain = vector_of(context, 1), bias = vector_of(context, 2);
  context.pool().parallel_for(view.outer * groups, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> row(static_cast<std::size_t>(width));
    for (std::int64_t r = begin; r < end; ++r) {
      load_f64(x, r * width, row);
      const Statistics found = statistics(static_cast<double>(width), eps, [&](auto use) {
        for (const double value : row) use(value);
      });
      for (std::int64_t i = 0; i < width / view.inner; ++i)
        affine(std::span(row).subspan(static_cast<std::size_t>(i * view.inner), static_cast<std::size_t>(view.inner)),
               found, gain, bias, r % groups * (width / view.inner) + i);
      store_f64(context.output(0), r * width, row);
    }
  });
}

// of(channel, values): the statistics that normalize a channel; values is [outer, inner].
template <class Of>
void run_channels(const KernelContext& context, Of of) {
  const Tensor& x = context.input(0);
  if (x.numel() == 0) return;
  const ChannelView view(x, context.axis("channel_axis", x.rank()));
  const std::vector<double> gain = vector_of(context, 1), bias = vector_of(context, 2);
  const auto inner = static_cast<std::size_t>(view.inner);
  context.pool().parallel_for(view.channels, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> values(static_cast<std::size_t>(view.outer) * inner);
    for (std::int64_t channel = begin; channel < end; ++channel) {
      const auto row = [&](std::int64_t n) {
        return std::span(values).subspan(static_cast<std::size_t>(n) * inner, inner);
      };
      const auto start = [&](std::int64_t n) { return (n * view.channels + channel) * view.inner; };
      for (std::int64_t n = 0; n < view.outer; ++n) load_f64(x, start(n), row(n));
      const Statistics found = of(channel, values);
      for (std::int64_t n = 0; n < view.outer; ++n) {
        affine(row(n), found, gain, bias, channel);
        store_f64(context.output(0), start(n), row(n));
      }
    }
  });
}

void run_batch_norm(const KernelContext& context) {
  const double eps = context.node().real("eps");
  run_channels(context, [&](std::int64_t, const std::vector<double>& values) {
    return statistics(static_cast<double>(values.size()), eps, [&](auto use) {
      for (const double value : values) use(value);
    });
  });
}

void run_batch_norm_inference(const KernelContext& context) {
  const double eps = context.node().real("eps");
  const std::vector<double> mean = load_f64(context.input(3)), variance = load_f64(context.input(4));
  run_channels(context, [&](std::int64_t channel, const std::vector<double>&) -> Statistics {
    const auto c = static_cast<std::size_t>(channel);
    return {mean[c], 1 / std::sqrt(variance[c] + eps)};
  });
}

void run_ada_layer_norm(const KernelContext& context) {
  const Tensor& x = context.input(0);
  if (x.numel() == 0) return;
  const double eps = context.node().real("eps");
  const bool centered = context.node().text("norm") == "layer_norm";
  const std::int64_t width = x.dim(x.rank() - 1), rows = x.numel() / width, samples = x.dim(0);
  const std::vector<double> scale = load_f64(context.input(1)), shift = load_f64(context.input(2));
  // The row of a modulation that meets row r of x.
  const auto at = [&](std::size_t operand, std::int64_t r) {
    const Tensor& given = context.input(operand);
    const std::int64_t row = given.rank() == 1 ? 0 : by_sample(given.rank(), x.rank()) ? r / (rows / samples) : r;
    return static_cast<std::size_t>(row * width);
  };
  context.pool().parallel_for(rows, 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> row(static_cast<std::size_t>(width));
    for (std::int64_t r = begin; r < end; ++r) {
      load_f64(x, r * width, row);
      Statistics found;
      if (centered) {
        found = statistics(static_cast<double>(width), eps, [&](auto use) {
          for (const double value : row) use(value);
        });
      } else {
        double squares = 0;
        for (const double value : row) squares += value * value;
        found.scale = 1 / std::sqrt(squares / static_cast<double>(width) + eps);
      }
      const std::size_t from = at(1, r), add = at(2, r);
      for (std::size_t i = 0; i < row.size(); ++i)
        row[i] = (row[i] - found.mean) * found.scale * (1 + scale[from + i]) + shift[add + i];
      store_f64(context.output(0), r * width, row);
    }
  });
}

AttributeSpec channel_axis() {
  return {.name = "channel_axis",
          .type = AttributeType::integer,
          .default_value = std::int64_t{-1},
          .doc = "negative: from the end"};
}
AttributeSpec momentum() {
  return {.name = "momentum",
          .type = AttributeType::real,
          .default_value = 0.1,
          .doc = "weight of a batch in running statistics; training alone reads it"};
}

InputSpec optional_vector(std::string name, std::string doc) {
  return {.name = std::move(name), .presence = Presence::optional, .doc = std::move(doc)};
}
std::vector<InputSpec> affine_inputs() {
  return {{.name = "x"},
          optional_vector("gain", "one factor per channel; absent: ones"),
          optional_vector("bias", "per channel, added last; absent: zeros")};
}

const OpRegistration group_norm{{
    .name = "GroupNorm",
    .tag = 102,
    .family = "channel_norm",
    .maths = "x [N, C, ...] in groups of C / num_groups channels: with mean u and biased variance v of the elements of "
             "one sample and group, y = (x - u) / sqrt(v + eps) * gain[c] + bias[c]. Without num_groups every channel "
             "is a group, as in an instance norm. Sums are f64 in row-major order, rounded once to x's type.",
    .attributes = {{.name = "num_groups", .type = AttributeType::integer, .doc = "absent: one group per channel"},
                   eps_attribute(1e-5)},
    .inputs = affine_inputs(),
    .op_class = OpClass::reduction,
    .infer = infer_group_norm,
    .reference = run_group_norm,
    .flops = norm_flops,
}};

const OpRegistration batch_norm_inference{{
    .name = "BatchNormInference",
    .tag = 103,
    .family = "channel_norm",
    .maths = "With a mean and a variance per channel that are given: y = (x - mean[c]) / sqrt(variance[c] + eps) * "
             "gain[c] + bias[c]; computed in f64 and rounded once to x's type.",
    .attributes = {channel_axis(), eps_attribute(1e-5), momentum()},
    .inputs = {{"x"}, {"gain"}, {"bias"}, {"mean"}, {"variance"}},
    .op_class = OpClass::compute,
    .infer = infer_batch_norm,
    .reference = run_batch_norm_inference,
    .flops = norm_flops,
}};

const OpRegistration batch_norm{{
    .name = "BatchNorm",
    .tag = 104,
    .family = "channel_norm",
    .maths = "With mean u and biased variance v of all elements of a channel: y = (x - u) / sqrt(v + eps) * gain[c] + "
             "bias[c]. Sums are f64 in row-major order, rounded once to x's type.",
    .attributes = {channel_axis(), eps_attribute(1e-5), momentum()},
    .inputs = affine_inputs(),
    .op_class = OpClass::reduction,
    .infer = infer_batch_norm,
    .reference = run_batch_norm,
    .flops = norm_flops,
}};

const OpRegistration ada_layer_norm{{
    .name = "AdaLayerNorm",
    .tag = 105,
    .family = "channel_norm",
    .maths = "y = n * (1 + scale) + shift with n = (x - u) / sqrt(v + eps) for the mean u and biased variance v of the "
             "last axis, or for rms_norm x / sqrt(mean(x^2) + eps). scale and shift are [D], of the shape of x, or "
             "[B, D] for x [B, ..., D]. Sums are f64 in ascending order, rounded once to x's type.",
    .attributes = {{.name = "norm",
                    .type = AttributeType::choice,
                    .default_value = std::string("layer_norm"),
                    .doc = "what n is",
                    .choices = {"layer_norm", "rms_norm"}},
                   eps_attribute(1e-6)},
    .inputs = {{"x"}, {"scale"}, {"shift"}},
    .op_class = OpClass::reduction,
    .infer = infer_ada_layer_norm,
    .reference = run_ada_layer_norm,
    .flops = norm_flops,
}};

}  // namespace
}  // namespace weft::ops
