#include "weft/backend/cpu/packed_matrix.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "weft/backend/cpu/pack_panel.h"
#include "weft/backend/cpu/packed_layout.h"
#include "weft/backend/cpu/packed_memory.h"
#include "weft/base/fail.h"
#include "weft/base/half.h"
// Last: it includes nothing itself.
#include "weft/backend/cpu/packed_codes-inl.h"

namespace weft::cpu {
namespace {

// One row of a panel, as the operations object of packed_codes-inl.h.
struct OneLane {
  int lane;

  std::uint32_t load(const std::uint8_t* group) const {
    std::uint32_t value;
    std::memcpy(&value, group + 4 * lane, 4);
    return value;
  }
  template <int right>
  std::uint32_t pick(std::uint32_t value, std::uint8_t mask) const {
    return (right >= 0 ? value >> std::max(right, 0) : value << std::max(-right, 0)) & (mask * 0x01010101u);
  }
  std::uint32_t shift(std::uint32_t value, int right) const { return value >> right; }
  std::uint32_t merge(std::uint32_t a, std::uint32_t b) const { return a | b; }
  float f16(const std::uint8_t* halves) const {
    std::uint16_t half;
    std::memcpy(&half, halves + 2 * lane, 2);
    return f16_to_f32(half);
  }
  float i16(const std::uint8_t* shorts) const {
    std::int16_t value;
    std::memcpy(&value, shorts + 2 * lane, 2);
    return value;
  }
  float u8(const std::uint8_t* bytes) const { return bytes[lane]; }
  float i8(const std::uint8_t* bytes) const { return static_cast<std::int8_t>(bytes[lane]); }
  float u4(const std::uint8_t* bytes, int right) const { return static_cast<float>((bytes[lane] >> right) & 15); }
  float set(float value) const { return value; }
  float mul(float a, float b) const { return a * b; }
  float negate(float a) const { return -a; }
};

template <class Code>
void decode_lane(const std::uint8_t* panel, int lane, std::int64_t columns, float* out) {
  const OneLane l{lane};
  constexpr PanelLayout layout = layout_of<Code>;
  for (std::int64_t record = 0; record < columns / Code::record; ++record) {
    const std::uint8_t* scales = panel + layout.scales_at(record);
    const std::uint8_t* values = panel + layout.values_at(record);
    for (int chunk = 0; chunk < Code::record / Code::chunk; ++chunk, out += Code::chunk) {
      Code::unpack(l, values, chunk, [&](std::uint32_t codes, auto group) {
        for (int i = 0; i < 4; ++i)
          out[4 * group + i] = static_cast<float>(static_cast<int>(codes >> (8 * i) & 255) - Code::zero);
      });
      for (int g = 0; g < Code::chunk / Code::group; ++g) {
        const int index = chunk * (Code::chunk / Code::group) + g;
        float* part = out + g * Code::group;
        // The product is exact, so that the sum rounds once, as the codec's does.
        const float scale = Code::scale(l, scales, index);
        if constexpr (requires { Code::divisor; }) {
          const float n = l.i16(scales);
          // A product of integers, whose zero has no sign.
          for (int i = 0; i < Code::group; ++i) part[i] = (n * part[i] + 0.f) / Code::divisor;
        } else if constexpr (Code::minimums) {
          const float minimum = Code::minimum(l, scales, index);
          for (int i = 0; i < Code::group; ++i) part[i] = scale * part[i] + minimum;
        } else {
          for (int i = 0; i < Code::group; ++i) part[i] = scale * part[i];
        }
      }
    }
  }
}

template <class T, class Convert>
void decode_float_lane(const std::uint8_t* panel, int lane, std::int64_t columns, float* out, Convert convert) {
  for (std::int64_t k = 0; k < columns; ++k) {
    T value;
    std::memcpy(&value, panel + (k * PackedMatrix::panel_rows + lane) * static_cast<std::int64_t>(sizeof(T)),
                sizeof(T));
    out[k] = convert(value);
  }
}

}  // namespace

bool PackedMatrix::packs(DType dtype, std::int64_t columns) {
  const PanelLayout layout = panel_layout(dtype);
  if (layout.value_bytes == 0 || columns < 1) return false;
  return layout.record_values == 0 || columns % layout.record_values == 0;
}

std::size_t PackedMatrix::packed_bytes(DType dtype, std::int64_t rows, std::int64_t columns) {
  if (!packs(dtype, columns) || rows < 0)
    fail(ErrorKind::invalid_argument, "NotPackable", "PackedMatrix", "no packed form for {} [{}, {}]", to_string(dtype),
         rows, columns);
  std::int64_t bytes = 0;
  // A panel's bytes are less than 128 a column.
  const bool fits =
      columns <= (std::int64_t{1} << 52) && rows <= (std::int64_t{1} << 58) &&
      !__builtin_mul_overflow((rows + panel_rows - 1) / panel_rows, panel_layout(dtype).panel_bytes(columns), &bytes);
  if (!fits)
    fail(ErrorKind::invalid_argument, "PackSize", "PackedMatrix", "{} [{}, {}] is more than memory can address",
         to_string(dtype), rows, columns);
  return static_cast<std::size_t>(bytes);
}

PackedMatrix PackedMatrix::pack(const Tensor& weight, ThreadPool& pool) {
  return pack(weight, pool, [](std::span<const std::byte>) {});
}

PackedMatrix PackedMatrix::pack(const Tensor& weight, ThreadPool& pool,
                                FunctionRef<void(std::span<const std::byte>)> packed) {
  if (weight.rank() != 2)
    fail(ErrorKind::invalid_argument, "NotPackable", "PackedMatrix", "a matrix is packed, not a tensor {}",
         dims_text(weight.dims()));
  PackedMatrix matrix;
  matrix.dtype_ = weight.dtype();
  matrix.rows_ = weight.dim(0);
  matrix.columns_ = weight.dim(1);
  const std::size_t size = packed_bytes(matrix.dtype_, matrix.rows_, matrix.columns_);
  matrix.panel_bytes_ = static_cast<std::size_t>(panel_layout(matrix.dtype_).panel_bytes(matrix.columns_));
  const std::shared_ptr<std::byte> data = allocate_packed(size);
  matrix.data_ = data;
  if (matrix.rows_ == 0) return matrix;

  const std::size_t row_bytes = weight.byte_size() / static_cast<std::size_t>(matrix.rows_);
  const std::size_t panel_source = row_bytes * panel_rows;
  // Ranges of a few MB: long enough for the callback to be rare, short enough to share.
  const auto grain = static_cast<std::int64_t>(std::max<std::size_t>(1, (std::size_t{2} << 20) / panel_source));
  std::mutex mutex;
  pool.parallel_for((matrix.panels() + grain - 1) / grain, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      const std::int64_t first = part * grain, last = std::min(first + grain, matrix.panels());
      for (std::int64_t p = first; p < last; ++p) {
        const std::span source = weight.bytes().subspan(static_cast<std::size_t>(p) * panel_source);
        const auto rows = static_cast<int>(std::min(panel_rows, matrix.rows_ - p * panel_rows));
        pack_panel(matrix.dtype_, reinterpret_cast<const std::uint8_t*>(source.data()), row_bytes, rows,
                   matrix.columns_,
                   reinterpret_cast<std::uint8_t*>(data.get()) + static_cast<std::size_t>(p) * matrix.panel_bytes_);
      }
      const std::size_t start = static_cast<std::size_t>(first) * panel_source;
      const std::size_t stop = std::min(static_cast<std::size_t>(last) * panel_source, weight.byte_size());
      const std::lock_guard lock(mutex);
      packed(weight.bytes().subspan(start, stop - start));
    }
  });
  return matrix;
}

void PackedMatrix::decode_row(std::int64_t row, float* out) const {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(panel(row / panel_rows).data());
  const auto lane = static_cast<int>(row % panel_rows);
  switch (dtype_) {
    case DType::f32: decode_float_lane<float>(bytes, lane, columns_, out, [](float x) { return x; }); break;
    case DType::f16: decode_float_lane<std::uint16_t>(bytes, lane, columns_, out, f16_to_f32); break;
    case DType::bf16: decode_float_lane<std::uint16_t>(bytes, lane, columns_, out, bf16_to_f32); break;
    case DType::fx16_16:
      decode_float_lane<std::int32_t>(bytes, lane, columns_, out,
                                      [](auto x) { return static_cast<float>(x) * 0x1p-16f; });
      break;
    case DType::fx8_8:
      decode_float_lane<std::int16_t>(bytes, lane, columns_, out,
                                      [](auto x) { return static_cast<float>(x) * 0x1p-8f; });
      break;
    default: with_code(dtype_, [&](auto code) { decode_lane<decltype(code)>(bytes, lane, columns_, out); }); break;
  }
}

}  // namespace weft::cpu
