// What rows along an axis become: one value (Reduce, ArgMax, ArgMin), or a distribution (Softmax, LogSoftmax).
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "weft/backend/cpu/lowering.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"

namespace weft::cpu {
namespace {

using lir::Frame;
using lir::Operand;

// Neighboring axes of an operand as rows. Rows of the last axes lie in one piece; of others as many as a cache line has
// elements are turned around at a time, in a thread's scratch.
class AxisRows {
 public:
  AxisRows(Operand x, std::size_t first_axis, std::size_t axes) : x_(std::move(x)), first_(first_axis), axes_(axes) {}

  struct View {
    std::int64_t outer = 1, width = 1, inner = 1;
    std::int64_t rows() const { return outer * inner; }
  };
  View view(const std::int64_t* sizes) const {
    View v;
    for (std::size_t i = 0; i < x_.dims.size(); ++i)
      (i < first_ ? v.outer : i < first_ + axes_ ? v.width : v.inner) *= sizes[x_.dims[i]];
    return v;
  }
  const Operand& x() const { return x_; }

  // Calls body(rows, first, count, scratch) on `count` rows from number `first` on, each a width after the one before;
  // `own_floats` of scratch are the body's. They go back to y from where they are when `y` is given.
  template <class Body>
  void for_each(const Frame& frame, float* y, std::int64_t own_floats, Body body) const {
    const View v = view(frame.sizes);
    const float* x = frame.data(x_);
    const std::int64_t grain = 1 + row_elements / std::max<std::int64_t>(v.width, 1);
    if (v.inner == 1) {
      frame.pool->parallel_for(v.outer, grain, [&](std::int64_t begin, std::int64_t end) {
        body(x + begin * v.width, y == nullptr ? nullptr : y + begin * v.width, begin, end - begin,
             frame.scratch_of<float>(ThreadPool::thread_index()));
      });
      return;
    }
    const std::int64_t side = rows_at_once(v.width), groups = (v.inner + side - 1) / side;
    frame.pool->parallel_for(v.outer * groups, 1 + grain / side, [&](std::int64_t begin, std::int64_t end) {
      auto* scratch = frame.scratch_of<float>(ThreadPool::thread_index());
      float* rows = scratch + own_floats;
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t outer = unit / groups, column = unit % groups * side;
        const std::int64_t count = std::min(side, v.inner - column), at = outer * v.width * v.inner + column;
        copy_strided(reinterpret_cast<const std::byte*>(x + at), reinterpret_cast<std::byte*>(rows),
                     {.dims = {1, v.width, count}, .in_strides = {0, v.inner, 1}, .out_strides = {0, 1, v.width}});
        body(rows, rows, outer * v.inner + column, count, scratch);
        if (y != nullptr)
          copy_strided(reinterpret_cast<const std::byte*>(rows), reinterpret_cast<std::byte*>(y + at),
                       {.dims = {1, v.width, count}, .in_strides = {0, 1, v.width}, .out_strides = {0, v.inner, 1}});
      }
    });
  }
  // Of a thread, for rows that are turned around.
  std::size_t scratch_bytes(const std::int64_t* sizes) const {
    if (first_ + axes_ == x_.dims.size()) return 0;
    const std::int64_t width = view(sizes).width;
    return static_cast<std::size_t>(std::max(width, std::min(16 * width, most_turned))) * sizeof(float);
  }

 private:
  static constexpr std::int64_t row_elements = 4096;  // that a thread takes at a time
  static constexpr std::int64_t most_turned = 1 << 18;
  static std::int64_t rows_at_once(std::int64_t width) {
    return std::clamp<std::int64_t>(most_turned / std::max<std::int64_t>(width, 1), 1, 16);
  }

  Operand x_;
  std::size_t first_, axes_;
};

// --- one value ----------------------------------------------------------------------------------------------------

enum class RowValue : std::uint8_t { sum, mean, max, min, prod };

std::optional<RowValue> row_value(std::string_view op) {
  constexpr std::string_view names[] = {"sum", "mean", "max", "min", "prod"};
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (names[i] == op) return static_cast<RowValue>(i);
  return std::nullopt;
}

class ReduceStep final : public lir::Step {
 public:
  ReduceStep(AxisRows rows, Operand y, RowValue value, CpuLevel level)
      : rows_(std::move(rows)), y_(std::move(y)), value_(value), kernels_(vector_kernels(level)) {}

  void run(const Frame& frame) const override {
    const std::int64_t width = rows_.view(frame.sizes).width;
    float* y = frame.data(y_);
    rows_.for_each(frame, nullptr, 0,
                   [&](const float* rows, float*, std::int64_t first, std::int64_t count, const float*) {
                     for (std::int64_t r = 0; r < count; ++r) y[first + r] = value_of(rows + r * width, width);
                   });
  }
  std::size_t thread_scratch_bytes(const std::int64_t* sizes) const override { return rows_.scratch_bytes(sizes); }
  lir::Cost cost(const std::int64_t* sizes) const override {
    const double count = count_of(rows_.x(), sizes);
    return {.flops = count, .activation_bytes = 4 * count};
  }

