// Norms, alone and behind a residual sum.
#include <algorithm>
#include <memory>
#include <utility>

#include "weft/backend/cpu/lowering.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"

namespace weft::cpu {
namespace {

using lir::Frame;
using lir::Operand;

// y = norm(x), or with a residual: sum = x + residual, y = norm(sum).
class NormStep final : public lir::Step {
 public:
  struct Plan {
    Operand x, residual, gain, bias, y, sum;
    std::int64_t width = 0;
    float eps = 0;
    bool rms = true;
  };
  NormStep(Plan plan, CpuLevel level) : plan_(std::move(plan)), kernels_(vector_kernels(level)) {}

  void run(const Frame& frame) const override {
    const std::int64_t width = plan_.width, rows = width == 0 ? 0 : frame.numel(plan_.x) / width;
    const float *x = frame.data(plan_.x), *residual = plan_.residual.defined() ? frame.data(plan_.residual) : nullptr;
    const float *gain = plan_.gain.defined() ? frame.data(plan_.gain) : nullptr,
                *bias = plan_.bias.defined() ? frame.data(plan_.bias) : nullptr;
    float *y = frame.data(plan_.y), *sum = residual != nullptr ? frame.data(plan_.sum) : nullptr;
    frame.pool->parallel_for(rows, std::max<std::int64_t>(1, 16384 / width), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * width, count = end - begin;
      if (residual != nullptr) {
        const auto kernel = plan_.rms ? kernels_.add_rms_norm : kernels_.add_layer_norm;
        kernel(x + at, residual + at, sum + at, width, count, width, gain, bias, plan_.eps, y + at, width);
      } else {
        const auto kernel = plan_.rms ? kernels_.rms_norm : kernels_.layer_norm;
        kernel(x + at, width, count, width, gain, bias, plan_.eps, y + at, width);
      }
    });
  }

  lir::Cost cost(const std::int64_t* sizes) const override {
    const double count = count_of(plan_.x, sizes);
    return {.flops = 4 * count, .activation_bytes = (plan_.residual.defined() ? 16 : 8) * count};
  }

 private:
  Plan plan_;
  const VectorKernels& kernels_;
};

// `first_vector`: the first of the operands gain and bias.
std::string refuse(const Graph& graph, const Node& node, std::size_t first_vector) {
  const Shape& shape = graph.type(node.inputs[0]).shape;
  if (shape.rank() == 0 || !shape.back().is_static() || *shape.back().value() < 1) return "the row has no known width";
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].defined()) continue;
    if (!is_f32(graph, node.inputs[i])) return "an operand is not f32";
    if (i >= first_vector && graph.type(node.inputs[i]).shape != Shape{shape.back()}) return "the gain is no row";
    if (i < first_vector && graph.type(node.inputs[i]).shape != shape) return "the residual broadcasts";
  }
  return {};
}

std::string refuse_norm(const Graph& graph, const Node& node) { return refuse(graph, node, 1); }
std::string refuse_residual_norm(const Graph& graph, const Node& node) { return refuse(graph, node, 2); }

std::string refuse_layer_norm(const Graph& graph, const Node& node) {
  const std::int64_t axis = node.integer("axis"),
                     rank = static_cast<std::int64_t>(graph.type(node.inputs[0]).shape.rank());
  if (axis != -1 && axis != rank - 1) return "the norm is over several axes";
  return refuse(graph, node, 1);
}

void emit(Lowering& lowering, std::int32_t index, bool rms, bool residual) {
  lir::ProgramBuilder& builder = lowering.builder;
  const Node& node = lowering.node(index);
  const auto operand = [&](std::size_t i) {
    return i < node.inputs.size() && node.inputs[i].defined() ? builder.operand(node.inputs[i]) : Operand{};
  };
  NormStep::Plan plan;
  plan.x = operand(0);
  if (residual) plan.residual = operand(1);
  plan.gain = operand(residual ? 2 : 1);
  plan.bias = operand(residual ? 3 : 2);
  plan.width = *lowering.graph().type(node.inputs[0]).shape.back().value();
  plan.eps = static_cast<float>(node.real("eps"));
  plan.rms = rms;
  plan.y = builder.allocate({index, 0});
  if (residual) plan.sum = builder.allocate({index, 1});
  lir::Instruction instruction{.op = node.schema->name,
                               .kernel = kernel_name(rms ? "rms norm" : "layer norm", lowering.level),
                               .backend = "cpu"};
  instruction.node = index;
  for (const Operand& input : {plan.x, plan.residual, plan.gain, plan.bias})
    if (input.defined()) instruction.inputs.push_back(input);
  instruction.outputs = {plan.y};
  if (residual) instruction.outputs.push_back(plan.sum);
  instruction.in_place_input = residual ? lir::none : 0;
  instruction.step = std::make_unique<NormStep>(std::move(plan), lowering.level);
  builder.emit(std::move(instruction));
}

}  // namespace

Operand normed_rows(Lowering& lowering, Value x, Value gain, double eps, std::int32_t node) {
  lir::ProgramBuilder& builder = lowering.builder;
  const Shape& shape = lowering.graph().type(x).shape;
  NormStep::Plan plan;
  plan.x = builder.operand(x);
  plan.gain = builder.operand(gain);
  plan.width = *shape.back().value();
  plan.eps = static_cast<float>(eps);
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < shape.rank(); ++i) dims.push_back(shape[i]);
  plan.y = builder.helper(lowering.graph().label(x) + " normed", shape.numel() * Dim(4), DType::f32, dims);
  const Operand y = plan.y;
  builder.emit({.op = "RmsNorm",
                .kernel = kernel_name("rms norm", lowering.level),
                .backend = "cpu",
                .node = node,
                .inputs = {plan.x, plan.gain},
                .outputs = {y},
                .step = std::make_unique<NormStep>(plan, lowering.level)});
  return y;
}

std::span<const LoweringRule> norm_rules() {
  static constexpr LoweringRule rules[] = {
      {"RmsNorm", refuse_norm, [](Lowering& lowering, std::int32_t node) { emit(lowering, node, true, false); }},
      {"LayerNorm", refuse_layer_norm,
       [](Lowering& lowering, std::int32_t node) { emit(lowering, node, false, false); }},
      {"FusedResidualRmsNorm", refuse_residual_norm,
       [](Lowering& lowering, std::int32_t node) { emit(lowering, node, true, true); }},
      {"FusedResidualLN", refuse_residual_norm,
       [](Lowering& lowering, std::int32_t node) { emit(lowering, node, false, true); }},
  };
  return rules;
}

}  // namespace weft::cpu
