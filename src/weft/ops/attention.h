// What the ops of the attention family share: how they find their operands' heads, and the reference kernel of
// Attention. Thread-safe as every kernel: it writes its output alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ops/attention_layout.h"

namespace weft::ops {

// A choice among head_layouts(), "auto" being resolved by inference.
AttributeSpec layout_attribute(const char* name, const char* doc);

// Decides the layout of an operand and stores it. Without `width` the heads may have any.
HeadDims resolve_layout(InferContext& context, std::size_t input, const char* attribute, std::int64_t heads,
                        std::optional<std::int64_t> width, const std::string& preferred);

// Sizes and steps, in elements, of one operand of a run.
struct HeadSteps {
  std::int64_t batch = 1, heads = 1, tokens = 1, width = 1;
  std::int64_t batch_step = 0, head_step = 0, token_step = 0;

  HeadSteps(const std::vector<std::int64_t>& dims, const std::string& layout, std::int64_t head_count);
  std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t s) const {
    return b * batch_step + h * head_step + s * token_step;
  }
};

void run_attention(const KernelContext& context);

}  // namespace weft::ops
