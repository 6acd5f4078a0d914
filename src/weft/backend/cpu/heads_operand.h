// An operand of attention as instructions find it in memory. Internal to this room.
#pragma once

#include <cstdint>
#include <string>

#include "weft/backend/cpu/kv_cache.h"
#include "weft/backend/cpu/lowering.h"

namespace weft::cpu {

// [batch][token][head][width] with strides, in elements.
struct HeadsOperand {
  lir::Operand operand;
  std::int64_t heads = 0, width = 0;
  bool head_major = false;
  lir::SizeId batch = lir::none, tokens = lir::none;

  std::int64_t token_stride() const { return head_major ? width : heads * width; }
  std::int64_t head_stride(std::int64_t token_count) const { return head_major ? token_count * width : width; }
};

// Of a value in a resolved layout of ops/attention_layout.h; `operand` is undefined where only a slot holds the value.
HeadsOperand heads_operand(Lowering& lowering, Value value, const std::string& layout, std::int64_t heads);

// The rows of one sequence of a batch; of the only one where there is one.
template <class T>
HeadRowsOf<T> rows_at(const lir::Frame& frame, const HeadsOperand& heads, std::int64_t batch) {
  const std::int64_t tokens = frame.size(heads.tokens), batches = frame.size(heads.batch);
  T* data = frame.data(heads.operand) + (batches == 1 ? 0 : batch) * tokens * heads.heads * heads.width;
  return {data, heads.token_stride(), heads.head_stride(tokens)};
}

}  // namespace weft::cpu