 private:
  float value_of(const float* row, std::int64_t width) const {
    switch (value_) {
      case RowValue::max: return kernels_.max(row, width);
      case RowValue::min: return kernels_.min(row, width);
      case RowValue::prod: {
        double product = 1;
        for (std::int64_t i = 0; i < width; ++i) product *= static_cast<double>(row[i]);
        return static_cast<float>(product);
      }
      default: {
        constexpr std::int64_t part = 4096;  // elements whose sum is f32
        double sum = 0;
        for (std::int64_t i = 0; i < width; i += part)
          sum += static_cast<double>(kernels_.sum(row + i, std::min(part, width - i)));
        return static_cast<float>(value_ == RowValue::mean ? sum / static_cast<double>(width) : sum);
      }
    }
  }

  AxisRows rows_;
  Operand y_;
  RowValue value_;
  const VectorKernels& kernels_;
};

// The axes that a Reduce takes away: the first and how many, where they are neighbors.
std::optional<std::pair<std::size_t, std::size_t>> neighbors(const Graph& graph, const Node& node) {
  const auto rank = static_cast<std::int64_t>(graph.type(node.inputs[0]).shape.rank());
  std::vector<std::int64_t> axes = node.integers("axes");
  if (axes.empty()) return std::pair(static_cast<std::size_t>(rank), std::size_t{0});
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  const auto [low, high] = std::minmax_element(axes.begin(), axes.end());
  if (*high - *low + 1 != static_cast<std::int64_t>(axes.size())) return std::nullopt;
  return std::pair(static_cast<std::size_t>(*low), axes.size());
}

std::string refuse_reduce(const Graph& graph, const Node& node) {
  if (!is_f32(graph, node.inputs[0])) return "x is not f32";
  if (!row_value(node.text("op"))) return "no kernel for " + node.text("op");
  return neighbors(graph, node) ? "" : "the axes are no neighbors";
}

void emit_reduce(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const auto [first, axes] = *neighbors(lowering.graph(), node);
  const Operand x = lowering.builder.operand(node.inputs[0]), y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{.op = node.schema->name, .kernel = {}, .backend = "cpu", .node = index};
  instruction.kernel = kernel_name(node.text("op"), lowering.level);
  instruction.inputs = {x};
  instruction.outputs = {y};
  instruction.step =
      std::make_unique<ReduceStep>(AxisRows(x, first, axes), y, *row_value(node.text("op")), lowering.level);
  lowering.builder.emit(std::move(instruction));
}

class ArgStep final : public lir::Step {
 public:
  ArgStep(AxisRows rows, Operand y, bool largest, bool ignore_nan, CpuLevel level)
      : rows_(std::move(rows)),
        y_(std::move(y)),
        find_(largest ? vector_kernels(level).argmax : vector_kernels(level).argmin),
        ignore_nan_(ignore_nan) {}

  void run(const Frame& frame) const override {
    const AxisRows::View view = rows_.view(frame.sizes);
    if (view.rows() == 0) return;
    if (view.width == 0)
      fail(ErrorKind::shape_mismatch, "EmptyReduction", "", "the axis has no elements, and {} rows ask for one of them",
           view.rows());
    rows_.for_each(frame, nullptr, 0,
                   [&](const float* rows, float*, std::int64_t first, std::int64_t count, const float*) {
                     for (std::int64_t r = 0; r < count; ++r)
                       store(frame, first + r, find_(rows + r * view.width, view.width, ignore_nan_));
                   });
  }
  std::size_t thread_scratch_bytes(const std::int64_t* sizes) const override { return rows_.scratch_bytes(sizes); }
  lir::Cost cost(const std::int64_t* sizes) const override {
    const double count = count_of(rows_.x(), sizes);
    return {.flops = 2 * count, .activation_bytes = 4 * count};
  }

 private:
  void store(const Frame& frame, std::int64_t at, std::int64_t found) const {
    switch (y_.dtype) {
      case DType::i64: frame.data<std::int64_t>(y_)[at] = found; break;
      case DType::f32: frame.data(y_)[at] = static_cast<float>(found); break;
      default: frame.data<std::int32_t>(y_)[at] = static_cast<std::int32_t>(found);
    }
  }

