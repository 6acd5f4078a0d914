#include "weft/backend/cpu/cpu_backend.h"

#include <span>

#include "weft/backend/cpu/lowering.h"
#include "weft/base/fail.h"
#include "weft/ir/op_schema.h"

namespace weft::cpu {

const LoweringRule* find_lowering_rule(std::string_view op) {
  for (const std::span<const LoweringRule> rules :
       {linear_rules(), norm_rules(), rope_rules(), attention_rules(), window_attention_rules(), elementwise_rules(),
        movement_rules(), layout_rules(), conv_rules(), image_rules(), channel_norm_rules()})
    for (const LoweringRule& rule : rules)
      if (rule.op == op) return &rule;
  return nullptr;
}

double count_of(const lir::Operand& operand, const std::int64_t* sizes) {
  double count = 1;
  for (const lir::SizeId id : operand.dims) count *= static_cast<double>(sizes[id]);
  return count;
}

std::string kernel_name(std::string_view what, CpuLevel level) { return fmt::format("{} {}", what, to_string(level)); }

Support CpuBackend::supports(const Graph& graph, std::int32_t index) const {
  const Node& node = graph.node(index);
  const LoweringRule* rule = find_lowering_rule(node.schema->name);
  if (rule == nullptr) return {false, "no CPU kernel"};
  std::string refusal = rule->refusal(graph, node);
  return {refusal.empty(), std::move(refusal)};
}

bool CpuBackend::lower(lir::ProgramBuilder& builder, std::int32_t index, const LowerOptions& options) const {
  const LoweringRule* rule = find_lowering_rule(builder.graph().node(index).schema->name);
  if (rule == nullptr) return false;
  Lowering lowering{builder, options, level_};
  rule->emit(lowering, index);
  return true;
}

void CpuBackend::execute(const KernelContext& context) const { context.node().schema->reference(context); }

}  // namespace weft::cpu
