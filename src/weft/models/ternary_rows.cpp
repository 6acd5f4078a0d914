#include "weft/models/ternary_rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <vector>

#include "weft/base/block_codec.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"

namespace weft {
namespace {

// With the k largest magnitudes as nonzero codes the best scale is their mean, which takes (their sum)^2 / k off the
// squared error.
float best_scale(std::span<const float> row, std::vector<float>& magnitudes) {
  magnitudes.resize(row.size());
  std::transform(row.begin(), row.end(), magnitudes.begin(), [](float x) { return std::fabs(x); });
  std::sort(magnitudes.begin(), magnitudes.end(), std::greater<>());
  double sum = 0, most = 0, scale = 0;
  for (std::size_t k = 1; k <= magnitudes.size(); ++k) {
    sum += static_cast<double>(magnitudes[k - 1]);
    const double gain = sum * sum / static_cast<double>(k);
    if (gain > most) {
      most = gain;
      scale = sum / static_cast<double>(k);
    }
  }
  return static_cast<float>(scale);
}

}  // namespace

TernaryRows ternary_rows(const std::string& name, const Tensor& source, DType scale_dtype, ThreadPool& pool) {
  const std::int64_t columns = source.dims().back(), rows = source.numel() / columns;
  TernaryRows result{Tensor::allocate(DType::ternary, source.dims()), Tensor::allocate(scale_dtype, {rows})};
  const std::size_t row_bytes = source.byte_size() / static_cast<std::size_t>(rows),
                    code_bytes = static_cast<std::size_t>(columns) / 4,
                    scale_bytes = dtype_info(scale_dtype).block_bytes;
  const auto codes = result.codes.mutable_bytes(), scales = result.scales.mutable_bytes();
  std::atomic<std::int64_t> first_bad{rows};
  pool.parallel_for(rows, 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> row(static_cast<std::size_t>(columns)), magnitudes;
    for (std::int64_t r = begin; r < end; ++r) {
      const auto at = static_cast<std::size_t>(r);
      decode_to_f32(source.dtype(), source.bytes().subspan(at * row_bytes, row_bytes), row);
      if (std::any_of(row.begin(), row.end(), [](float x) { return !std::isfinite(x); })) {
        std::int64_t seen = first_bad;
        while (r < seen && !first_bad.compare_exchange_weak(seen, r)) {
        }
        return;
      }
      const float best = best_scale(row, magnitudes);
      const auto stored = scales.subspan(at * scale_bytes, scale_bytes);
      encode_from_f32(scale_dtype, {&best, 1}, stored);
      float scale = 0;
      decode_to_f32(scale_dtype, stored, {&scale, 1});
      for (float& x : row) x = scale == 0 ? 0 : x / scale;
      encode_from_f32(DType::ternary, row, codes.subspan(at * code_bytes, code_bytes));
    }
  });
  if (first_bad < rows) {
    std::vector<float> row(static_cast<std::size_t>(columns));
    decode_to_f32(source.dtype(), source.bytes().subspan(static_cast<std::size_t>(first_bad) * row_bytes, row_bytes),
                  row);
    const bool nan = std::any_of(row.begin(), row.end(), [](float x) { return std::isnan(x); });
    fail(nan ? ErrorKind::invalid_argument : ErrorKind::out_of_range, nan ? "QuantNaN" : "QuantRange",
         fmt::format("tensor \"{}\", row {}", name, first_bad.load()), "{} cannot be stored as ternary",
         nan ? "NaN" : "an infinity");
  }
  return result;
}

}  // namespace weft
