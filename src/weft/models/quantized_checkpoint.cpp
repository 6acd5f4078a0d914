#include "weft/models/quantized_checkpoint.h"

#include "weft/base/thread_pool.h"
#include "weft/models/tensor_conversion.h"
#include "weft/passes/param_dtypes.h"

namespace weft {

QuantizedCheckpoint::QuantizedCheckpoint(const Checkpoint& source, const QuantizePlan& plan, ThreadPool& pool)
    : Checkpoint(source.path()), source_(source), pool_(pool) {
  name_ = source_.name();
  format_ = source_.format();
  config_ = source_.config();
  chat_ = source_.chat();
  sampling_ = source_.sampling();
  QuantizeTypes types(plan);
  for (const CheckpointTensor& tensor : source_.tensors()) {
    const auto dims = *tensor.type.shape.static_dims();
    const QuantizedTensor& chosen = chosen_.emplace_back(types.choose(tensor.name, dims, tensor.type.dtype));
    dtypes_.emplace(tensor.name, chosen.dtype);
    add_tensor(tensor.name, {tensor.type.shape, chosen.dtype});
  }
  types.expect_all_rules_used();
}

Tensor QuantizedCheckpoint::find(const std::string& name) const {
  const auto it = dtypes_.find(name);
  return it == dtypes_.end() ? Tensor() : converted_tensor(name, source_.find(name), it->second, pool_);
}

Graph QuantizedCheckpoint::graph() const { return with_param_dtypes(source_.graph(), dtypes_); }

}  // namespace weft
