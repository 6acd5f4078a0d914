#include "weft/backend/cpu/linear.h"

#include "weft/backend/cpu/linear_levels.h"
#include "weft/base/fail.h"
#include "weft/base/round_up.h"

namespace weft::cpu {
namespace {

// A row's values end with an empty line, so that rows of 4096 values do not share one set of the cache.
constexpr std::int64_t value_stride(std::int64_t columns) { return round_up<std::int64_t>(columns, 64) + 64; }
constexpr std::int64_t scale_stride(std::int64_t columns) { return round_up<std::int64_t>(columns / 32, 16); }
constexpr std::int64_t sum_stride(std::int64_t columns) { return round_up<std::int64_t>(columns / 16, 16); }

}  // namespace

std::size_t quantized_row_bytes(std::int64_t columns) {
  return static_cast<std::size_t>(value_stride(columns) + 4 * (scale_stride(columns) + sum_stride(columns)));
}

MutableQuantizedRows quantized_rows(std::span<std::byte> buffer, std::int64_t rows, std::int64_t columns) {
  if (columns < 0 || columns % 32 != 0)
    fail(ErrorKind::invalid_argument, "BlockMisaligned", "quantized_rows", "{} columns, not a multiple of 32", columns);
  if (rows < 0 || buffer.size() / quantized_row_bytes(columns) < static_cast<std::size_t>(rows))
    fail(ErrorKind::invalid_argument, "BufferTooSmall", "quantized_rows", "{} bytes for {} rows of {} bytes",
         buffer.size(), rows, quantized_row_bytes(columns));
  MutableQuantizedRows out;
  out.rows = rows;
  out.columns = columns;
  out.value_stride = value_stride(columns);
  out.scale_stride = scale_stride(columns);
  out.sum_stride = sum_stride(columns);
  std::byte* at = buffer.data();
  out.values = reinterpret_cast<std::int8_t*>(at);
  at += rows * out.value_stride;
  out.scales = reinterpret_cast<float*>(at);
  at += rows * out.scale_stride * 4;
  out.sums = reinterpret_cast<std::int32_t*>(at);
  return out;
}

const LinearKernels& linear_kernels(CpuLevel level) {
  switch (level) {
#if defined(__x86_64__) && !defined(WEFT_PORTABLE_LINEAR)
    case CpuLevel::avx2: return avx2_linear;
    case CpuLevel::avx_vnni: return avx_vnni_linear;
    case CpuLevel::avx512: return avx512_linear;
    case CpuLevel::avx512_vnni: return avx512_vnni_linear;
    case CpuLevel::amx: return amx_linear;
#endif
    default: return portable_linear;
  }
}

}  // namespace weft::cpu
