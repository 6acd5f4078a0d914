// The reference kernel of Attention, apart from its schema. Thread-safe as every kernel: it writes its output alone.
#pragma once

#include "weft/ir/kernel.h"

namespace weft::ops {

void run_attention(const KernelContext& context);

}  // namespace weft::ops
