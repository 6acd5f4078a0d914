// Functions of single elements, chains of them, and gates.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "weft/backend/cpu/elementwise_chain.h"
#include "weft/backend/cpu/lowering.h"
#include "weft/backend/cpu/unary_kind.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ops/elementwise_region.h"

namespace weft::cpu {
namespace {

using lir::Frame;
using lir::Operand;

constexpr std::int64_t tile_elements = 4096;  // elements that a thread takes at a time

// --- one operand --------------------------------------------------------------------------------------------------

class UnaryStep final : public lir::Step {
 public:
  UnaryStep(Operand x, Operand y, UnaryKind kind, float alpha, CpuLevel level)
      : x_(std::move(x)), y_(std::move(y)), kind_(kind), alpha_(alpha), kernels_(vector_kernels(level)) {}
  void run(const Frame& frame) const override {
    const float* x = frame.data(x_);
    float* y = frame.data(y_);
    frame.pool->parallel_for(frame.numel(y_), tile_elements, [&](std::int64_t begin, std::int64_t end) {
      kernels_.unary(kind_, x + begin, y + begin, end - begin, alpha_);
    });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = 8 * count_of(y_, sizes), .activation_bytes = 8 * count_of(y_, sizes)};
  }

 private:
  Operand x_, y_;
  UnaryKind kind_;
  float alpha_;
  const VectorKernels& kernels_;
};

std::string refuse_activation(const Graph& graph, const Node& node) {
  if (!is_f32(graph, node.inputs[0])) return "x is not f32";
  return unary_kind(node.text("kind")) ? "" : "no kernel for " + node.text("kind");
}

void emit_activation(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const std::string& kind = node.text("kind");
  const auto alpha = static_cast<float>(node.optional_real("alpha").value_or(kind == "leaky_relu" ? 0.01 : 1.0));
  const Operand x = lowering.builder.operand(node.inputs[0]), y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{.op = "Activation", .kernel = kernel_name(kind, lowering.level), .backend = "cpu"};
  instruction.node = index;
  instruction.inputs = {x};
  instruction.outputs = {y};
  instruction.in_place_input = 0;
  instruction.step = std::make_unique<UnaryStep>(x, y, *unary_kind(kind), alpha, lowering.level);
  lowering.builder.emit(std::move(instruction));
}

class ClampStep final : public lir::Step {
 public:
  ClampStep(Operand x, Operand y, std::optional<float> low, std::optional<float> high, CpuLevel level)
      : x_(std::move(x)), y_(std::move(y)), low_(low), high_(high), kernels_(vector_kernels(level)) {}
  void run(const Frame& frame) const override {
    const float* x = frame.data(x_);
    float* y = frame.data(y_);
    frame.pool->parallel_for(frame.numel(y_), tile_elements, [&](std::int64_t begin, std::int64_t end) {
      const float* from = x + begin;
      if (low_) kernels_.binary(BinaryKind::max, {from, 0}, {&*low_, 1}, y + begin, end - begin), from = y + begin;
      if (high_) kernels_.binary(BinaryKind::min, {from, 0}, {&*high_, 1}, y + begin, end - begin), from = y + begin;
      if (from != y + begin) std::copy(from, from + (end - begin), y + begin);
    });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = 2 * count_of(y_, sizes), .activation_bytes = 8 * count_of(y_, sizes)};
  }

 private:
  Operand x_, y_;
  std::optional<float> low_, high_;
  const VectorKernels& kernels_;
};

std::string refuse_clamp(const Graph& graph, const Node& node) {
  return is_f32(graph, node.inputs[0]) ? "" : "x is not f32";
}

void emit_clamp(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const auto bound = [&](const char* name) {
    const auto value = node.optional_real(name);
    return value ? std::optional(static_cast<float>(*value)) : std::nullopt;
  };
  const Operand x = lowering.builder.operand(node.inputs[0]), y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{.op = "Clamp", .kernel = kernel_name("clamp", lowering.level), .backend = "cpu"};
  instruction.node = index;
  instruction.inputs = {x};
  instruction.outputs = {y};
  instruction.in_place_input = 0;
  instruction.step = std::make_unique<ClampStep>(x, y, bound("min"), bound("max"), lowering.level);
  lowering.builder.emit(std::move(instruction));
}

