// Walking several operands in step: axes that all operands cross evenly are merged, so that same-shape and
// row-broadcast operands become one or two long loops. Values; a plan may be used from many threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "weft/base/thread_pool.h"

namespace weft::ops {

struct StridedPlan {
  std::vector<std::int64_t> dims;                  // merged, outermost first; never empty
  std::vector<std::vector<std::int64_t>> strides;  // per operand, in elements
  std::int64_t total = 1;
};

// Drops axes of size 1 and merges neighbors that every operand crosses evenly.
StridedPlan merge_axes(std::span<const std::int64_t> dims, std::vector<std::vector<std::int64_t>> strides);

// Operands of these dims, each broadcast to `target`.
StridedPlan broadcast_plan(std::span<const std::int64_t> target, std::span<const std::vector<std::int64_t>> operands);

// Calls body(linear, count, offsets) for runs along the innermost merged axis which cover [begin, end) in order; the
// step of operand k within a run is strides[k].back(). No run is longer than `longest`.
template <class Body>
void for_each_run(const StridedPlan& plan, std::int64_t begin, std::int64_t end, std::int64_t longest, Body&& body) {
  const std::int64_t inner = plan.dims.back();
  std::vector<std::int64_t> offsets(plan.strides.size());
  for (std::int64_t at = begin; at < end;) {
    std::int64_t rest = at;
    std::fill(offsets.begin(), offsets.end(), 0);
    for (std::size_t axis = plan.dims.size(); axis-- > 0;) {
      const std::int64_t index = rest % plan.dims[axis];
      rest /= plan.dims[axis];
      for (std::size_t k = 0; k < offsets.size(); ++k) offsets[k] += index * plan.strides[k][axis];
    }
    const std::int64_t count = std::min({inner - at % inner, end - at, longest});
    body(at, count, std::span<const std::int64_t>(offsets));
    at += count;
  }
}

// ... over all elements, in parallel.
template <class Body>
void parallel_runs(ThreadPool& pool, const StridedPlan& plan, std::int64_t longest, Body&& body) {
  pool.parallel_for(plan.total, 1 << 14,
                    [&](std::int64_t begin, std::int64_t end) { for_each_run(plan, begin, end, longest, body); });
}

}  // namespace weft::ops
