// Norms over channels and groups of them, and norms that are modulated.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "weft/backend/cpu/lowering.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/base/thread_pool.h"

namespace weft::cpu {
namespace {

using lir::Frame;
using lir::Operand;

// x seen as [outer, channels, inner]; operands of the node in its order, undefined where they are absent.
struct NormPlan {
  Operand x, y;
  Operand vectors[4];
  std::size_t channel_axis = 1;
  std::int64_t groups = 0;  // of a group norm; 0: one per channel
  float eps = 0;
};

struct ChannelView {
  std::int64_t outer = 1, channels = 1, inner = 1;
  ChannelView(const Frame& frame, const NormPlan& plan) : channels(frame.dim(plan.x, plan.channel_axis)) {
    for (std::size_t i = 0; i < plan.x.dims.size(); ++i)
      if (i != plan.channel_axis) (i < plan.channel_axis ? outer : inner) *= frame.dim(plan.x, i);
  }
  std::int64_t numel() const { return outer * channels * inner; }
};

class NormStep : public lir::Step {
 public:
  NormStep(NormPlan plan, CpuLevel level) : plan_(std::move(plan)), kernels_(vector_kernels(level)) {}
  lir::Cost cost(const std::int64_t* sizes) const override {
    const double count = count_of(plan_.x, sizes);
    return {.flops = 6 * count, .activation_bytes = 8 * count};
  }

 protected:
  const float* vector(const Frame& frame, std::size_t i) const {
    return plan_.vectors[i].defined() ? frame.data(plan_.vectors[i]) : nullptr;
  }
  // row = row * gain[c] + bias[c]
  void scale(const Frame& frame, std::int64_t channel, float* row, std::int64_t count) const {
    const float *gain = vector(frame, 0), *bias = vector(frame, 1);
    if (gain != nullptr || bias != nullptr)
      kernels_.affine(row, 0, gain != nullptr ? gain[channel] : 1, bias != nullptr ? bias[channel] : 0, row, count);
  }

  NormPlan plan_;
  const VectorKernels& kernels_;
};

class GroupNormStep final : public NormStep {
 public:
  using NormStep::NormStep;
  void run(const Frame& frame) const override {
    const ChannelView view(frame, plan_);
    if (view.numel() == 0) return;
    const std::int64_t groups = plan_.groups == 0 ? view.channels : plan_.groups, together = view.channels / groups;
    const std::int64_t width = together * view.inner;
    frame.pool->parallel_for(view.outer * groups, 1 + 16384 / width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        float* y = frame.data(plan_.y) + r * width;
        kernels_.layer_norm(frame.data(plan_.x) + r * width, width, 1, width, nullptr, nullptr, plan_.eps, y, width);
        for (std::int64_t i = 0; i < together; ++i)
          scale(frame, r % groups * together + i, y + i * view.inner, view.inner);
      }
    });
  }
};

// A channel's elements side by side, normalized as one row.
class BatchNormStep final : public NormStep {
 public:
  using NormStep::NormStep;
  void run(const Frame& frame) const override {
    const ChannelView view(frame, plan_);
    if (view.numel() == 0) return;
    const std::int64_t width = view.outer * view.inner;
    const auto bytes = static_cast<std::size_t>(view.inner) * sizeof(float);
    frame.pool->parallel_for(view.channels, 1 + 16384 / width, [&](std::int64_t begin, std::int64_t end) {
      auto* row = frame.scratch_of<float>(ThreadPool::thread_index());
      for (std::int64_t channel = begin; channel < end; ++channel) {
        const auto at = [&](std::int64_t n) { return (n * view.channels + channel) * view.inner; };
        for (std::int64_t n = 0; n < view.outer; ++n)
          std::memcpy(row + n * view.inner, frame.data(plan_.x) + at(n), bytes);
        kernels_.layer_norm(row, width, 1, width, nullptr, nullptr, plan_.eps, row, width);
        scale(frame, channel, row, width);
        for (std::int64_t n = 0; n < view.outer; ++n)
          std::memcpy(frame.data(plan_.y) + at(n), row + n * view.inner, bytes);
      }
    });
  }
  std::size_t thread_scratch_bytes(const std::int64_t* sizes) const override {
    std::size_t count = sizeof(float);
    for (std::size_t i = 0; i < plan_.x.dims.size(); ++i)
      if (i != plan_.channel_axis) count *= static_cast<std::size_t>(sizes[plan_.x.dims[i]]);
    return count;
  }
};

class BatchNormInferenceStep final : public NormStep {
 public:
  using NormStep::NormStep;
  void run(const Frame& frame) const override {
    const ChannelView view(frame, plan_);
    const float *gain = vector(frame, 0), *bias = vector(frame, 1), *mean = vector(frame, 2),
                *variance = vector(frame, 3);
    if (view.numel() == 0) return;
    frame.pool->parallel_for(
        view.outer * view.channels, 1 + 16384 / view.inner, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            const std::int64_t c = r % view.channels;
            const double deviation = std::sqrt(double{variance[c]} + double{plan_.eps});
            const double factor = (gain != nullptr ? double{gain[c]} : 1.0) / deviation;
            kernels_.affine(frame.data(plan_.x) + r * view.inner, mean[c], static_cast<float>(factor),
                            bias != nullptr ? bias[c] : 0, frame.data(plan_.y) + r * view.inner, view.inner);
          }
        });
  }
};