// What is not finite becomes a number.
class NanToNumStep final : public lir::Step {
 public:
  NanToNumStep(Operand x, Operand y, float nan, float positive, float negative)
      : x_(std::move(x)), y_(std::move(y)), nan_(nan), positive_(positive), negative_(negative) {}
  void run(const Frame& frame) const override {
    const float* x = frame.data(x_);
    float* y = frame.data(y_);
    frame.pool->parallel_for(frame.numel(y_), tile_elements, [&](std::int64_t begin, std::int64_t end) {
      // Selections alone, which compilers turn into vector code.
      constexpr float infinity = std::numeric_limits<float>::infinity();
      const float nan = nan_, positive = positive_, negative = negative_;
      for (std::int64_t i = begin; i < end; ++i) {
        const float v = x[i];
        const float bounded = v == infinity ? positive : v == -infinity ? negative : v;
        y[i] = v != v ? nan : bounded;
      }
    });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = 3 * count_of(y_, sizes), .activation_bytes = 8 * count_of(y_, sizes)};
  }

 private:
  Operand x_, y_;
  float nan_, positive_, negative_;
};

void emit_nan_to_num(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  constexpr double largest = std::numeric_limits<float>::max();
  const Operand x = lowering.builder.operand(node.inputs[0]), y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{.op = "NanToNum", .kernel = "nan to num", .backend = "cpu", .node = index};
  instruction.inputs = {x};
  instruction.outputs = {y};
  instruction.in_place_input = 0;
  instruction.step = std::make_unique<NanToNumStep>(
      x, y, static_cast<float>(node.real("nan")), static_cast<float>(node.optional_real("posinf").value_or(largest)),
      static_cast<float>(node.optional_real("neginf").value_or(-largest)));
  lowering.builder.emit(std::move(instruction));
}

// --- two operands -------------------------------------------------------------------------------------------------

class BinaryStep final : public lir::Step {
 public:
  enum class Reach : std::uint8_t { full, repeated };  // repeated: element i mod its own count
  BinaryStep(Operand a, Operand b, Reach a_reach, Reach b_reach, Operand y, BinaryKind kind, CpuLevel level)
      : a_(std::move(a)),
        b_(std::move(b)),
        y_(std::move(y)),
        a_reach_(a_reach),
        b_reach_(b_reach),
        kind_(kind),
        kernels_(vector_kernels(level)) {}

  void run(const Frame& frame) const override {
    const std::int64_t count = frame.numel(y_);
    const std::int64_t a_count = a_reach_ == Reach::full ? count : frame.numel(a_);
    const std::int64_t b_count = b_reach_ == Reach::full ? count : frame.numel(b_);
    if (count == 0) return;
    const float *a = frame.data(a_), *b = frame.data(b_);
    float* y = frame.data(y_);
    // Threads cut where a repeated operand begins anew.
    const std::int64_t period = std::max(a_count == count ? 1 : a_count, b_count == count ? 1 : b_count);
    frame.pool->parallel_for(count / period, std::max<std::int64_t>(1, tile_elements / period),
                             [&](std::int64_t begin, std::int64_t end) {
                               const std::int64_t at = begin * period;
                               kernels_.binary(kind_, operand(a, a_count, count, at), operand(b, b_count, count, at),
                                               y + at, (end - begin) * period);
                             });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = count_of(y_, sizes), .activation_bytes = 12 * count_of(y_, sizes)};
  }

 private:
  static VectorOperand operand(const float* data, std::int64_t own, std::int64_t count, std::int64_t at) {
    return own == count ? VectorOperand{data + at, 0} : VectorOperand{data, own};
  }
  Operand a_, b_, y_;
  Reach a_reach_, b_reach_;
  BinaryKind kind_;
  const VectorKernels& kernels_;
};

// Any broadcast: row by row, where a row is as many of the last axes as meet both operands in the same way.
class StridedBinaryStep final : public lir::Step {
 public:
  StridedBinaryStep(Operand a, Operand b, Operand y, BinaryKind kind, CpuLevel level)
      : a_(std::move(a)), b_(std::move(b)), y_(std::move(y)), kind_(kind), kernels_(vector_kernels(level)) {}

