// Attention inside windows: one call of the attention kernel for each run of tokens that see each other.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "weft/backend/cpu/attention.h"
#include "weft/backend/cpu/heads_operand.h"
#include "weft/base/thread_pool.h"
#include "weft/ops/window_segments.h"

namespace weft::cpu {

namespace {

using lir::Frame;
using lir::Operand;

class WindowAttentionStep final : public lir::Step {
 public:
  struct Plan {
    HeadsOperand q, k, v, y;
    Operand bias;
    std::int64_t window = 1, shift = 0;
    float scale = 1;
    CpuLevel level = CpuLevel::portable;
  };
  explicit WindowAttentionStep(Plan plan) : plan_(std::move(plan)) {}

  void run(const Frame& frame) const override {
    const std::int64_t tokens = frame.size(plan_.q.tokens), batches = frame.size(plan_.q.batch);
    AttentionArgs args;
    args.layout = layout();
    args.heads = plan_.q.heads;
    args.scale = plan_.scale;
    args.causal = false;
    args.level = plan_.level;
    const MutableKvBlocks packed{frame.scratch, block_bytes(args.layout)};
    args.kv = packed;
    args.scratch = {frame.scratch + storage_bytes(args.layout, longest(tokens)),
                    attention_scratch(tokens, frame.pool->size())};
    for (std::int64_t batch = 0; batch < batches; ++batch)
      ops::each_window_segment(tokens, plan_.window, plan_.shift, [&](const ops::WindowSegment& segment) {
        args.rows = args.keys = segment.count;
        args.q = moved(rows_at<const float>(frame, plan_.q, batch), segment.first);
        args.output = moved(rows_at<float>(frame, plan_.y, batch), segment.first);
        pack_keys_and_values(
            args.layout, packed, segment.count, moved(rows_at<const float>(frame, plan_.k, batch), segment.first),
            moved(rows_at<const float>(frame, plan_.v, batch), segment.first), plan_.level, *frame.pool);
        if (plan_.bias.defined()) args.bias = bias_of(frame, segment);
        attention(args, *frame.pool);
      });
  }

  std::size_t scratch_bytes(const std::int64_t* sizes, int threads) const override {
    const std::int64_t tokens = sizes[plan_.q.tokens];
    return static_cast<std::size_t>(storage_bytes(layout(), longest(tokens))) + attention_scratch(tokens, threads);
  }

  lir::Cost cost(const std::int64_t* sizes) const override {
    const double elements = static_cast<double>(sizes[plan_.q.batch] * sizes[plan_.q.tokens]) *
                            static_cast<double>(plan_.q.heads * plan_.q.width);
    const auto keys = static_cast<double>(std::min(sizes[plan_.q.tokens], plan_.window));
    return {.flops = 4 * elements * keys, .activation_bytes = 16 * elements};
  }

 private:
  KvLayout layout() const { return {plan_.q.heads, plan_.q.width, plan_.v.width, DType::f32}; }
  // For the longest window.
  std::int64_t longest(std::int64_t tokens) const { return std::max<std::int64_t>(std::min(tokens, plan_.window), 1); }
  std::size_t attention_scratch(std::int64_t tokens, int threads) const {
    const std::int64_t keys = longest(tokens);
    return static_cast<std::size_t>(attention_scratch_bytes(layout(), plan_.q.heads, keys, keys, threads));
  }
  template <class T>
  static HeadRowsOf<T> moved(HeadRowsOf<T> rows, std::int64_t by) {
    rows.data += by * rows.row_stride;
    return rows;
  }
  ScoreOperand<float> bias_of(const Frame& frame, const ops::WindowSegment& segment) const {
    const std::int64_t window = plan_.window, plane = window * window;
    const std::int64_t first = plan_.bias.dims.size() == 4 ? segment.window * plan_.q.heads : 0;
    return {frame.data<float>(plan_.bias) + first * plane + segment.at * (window + 1), plane, window, 1};
  }

  Plan plan_;
};

std::string refuse_windows(const Graph& graph, const Node& node) {
  for (const Value input : node.inputs)
    if (input.defined() && !is_f32(graph, input)) return "an operand is not f32";
  return {};
}

void emit_windows(Lowering& lowering, std::int32_t index) {
  lir::ProgramBuilder& builder = lowering.builder;
  const Node& node = lowering.node(index);
  const std::int64_t heads = node.integer("num_heads");
  WindowAttentionStep::Plan plan;
  plan.q = heads_operand(lowering, node.inputs[0], node.text("layout"), heads);
  plan.k = heads_operand(lowering, node.inputs[1], node.text("k_layout"), heads);
  plan.v = heads_operand(lowering, node.inputs[2], node.text("v_layout"), heads);
  plan.window = node.integer("window_size");
  plan.shift = node.integer("shift");
  plan.scale = static_cast<float>(
      node.optional_real("scale").value_or(1 / std::sqrt(static_cast<double>(node.integer("head_dim")))));
  plan.level = lowering.level;
  if (node.inputs.size() > 3 && node.inputs[3].defined()) plan.bias = builder.operand(node.inputs[3]);
  plan.y = plan.q;
  plan.y.operand = builder.allocate({index, 0});
  lir::Instruction instruction{.op = "WindowAttention",
                               .kernel = kernel_name("flash attention f32", lowering.level),
                               .backend = "cpu",
                               .node = index};
  instruction.inputs = {plan.q.operand, plan.k.operand, plan.v.operand};
  if (plan.bias.defined()) instruction.inputs.push_back(plan.bias);
  instruction.outputs = {plan.y.operand};
  instruction.step = std::make_unique<WindowAttentionStep>(std::move(plan));
  builder.emit(std::move(instruction));
}

}  // namespace

std::span<const LoweringRule> window_attention_rules() {
  static constexpr LoweringRule rules[] = {{"WindowAttention", refuse_windows, emit_windows}};
  return rules;
}

}  // namespace weft::cpu
