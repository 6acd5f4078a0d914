#include "weft/models/quantized_checkpoint.h"

#include "weft/base/thread_pool.h"
#include "weft/models/tensor_conversion.h"
#include "weft/models/ternary_rows.h"
#include "weft/passes/param_dtypes.h"
#include "weft/passes/ternary_scales.h"

namespace weft {

QuantizedCheckpoint::QuantizedCheckpoint(const Checkpoint& source, const QuantizePlan& plan, ThreadPool& pool)
    : Checkpoint(source.path()), source_(source), pool_(pool), vectors_(plan.vectors) {
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
    if (chosen.dtype != DType::ternary || chosen.source == DType::ternary) continue;
    std::int64_t rows = 1;
    for (std::size_t axis = 0; axis + 1 < dims.size(); ++axis) rows *= dims[axis];
    const std::string scale = tensor.name + ".scale";
    scale_of_.emplace(scale, tensor.name);
    add_tensor(scale, {{rows}, vectors_});
  }
  types.expect_all_rules_used();
}

Tensor QuantizedCheckpoint::find(const std::string& name) const {
  if (const auto scale = scale_of_.find(name); scale != scale_of_.end())
    return ternary_rows(scale->second, source_.find(scale->second), vectors_, pool_).scales;
  const auto it = dtypes_.find(name);
  if (it == dtypes_.end()) return {};
  if (scale_of_.contains(name + ".scale")) return ternary_rows(name, source_.find(name), vectors_, pool_).codes;
  return converted_tensor(name, source_.find(name), it->second, pool_);
}

Graph QuantizedCheckpoint::graph() const {
  return with_ternary_scales(with_param_dtypes(source_.graph(), dtypes_),
                             [this](const std::string& name) { return tensor_type(name); });
}

}  // namespace weft