  void run(const Frame& frame) const override {
    const std::int64_t count = frame.numel(y_);
    if (count == 0) return;
    Axes axes = axes_of(frame);
    const Axis row = axes.axis[--axes.count];
    const float *a = frame.data(a_), *b = frame.data(b_);
    float* y = frame.data(y_);
    frame.pool->parallel_for(count / row.size, std::max<std::int64_t>(1, tile_elements / row.size),
                             [&](std::int64_t begin, std::int64_t end) {
                               for (std::int64_t r = begin; r < end; ++r) {
                                 std::int64_t rest = r, a_at = 0, b_at = 0;
                                 for (std::size_t i = axes.count; i-- > 0; rest /= axes.axis[i].size) {
                                   a_at += rest % axes.axis[i].size * axes.axis[i].a_step;
                                   b_at += rest % axes.axis[i].size * axes.axis[i].b_step;
                                 }
                                 kernels_.binary(kind_, {a + a_at, row.a_step == 0}, {b + b_at, row.b_step == 0},
                                                 y + r * row.size, row.size);
                               }
                             });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = count_of(y_, sizes), .activation_bytes = 12 * count_of(y_, sizes)};
  }

  static constexpr std::size_t most_axes = 8;

 private:
  struct Axis {
    std::int64_t size = 1, a_step = 0, b_step = 0;
  };
  struct Axes {
    std::array<Axis, most_axes + 1> axis;
    std::size_t count = 0;
  };

  // Of the result, outermost first; neighbors that are walked as one are one. At least one.
  Axes axes_of(const Frame& frame) const {
    std::array<Axis, most_axes + 1> reversed;
    std::size_t count = 0;
    std::int64_t a_stride = 1, b_stride = 1;
    for (std::size_t i = 0; i < y_.dims.size(); ++i) {
      const auto step = [&](const Operand& operand, std::int64_t& stride) {
        if (i >= operand.dims.size()) return std::int64_t{0};
        const std::int64_t size = frame.dim(operand, operand.dims.size() - 1 - i), own = size == 1 ? 0 : stride;
        stride *= size;
        return own;
      };
      Axis axis{frame.dim(y_, y_.dims.size() - 1 - i), step(a_, a_stride), step(b_, b_stride)};
      if (axis.size == 1) continue;
      Axis* inner = count == 0 ? nullptr : &reversed[count - 1];
      if (inner != nullptr && axis.a_step == inner->a_step * inner->size && axis.b_step == inner->b_step * inner->size)
        inner->size *= axis.size;
      else
        reversed[count++] = axis;
    }
    if (count == 0) reversed[count++] = {};
    Axes axes;
    axes.count = count;
    std::reverse_copy(reversed.begin(), reversed.begin() + static_cast<std::ptrdiff_t>(count), axes.axis.begin());
    return axes;
  }

  Operand a_, b_, y_;
  BinaryKind kind_;
  const VectorKernels& kernels_;
};

// How an operand meets the result; nothing where the kernel has no way for it.
std::optional<BinaryStep::Reach> reach(const Graph& graph, Value operand, const Shape& result) {
  const Shape& shape = graph.type(operand).shape;
  if (shape == result) return BinaryStep::Reach::full;
  if (shape.numel() == Dim(1)) return BinaryStep::Reach::repeated;
  // The last axes of the result, ones in front aside.
  std::size_t first = 0;
  while (first < shape.rank() && shape[first] == Dim(1)) ++first;
  const std::size_t rank = shape.rank() - first;
  if (rank > result.rank()) return std::nullopt;
  for (std::size_t i = 0; i < rank; ++i)
    if (shape[shape.rank() - 1 - i] != result[result.rank() - 1 - i]) return std::nullopt;
  return BinaryStep::Reach::repeated;
}

std::string refuse_binary(const Graph& graph, const Node& node) {
  if (!binary_kind(node.text("kind"))) return "no kernel for " + node.text("kind");
  for (const Value input : node.inputs)
    if (!is_f32(graph, input)) return "an operand is not f32";
  return node.outputs[0].type.shape.rank() <= StridedBinaryStep::most_axes ? "" : "the result has too many axes";
}

