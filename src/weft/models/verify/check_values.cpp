#include "weft/models/verify/check_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <mutex>

#include "weft/base/block_codec.h"
#include "weft/base/thread_pool.h"

namespace weft {
namespace {

struct Counts {
  std::int64_t nans = 0, infinities = 0, zeros = 0;
  std::int64_t first_wrong = -1;

  void add(const Counts& other) {
    nans += other.nans;
    infinities += other.infinities;
    zeros += other.zeros;
    if (first_wrong < 0 || (other.first_wrong >= 0 && other.first_wrong < first_wrong)) first_wrong = other.first_wrong;
  }
};

constexpr std::int64_t span_values = 4096;  // whole blocks of every type

Counts count_values(const Tensor& tensor, ThreadPool& pool) {
  const DTypeInfo& info = dtype_info(tensor.dtype());
  const std::int64_t count = tensor.numel();
  Counts total;
  std::mutex adding;
  pool.parallel_for((count + span_values - 1) / span_values, 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> values(span_values);
    Counts part;
    for (std::int64_t span = begin; span < end; ++span) {
      const std::int64_t at = span * span_values, size = std::min(span_values, count - at);
      const auto out = std::span(values).first(static_cast<std::size_t>(size));
      decode_to_f32(tensor.dtype(),
                    tensor.bytes().subspan(static_cast<std::size_t>(at / info.block * info.block_bytes),
                                           static_cast<std::size_t>(size / info.block * info.block_bytes)),
                    out);
      for (std::int64_t i = 0; i < size; ++i) {
        const float x = values[static_cast<std::size_t>(i)];
        part.zeros += x == 0 ? 1 : 0;
        if (std::isfinite(x)) continue;
        if (part.first_wrong < 0) part.first_wrong = at + i;
        ++(std::isnan(x) ? part.nans : part.infinities);
      }
    }
    const std::lock_guard lock(adding);
    total.add(part);
  });
  return total;
}

// Bytes of which one of the four codes is 3, which stands for nothing.
std::int64_t reserved_codes(const Tensor& tensor) {
  return std::count_if(tensor.bytes().begin(), tensor.bytes().end(), [](std::byte b) {
    const auto byte = std::to_integer<unsigned>(b);
    return (byte & byte >> 1 & 0x55) != 0;
  });
}

}  // namespace

void check_values(const std::string& name, const Tensor& tensor, ThreadPool& pool, Findings& findings) {
  if (tensor.dtype() == DType::c64) return;
  const Counts counts = count_values(tensor, pool);
  const std::string where = fmt::format("tensor \"{}\"", name);
  if (counts.first_wrong >= 0)
    findings.error("NonFiniteWeights", where,
                   fmt::format("{} NaN and {} infinities in {} values, the first at element {}", counts.nans,
                               counts.infinities, tensor.numel(), counts.first_wrong));
  if (counts.zeros == tensor.numel() && tensor.rank() >= 2)
    findings.warning("ZeroTensor", where, "all its values are zero");
  if (tensor.dtype() != DType::ternary) return;
  if (const std::int64_t reserved = reserved_codes(tensor); reserved > 0)
    findings.warning("ReservedTernaryCode", where,
                     fmt::format("{} bytes hold the code 3, which has no meaning and is read as 0", reserved));
}

}  // namespace weft
