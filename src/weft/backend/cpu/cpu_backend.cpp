#include "weft/backend/cpu/cpu_backend.h"

#include <span>

#include "weft/backend/cpu/lowering.h"
#include "weft/base/fail.h"
#include "weft/ir/op_schema.h"

namespace weft::cpu {

namespace {

// Calls body(rule) for each rule of an op, in order, until it returns true.
template <class Body>
void for_each_rule(std::string_view op, Body body) {
  for (const std::span<const LoweringRule> rules :
       {linear_rules(), matmul_rules(), norm_rules(), rope_rules(), attention_rules(), window_attention_rules(),
        elementwise_rules(), reduce_rules(), movement_rules(), layout_rules(), conv_rules(), image_rules(),
        channel_norm_rules()})
    for (const LoweringRule& rule : rules)
      if (rule.op == op && body(rule)) return;
}

}  // namespace

const LoweringRule* find_lowering_rule(const Graph& graph, const Node& node) {
  const LoweringRule* found = nullptr;
  for_each_rule(node.schema->name, [&](const LoweringRule& rule) {
    if (rule.refusal(graph, node).empty()) found = &rule;
    return found != nullptr;
  });
  return found;
}

double count_of(const lir::Operand& operand, const std::int64_t* sizes) {
  double count = 1;
  for (const lir::SizeId id : operand.dims) count *= static_cast<double>(sizes[id]);
  return count;
}

std::string kernel_name(std::string_view what, CpuLevel level) { return fmt::format("{} {}", what, to_string(level)); }

Support CpuBackend::supports(const Graph& graph, std::int32_t index) const {
  const Node& node = graph.node(index);
  bool taken = false;
  std::string reason;  // of the first rule
  for_each_rule(node.schema->name, [&](const LoweringRule& rule) {
    std::string refusal = rule.refusal(graph, node);
    taken = refusal.empty();
    if (reason.empty()) reason = std::move(refusal);
    return taken;
  });
  if (taken) return {true, {}};
  return {false, reason.empty() ? "no CPU kernel" : std::move(reason)};
}

bool CpuBackend::lower(lir::ProgramBuilder& builder, std::int32_t index, const LowerOptions& options) const {
  const LoweringRule* rule = find_lowering_rule(builder.graph(), builder.graph().node(index));
  if (rule == nullptr) return false;
  Lowering lowering{builder, options, level_};
  rule->emit(lowering, index);
  return true;
}

void CpuBackend::execute(const KernelContext& context) const { context.node().schema->reference(context); }

}  // namespace weft::cpu