class AdaLayerNormStep final : public NormStep {
 public:
  AdaLayerNormStep(NormPlan plan, CpuLevel level, bool rms) : NormStep(std::move(plan), level), rms_(rms) {}
  void run(const Frame& frame) const override {
    const std::int64_t width = frame.size(plan_.x.dims.back()), rows = width == 0 ? 0 : frame.numel(plan_.x) / width;
    if (rows == 0) return;
    const std::int64_t per_sample = rows / frame.dim(plan_.x, 0);
    const auto row_of = [&](const Operand& given, std::int64_t r) {
      const std::int64_t row = given.dims.size() == 1                              ? 0
                               : given.dims.size() == 2 && plan_.x.dims.size() > 2 ? r / per_sample
                                                                                   : r;
      return frame.data(given) + row * width;
    };
    frame.pool->parallel_for(rows, 1 + 16384 / width, [&](std::int64_t begin, std::int64_t end) {
      auto* gain = frame.scratch_of<float>(ThreadPool::thread_index());
      const float* gain_of = nullptr;  // the scale that `gain` was made from
      for (std::int64_t r = begin; r < end; ++r) {
        if (const float* scale = row_of(plan_.vectors[0], r); scale != gain_of) {
          kernels_.affine(scale, 0, 1, 1, gain, width);
          gain_of = scale;
        }
        (rms_ ? kernels_.rms_norm : kernels_.layer_norm)(frame.data(plan_.x) + r * width, width, 1, width, gain,
                                                         row_of(plan_.vectors[1], r), plan_.eps,
                                                         frame.data(plan_.y) + r * width, width);
      }
    });
  }
  std::size_t thread_scratch_bytes(const std::int64_t* sizes) const override {
    return static_cast<std::size_t>(sizes[plan_.x.dims.back()]) * sizeof(float);
  }

 private:
  bool rms_;
};

std::string refuse_channel_norm(const Graph& graph, const Node& node) {
  for (const Value input : node.inputs)
    if (input.defined() && !is_f32(graph, input)) return "an operand is not f32";
  return {};
}

template <class Step, class... Args>
void emit(Lowering& lowering, std::int32_t index, const char* kernel, std::size_t channel_axis, Args... args) {
  lir::ProgramBuilder& builder = lowering.builder;
  const Node& node = lowering.node(index);
  NormPlan plan;
  plan.x = builder.operand(node.inputs[0]);
  lir::Instruction instruction{.op = node.schema->name,
                               .kernel = kernel_name(kernel, lowering.level),
                               .backend = "cpu",
                               .node = index,
                               .inputs = {plan.x}};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].defined()) continue;
    plan.vectors[i - 1] = builder.operand(node.inputs[i]);
    instruction.inputs.push_back(plan.vectors[i - 1]);
  }
  plan.channel_axis = channel_axis;
  if (node.schema->attribute_index("num_groups")) plan.groups = node.optional_integer("num_groups").value_or(0);
  plan.eps = static_cast<float>(node.real("eps"));
  plan.y = builder.allocate({index, 0});
  instruction.outputs = {plan.y};
  instruction.in_place_input = 0;
  instruction.step = std::make_unique<Step>(std::move(plan), lowering.level, args...);
  builder.emit(std::move(instruction));
}

std::size_t channel_axis(const Lowering& lowering, std::int32_t index) {
  const auto rank = static_cast<std::int64_t>(lowering.graph().type(lowering.node(index).inputs[0]).shape.rank());
  const std::int64_t axis = lowering.node(index).integer("channel_axis");
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

}  // namespace

std::span<const LoweringRule> channel_norm_rules() {
  static constexpr LoweringRule rules[] = {
      {"GroupNorm", refuse_channel_norm,
       [](Lowering& lowering, std::int32_t node) { emit<GroupNormStep>(lowering, node, "group norm", 1); }},
      {"BatchNorm", refuse_channel_norm,
       [](Lowering& lowering, std::int32_t node) {
         emit<BatchNormStep>(lowering, node, "batch norm", channel_axis(lowering, node));
       }},
      {"BatchNormInference", refuse_channel_norm,
       [](Lowering& lowering, std::int32_t node) {
         emit<BatchNormInferenceStep>(lowering, node, "affine", channel_axis(lowering, node));
       }},
      {"AdaLayerNorm", refuse_channel_norm,
       [](Lowering& lowering, std::int32_t node) {
         const bool rms = lowering.node(node).text("norm") == "rms_norm";
         emit<AdaLayerNormStep>(lowering, node, rms ? "modulated rms norm" : "modulated layer norm", 0, rms);
       }},
  };
  return rules;
}

}  // namespace weft::cpu
