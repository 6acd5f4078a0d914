// Softmax and LogSoftmax along an axis.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ir/op_schema.h"
#include "weft/ops/element.h"

namespace weft::ops {
namespace {

AttributeSpec last_axis_attribute() {
  return {.name = "axis",
          .type = AttributeType::integer,
          .default_value = std::int64_t{-1},
          .doc = "negative: from the end"};
}

void infer_softmax(InferContext& context) {
  context.require_float(0);
  context.require_rank(0, 1, std::numeric_limits<std::size_t>::max());
  context.axis("axis", context.rank(0));
  context.output(context.shape(0), context.dtype(0));
}

Dim five_per_element(const InferContext& context) { return context.shape(0).numel() * Dim(5); }

// The rows along the axis, each contiguous in f64, through `row`, in place.
template <class Row>
void map_rows(const KernelContext& context, Row row) {
  const Tensor& x = context.input(0);
  const std::size_t axis = context.axis("axis", x.rank());
  const std::int64_t size = x.dim(axis), step = strides_of(x.dims())[axis];
  if (x.numel() == 0) return;
  context.pool().parallel_for(
      x.numel() / size, std::max<std::int64_t>(1, 4096 / size), [&](std::int64_t begin, std::int64_t end) {
        std::vector<double> values(static_cast<std::size_t>(size));
        for (std::int64_t o = begin; o < end; ++o) {
          const std::int64_t start = o / step * size * step + o % step;
          // One call for a contiguous row, one per element for a strided one.
          const std::size_t length = step == 1 ? values.size() : 1;
          for (std::size_t i = 0; i < values.size(); i += length)
            load_f64(x, start + static_cast<std::int64_t>(i) * step, std::span(values).subspan(i, length));
          row(std::span<double>(values));
          for (std::size_t i = 0; i < values.size(); i += length)
            store_f64(context.output(0), start + static_cast<std::int64_t>(i) * step,
                      std::span<const double>(values).subspan(i, length));
        }
      });
}

// NaN when any value is.
double largest(std::span<const double> values) {
  double top = -HUGE_VAL;
  for (const double x : values) top = std::isnan(top) || top > x ? top : x;
  return top;
}

void run_softmax(const KernelContext& context) {
  const double of_nothing = context.node().text("empty_row") == "nan" ? std::numeric_limits<double>::quiet_NaN() : 0.0;
  map_rows(context, [&](std::span<double> row) {
    const double top = largest(row);
    if (top == -HUGE_VAL) {
      std::fill(row.begin(), row.end(), of_nothing);
      return;
    }
    double sum = 0;
    for (double& x : row) sum += x = std::exp(x - top);
    for (double& x : row) x /= sum;
  });
}

void run_log_softmax(const KernelContext& context) {
  map_rows(context, [](std::span<double> row) {
    const double top = largest(row);
    double sum = 0;
    for (const double x : row) sum += std::exp(x - top);
    const double logarithm = std::log(sum);
    for (double& x : row) x = x - top - logarithm;
  });
}

const OpRegistration softmax{{
    .name = "Softmax",
    .tag = 61,
    .family = "softmax",
    .maths = "y = e^(x - m) / sum of e^(x - m) along an axis, m the largest x of the row. A row of nothing but -inf "
             "gives zeros, or NaN with empty_row = nan; a row with NaN or +inf gives NaN. Sums in f64, each result "
             "rounded once.",
    .attributes = {last_axis_attribute(),
                   {.name = "empty_row",
                    .type = AttributeType::choice,
                    .default_value = std::string("zeros"),
                    .doc = "the result of a row of -inf",
                    .choices = {"zeros", "nan"}}},
    .inputs = {{"x"}},
    .op_class = OpClass::reduction,
    .infer = infer_softmax,
    .reference = run_softmax,
    .flops = five_per_element,
}};

const OpRegistration log_softmax{{
    .name = "LogSoftmax",
    .tag = 64,
    .family = "softmax",
    .maths = "y = x - m - ln(sum of e^(x - m)) along an axis, m the largest x of the row. A row of nothing but -inf, "
             "with NaN or with +inf gives NaN. Sums in f64, each result rounded once.",
    .attributes = {last_axis_attribute()},
    .inputs = {{"x"}},
    .op_class = OpClass::reduction,
    .infer = infer_softmax,
    .reference = run_log_softmax,
    .flops = five_per_element,
}};

}  // namespace
}  // namespace weft::ops