void emit_binary(Lowering& lowering, std::int32_t index) {
  using Reach = BinaryStep::Reach;
  const Node& node = lowering.node(index);
  const Shape& shape = node.outputs[0].type.shape;
  const Operand a = lowering.builder.operand(node.inputs[0]), b = lowering.builder.operand(node.inputs[1]);
  const auto a_reach = reach(lowering.graph(), node.inputs[0], shape),
             b_reach = reach(lowering.graph(), node.inputs[1], shape);
  const Operand y = lowering.builder.allocate({index, 0});
  const std::string& kind = node.text("kind");
  lir::Instruction instruction{.op = "Binary", .kernel = kernel_name(kind, lowering.level), .backend = "cpu"};
  instruction.node = index;
  instruction.inputs = {a, b};
  instruction.outputs = {y};
  if (a_reach == Reach::full || b_reach == Reach::full) instruction.in_place_input = a_reach == Reach::full ? 0 : 1;
  if (a_reach && b_reach && (a_reach == Reach::full || b_reach == Reach::full))
    instruction.step = std::make_unique<BinaryStep>(a, b, *a_reach, *b_reach, y, *binary_kind(kind), lowering.level);
  else
    instruction.step = std::make_unique<StridedBinaryStep>(a, b, y, *binary_kind(kind), lowering.level);
  lowering.builder.emit(std::move(instruction));
}

// --- chains -------------------------------------------------------------------------------------------------------

// Steps run tile by tile, so what lies between them stays in the cache.
class ChainStepRun final : public lir::Step {
 public:
  ChainStepRun(std::vector<ChainStep> steps, std::vector<Operand> inputs, std::vector<RegionBroadcast> reach, Operand y,
               CpuLevel level)
      : steps_(std::move(steps)),
        inputs_(std::move(inputs)),
        reach_(std::move(reach)),
        y_(std::move(y)),
        kernels_(vector_kernels(level)) {}

  void run(const Frame& frame) const override {
    std::array<VectorOperand, most_region_inputs> inputs;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      inputs[i] = {frame.data(inputs_[i]), reach_[i] == RegionBroadcast::full ? 0 : frame.numel(inputs_[i])};
    float* y = frame.data(y_);
    frame.pool->parallel_for(frame.numel(y_), tile_elements, [&](std::int64_t begin, std::int64_t end) {
      run_chain(steps_, {inputs.data(), inputs_.size()}, y, begin, end, kernels_,
                frame.scratch_of(ThreadPool::thread_index()));
    });
  }
  std::size_t thread_scratch_bytes(const std::int64_t*) const override {
    return static_cast<std::size_t>(chain_scratch_bytes);
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    const double count = count_of(y_, sizes);
    return {.flops = static_cast<double>(steps_.size()) * count,
            .activation_bytes = 4 * static_cast<double>(inputs_.size() + 1) * count};
  }

 private:
  std::vector<ChainStep> steps_;
  std::vector<Operand> inputs_;
  std::vector<RegionBroadcast> reach_;
  Operand y_;
  const VectorKernels& kernels_;
};

std::string refuse_region(const Graph& graph, const Node& node) {
  if (node.outputs[0].type.dtype != DType::f32) return "the result is not f32";
  for (const Value input : node.inputs) {
    if (!is_f32(graph, input)) return "an operand is not f32";
    if (!region_broadcast(graph.type(input).shape, node.outputs[0].type.shape)) return "the broadcast has no kernel";
  }
  for (const RegionStep& step : parse_region(node.text("chain"))) {
    const bool unary = step.op == RegionStep::Op::activation && unary_kind(step.kind),
               binary = step.op == RegionStep::Op::binary && binary_kind(step.kind);
    if (!unary && !binary) return "no kernel for the step " + step.kind;
  }
  return {};
}

