#include "weft/ops/broadcast.h"

#include "weft/ops/element.h"

namespace weft::ops {

StridedPlan merge_axes(std::span<const std::int64_t> dims, std::vector<std::vector<std::int64_t>> strides) {
  StridedPlan plan;
  plan.strides.resize(strides.size());
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    plan.total *= dims[axis];
    if (dims[axis] == 1) continue;
    bool even = !plan.dims.empty();
    for (std::size_t k = 0; even && k < strides.size(); ++k)
      even = plan.strides[k].back() == strides[k][axis] * dims[axis];
    if (even)
      plan.dims.back() *= dims[axis];
    else
      plan.dims.push_back(dims[axis]);
    for (std::size_t k = 0; k < strides.size(); ++k) {
      if (even)
        plan.strides[k].back() = strides[k][axis];
      else
        plan.strides[k].push_back(strides[k][axis]);
    }
  }
  if (plan.dims.empty()) {
    plan.dims.push_back(1);
    for (auto& steps : plan.strides) steps.push_back(0);
  }
  return plan;
}

StridedPlan broadcast_plan(std::span<const std::int64_t> target, std::span<const std::vector<std::int64_t>> operands) {
  std::vector<std::vector<std::int64_t>> strides;
  for (const auto& dims : operands) strides.push_back(broadcast_strides(dims, target));
  return merge_axes(target, std::move(strides));
}

}  // namespace weft::ops
