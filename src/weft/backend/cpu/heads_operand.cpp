#include "weft/backend/cpu/heads_operand.h"

#include "weft/ops/attention_layout.h"

namespace weft::cpu {

HeadsOperand heads_operand(Lowering& lowering, Value value, const std::string& layout, std::int64_t heads) {
  const auto dims = ops::head_dims(lowering.graph().type(value).shape, layout, heads);
  HeadsOperand result;
  result.operand = lowering.builder.has_operand(value) || lowering.builder.is_weight(value)
                       ? lowering.builder.operand(value)
                       : lir::Operand{};
  result.heads = heads;
  result.width = *dims->width.value();
  result.head_major = ops::is_head_major(layout);
  result.batch = lowering.builder.sizes().add(dims->batch);
  result.tokens = lowering.builder.sizes().add(dims->tokens);
  return result;
}

}  // namespace weft::cpu
