#include "weft/models/verify/check_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weft {
namespace {

constexpr std::uint64_t alignment = 64;

}  // namespace

void check_ranges(const ModelFile& file, Findings& findings) {
  const std::string where = file.path().string() + ", section weights";
  const std::uint64_t start = file.sections().back().offset;
  std::uint64_t misaligned = 0;
  const ModelTensor* first = nullptr;
  std::vector<const ModelTensor*> order;
  for (const ModelTensor& tensor : file.tensors()) {
    order.push_back(&tensor);
    if ((start + tensor.offset) % alignment == 0) continue;
    if (++misaligned == 1) first = &tensor;
  }
  if (misaligned > 0)
    findings.warning(
        "MisalignedTensor", where,
        fmt::format("{} of {} tensors begin at no multiple of {} bytes in the file, such as {} at {:#x}; some "
                    "are copied when they are loaded",
                    misaligned, order.size(), alignment, first->name, start + first->offset));

  std::sort(order.begin(), order.end(),
            [](const ModelTensor* a, const ModelTensor* b) { return a->offset < b->offset; });
  std::uint64_t end = 0;
  const auto weights = file.weights();
  const auto check_gap = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i)
      if (weights[i] != std::byte{0}) {
        findings.warning(
            "NonZeroPadding", where,
            fmt::format("the bytes from {} to {} belong to no tensor, and the one at {} is not zero", from, to, i));
        return true;
      }
    return false;
  };
  for (const ModelTensor* tensor : order) {
    if (tensor->offset > end && check_gap(end, tensor->offset)) return;
    end = std::max(end, tensor->offset + tensor->bytes);
  }
  check_gap(end, weights.size());
}

}  // namespace weft