void emit_region(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  std::vector<ChainStep> steps;
  for (const RegionStep& step : parse_region(node.text("chain"))) {
    const auto operand = [&](std::size_t i) {
      const auto at = static_cast<std::int32_t>(step.operands[i].index);
      return step.operands[i].is_step ? ChainOperand::of_step(at) : ChainOperand::of_input(at);
    };
    ChainStep lowered;
    lowered.a = operand(0);
    if (step.op == RegionStep::Op::activation) {
      lowered.kind = ChainStep::Kind::unary;
      lowered.unary = *unary_kind(step.kind);
      lowered.alpha = static_cast<float>(step.alpha.value_or(step.kind == "leaky_relu" ? 0.01 : 1.0));
    } else {
      lowered.kind = ChainStep::Kind::binary;
      lowered.binary = *binary_kind(step.kind);
      lowered.b = operand(1);
    }
    steps.push_back(lowered);
  }
  lir::Instruction instruction{.op = node.schema->name, .kernel = {}, .backend = "cpu", .node = index};
  instruction.kernel = kernel_name(fmt::format("chain of {}", steps.size()), lowering.level);
  std::vector<RegionBroadcast> reach;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    instruction.inputs.push_back(lowering.builder.operand(node.inputs[i]));
    reach.push_back(*region_broadcast(lowering.graph().type(node.inputs[i]).shape, node.outputs[0].type.shape));
    if (reach.back() == RegionBroadcast::full && instruction.in_place_input == lir::none)
      instruction.in_place_input = static_cast<std::int32_t>(i);
  }
  instruction.outputs = {lowering.builder.allocate({index, 0})};
  instruction.step = std::make_unique<ChainStepRun>(std::move(steps), instruction.inputs, std::move(reach),
                                                    instruction.outputs[0], lowering.level);
  lowering.builder.emit(std::move(instruction));
}

// --- gates --------------------------------------------------------------------------------------------------------

// silu of one half of each row times the other half.
class SwigluStep final : public lir::Step {
 public:
  SwigluStep(Operand x, Operand y, bool gate_first, CpuLevel level)
      : x_(std::move(x)), y_(std::move(y)), gate_first_(gate_first), kernels_(vector_kernels(level)) {}
  void run(const Frame& frame) const override {
    const std::int64_t width = frame.size(y_.dims.back()), rows = width == 0 ? 0 : frame.numel(y_) / width;
    frame.pool->parallel_for(rows, std::max<std::int64_t>(1, tile_elements / std::max<std::int64_t>(width, 1)),
                             [&](std::int64_t begin, std::int64_t end) {
                               for (std::int64_t r = begin; r < end; ++r) {
                                 const float* row = frame.data(x_) + 2 * r * width;
                                 kernels_.gated(UnaryKind::silu, gate_first_ ? row : row + width,
                                                gate_first_ ? row + width : row, frame.data(y_) + r * width, width);
                               }
                             });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = 10 * count_of(y_, sizes), .activation_bytes = 12 * count_of(y_, sizes)};
  }

 private:
  Operand x_, y_;
  bool gate_first_;
  const VectorKernels& kernels_;
};

std::string refuse_swiglu(const Graph& graph, const Node& node) {
  return is_f32(graph, node.inputs[0]) && node.outputs[0].type.dtype == DType::f32 ? "" : "x or y is not f32";
}

void emit_swiglu(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const Operand x = lowering.builder.operand(node.inputs[0]), y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{.op = node.schema->name, .kernel = {}, .backend = "cpu", .node = index};
  instruction.kernel = kernel_name("swiglu", lowering.level);
  instruction.inputs = {x};
  instruction.outputs = {y};
  instruction.step = std::make_unique<SwigluStep>(x, y, node.boolean("gate_first"), lowering.level);
  lowering.builder.emit(std::move(instruction));
}

}  // namespace

std::span<const LoweringRule> elementwise_rules() {
  static constexpr LoweringRule rules[] = {
      {"Activation", refuse_activation, emit_activation},
      {"Binary", refuse_binary, emit_binary},
      {"Clamp", refuse_clamp, emit_clamp},
      {"NanToNum", refuse_clamp, emit_nan_to_num},
      {"ElementwiseRegion", refuse_region, emit_region},
      {"FusedSwiGLU", refuse_swiglu, emit_swiglu},
  };
  return rules;
}

}  // namespace weft::cpu