  AxisRows rows_;
  Operand y_;
  std::int64_t (*find_)(const float* x, std::int64_t count, bool ignore_nan);
  bool ignore_nan_;
};

std::string refuse_other_types(const Graph& graph, const Node& node) {
  return is_f32(graph, node.inputs[0]) ? "" : "x is not f32";
}

// The rows along the attribute `axis`.
AxisRows rows_along(Lowering& lowering, const Node& node) {
  const std::int64_t axis = node.integer("axis");
  Operand x = lowering.builder.operand(node.inputs[0]);
  const std::size_t rank = x.dims.size(),
                    at = axis < 0 ? rank - static_cast<std::size_t>(-axis) : static_cast<std::size_t>(axis);
  return {std::move(x), at, 1};
}

void emit_arg(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const bool largest = node.schema->name == "ArgMax";
  AxisRows rows = rows_along(lowering, node);
  const Operand y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{.op = node.schema->name, .kernel = {}, .backend = "cpu", .node = index};
  instruction.kernel = kernel_name(largest ? "argmax" : "argmin", lowering.level);
  instruction.inputs = {rows.x()};
  instruction.outputs = {y};
  instruction.step =
      std::make_unique<ArgStep>(std::move(rows), y, largest, node.text("nan") == "ignore", lowering.level);
  lowering.builder.emit(std::move(instruction));
}

// --- distributions ------------------------------------------------------------------------------------------------

class SoftmaxStep final : public lir::Step {
 public:
  SoftmaxStep(AxisRows rows, Operand y, float empty, CpuLevel level)
      : rows_(std::move(rows)), y_(std::move(y)), empty_(empty), kernels_(vector_kernels(level)) {}
  void run(const Frame& frame) const override {
    const std::int64_t width = rows_.view(frame.sizes).width;
    if (width == 0) return;
    rows_.for_each(frame, frame.data(y_), 0,
                   [&](const float* rows, float* out, std::int64_t, std::int64_t count, const float*) {
                     kernels_.softmax(rows, width, count, width, empty_, out, width);
                   });
  }
  std::size_t thread_scratch_bytes(const std::int64_t* sizes) const override { return rows_.scratch_bytes(sizes); }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = 10 * count_of(y_, sizes), .activation_bytes = 8 * count_of(y_, sizes)};
  }

 private:
  AxisRows rows_;
  Operand y_;
  float empty_;
  const VectorKernels& kernels_;
};

class LogSoftmaxStep final : public lir::Step {
 public:
  LogSoftmaxStep(AxisRows rows, Operand y, CpuLevel level)
      : rows_(std::move(rows)), y_(std::move(y)), kernels_(vector_kernels(level)) {}
  void run(const Frame& frame) const override {
    const std::int64_t width = rows_.view(frame.sizes).width;
    if (width == 0) return;
    rows_.for_each(frame, frame.data(y_), width,
                   [&](const float* rows, float* out, std::int64_t, std::int64_t count, float* powers) {
                     for (std::int64_t r = 0; r < count; ++r) row(rows + r * width, width, powers, out + r * width);
                   });
  }
  std::size_t thread_scratch_bytes(const std::int64_t* sizes) const override {
    return rows_.scratch_bytes(sizes) + static_cast<std::size_t>(rows_.view(sizes).width) * sizeof(float);
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = 10 * count_of(y_, sizes), .activation_bytes = 8 * count_of(y_, sizes)};
  }

 private:
  void row(const float* x, std::int64_t width, float* powers, float* out) const {
    const std::int64_t at = kernels_.argmax(x, width, false);
    const float top = x[at];
    if (!std::isfinite(top)) return std::fill_n(out, width, std::numeric_limits<float>::quiet_NaN()), void();
    kernels_.affine(x, top, 1, 0, out, width);
    kernels_.unary(UnaryKind::exp, out, powers, width, 1.0f);
    powers[at] = 0;  // the 1 of the largest is not added, so that a small rest keeps its digits
    double rest = 0;
    constexpr std::int64_t part = 4096;
    for (std::int64_t i = 0; i < width; i += part)
      rest += static_cast<double>(kernels_.sum(powers + i, std::min(part, width - i)));
    kernels_.affine(out, static_cast<float>(std::log1p(rest)), 1, 0, out, width);
  }

  AxisRows rows_;
  Operand y_;
  const VectorKernels& kernels_;
};

void emit_distribution(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const bool logarithm = node.schema->name == "LogSoftmax";
  AxisRows rows = rows_along(lowering, node);
  const Operand y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{.op = node.schema->name, .kernel = {}, .backend = "cpu", .node = index};
  instruction.kernel = kernel_name(logarithm ? "log softmax" : "softmax", lowering.level);
  instruction.inputs = {rows.x()};
  instruction.outputs = {y};
  instruction.in_place_input = 0;
  if (logarithm) {
    instruction.step = std::make_unique<LogSoftmaxStep>(std::move(rows), y, lowering.level);
  } else {
    const float empty = node.text("empty_row") == "nan" ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
    instruction.step = std::make_unique<SoftmaxStep>(std::move(rows), y, empty, lowering.level);
  }
  lowering.builder.emit(std::move(instruction));
}

}  // namespace

std::span<const LoweringRule> reduce_rules() {
  static constexpr LoweringRule rules[] = {
      {"Reduce", refuse_reduce, emit_reduce},
      {"ArgMax", refuse_other_types, emit_arg},
      {"ArgMin", refuse_other_types, emit_arg},
      {"Softmax", refuse_other_types, emit_distribution},
      {"LogSoftmax", refuse_other_types, emit_distribution},
  };
  return rules;
}

}  // namespace weft::cpu
