#include "weft/backend/cpu/kv_cache.h"

#include <algorithm>
#include <cstring>

#include "weft/backend/cpu/vector_kernels.h"
#include "weft/base/fail.h"
#include "weft/base/half.h"
#include "weft/base/round_up.h"

namespace weft::cpu {
namespace {

constexpr std::int64_t scale_bytes = 2;
constexpr std::int64_t q8_block_bytes = scale_bytes + scale_block;  // as in a file: scale, codes
constexpr std::int64_t key_codes_bytes = panel_keys * scale_block;  // one block of a panel
constexpr std::int64_t key_block_bytes = key_codes_bytes + panel_keys * scale_bytes;
constexpr std::uint8_t code_offset = 128;

std::int64_t element_bytes(DType dtype) { return dtype == DType::f32 ? 4 : 2; }

// The values as the dtype's bytes, in pieces of 32: one piece is converted and then scattered.
void convert(const VectorKernels& kernels, DType dtype, const float* values, std::int64_t count, void* out) {
  switch (dtype) {
    case DType::f16: return kernels.f32_to_f16(values, static_cast<std::uint16_t*>(out), count);
    case DType::bf16: return kernels.f32_to_bf16(values, static_cast<std::uint16_t*>(out), count);
    default: std::memcpy(out, values, static_cast<std::size_t>(count) * sizeof(float));
  }
}

// A block of q8_0, of which the last values may be missing.
void quantize_block(const VectorKernels& kernels, const float* values, std::int64_t count, std::byte* block) {
  if (count == scale_block) return kernels.f32_to_q8_0(values, block, 1);
  float padded[scale_block] = {};
  std::copy_n(values, count, padded);
  kernels.f32_to_q8_0(padded, block, 1);
}

template <class T>
void scatter_key(const VectorKernels& kernels, DType dtype, const float* key, std::int64_t dim, std::byte* panel,
                 std::int64_t lane) {
  T piece[64];
  T* out = reinterpret_cast<T*>(panel) + lane;
  for (std::int64_t d = 0; d < dim; d += 64) {
    const std::int64_t count = std::min<std::int64_t>(64, dim - d);
    convert(kernels, dtype, key + d, count, piece);
    for (std::int64_t i = 0; i < count; ++i) out[(d + i) * panel_keys] = piece[i];
  }
}

void scatter_q8_key(const VectorKernels& kernels, const float* key, std::int64_t dim, std::byte* panel,
                    std::int64_t lane) {
  std::byte block[q8_block_bytes];
  for (std::int64_t d = 0; d < dim; d += scale_block, panel += key_block_bytes) {
    quantize_block(kernels, key + d, std::min(scale_block, dim - d), block);
    std::memcpy(panel + key_codes_bytes + lane * scale_bytes, block, scale_bytes);
    for (std::int64_t group = 0; group < scale_block / 4; ++group) {
      std::uint8_t codes[4];
      std::memcpy(codes, block + scale_bytes + group * 4, 4);
      for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(code ^ code_offset);
      std::memcpy(panel + (group * panel_keys + lane) * 4, codes, 4);
    }
  }
}

void store_value_row(const KvLayout& layout, const VectorKernels& kernels, const float* value, std::byte* row) {
  convert(kernels, layout.dtype, value, layout.v_head_dim, row);
  const std::int64_t used = layout.v_head_dim * element_bytes(layout.dtype);
  std::memset(row + used, 0, static_cast<std::size_t>(value_row_bytes(layout) - used));
}

void store_q8_value_row(const KvLayout& layout, const VectorKernels& kernels, const float* value, std::byte* codes,
                        std::byte* scales) {
  std::byte block[q8_block_bytes];
  for (std::int64_t d = 0; d < layout.v_head_dim; d += scale_block, scales += scale_bytes) {
    quantize_block(kernels, value + d, std::min(scale_block, layout.v_head_dim - d), block);
    std::memcpy(scales, block, scale_bytes);
    std::memcpy(codes + d, block + scale_bytes, scale_block);
  }
}

float stored(const std::byte* at, DType dtype) {
  if (dtype == DType::f32) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return dtype == DType::bf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
}

}  // namespace

bool is_kv_dtype(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::q8_0;
}

std::int64_t scale_blocks(std::int64_t width) { return (width + scale_block - 1) / scale_block; }

std::int64_t value_columns(const KvLayout& layout) {
  return round_up<std::int64_t>(layout.v_head_dim, layout.dtype == DType::q8_0 ? scale_block : panel_keys);
}

std::int64_t key_panel_bytes(const KvLayout& layout) {
  if (layout.dtype == DType::q8_0) return scale_blocks(layout.head_dim) * key_block_bytes;
  return layout.head_dim * panel_keys * element_bytes(layout.dtype);
}

std::int64_t value_row_bytes(const KvLayout& layout) {
  return value_columns(layout) * (layout.dtype == DType::q8_0 ? 1 : element_bytes(layout.dtype));
}

std::int64_t value_scale_offset(const KvLayout& layout) { return block_keys * value_row_bytes(layout); }

std::int64_t key_offset(const KvLayout& layout, std::int64_t head) {
  return head * (block_keys / panel_keys) * key_panel_bytes(layout);
}

std::int64_t value_offset(const KvLayout& layout, std::int64_t head) {
  const std::int64_t scales =
      layout.dtype == DType::q8_0 ? block_keys * scale_blocks(layout.v_head_dim) * scale_bytes : 0;
  return key_offset(layout, layout.kv_heads) + head * (value_scale_offset(layout) + scales);
}

std::int64_t block_bytes(const KvLayout& layout) {
  if (!is_kv_dtype(layout.dtype))
    fail(ErrorKind::dtype_mismatch, "UnsupportedDType", "",
         "keys and values cannot be stored as {}: expected f32, f16, bf16 or q8_0", to_string(layout.dtype));
  return value_offset(layout, layout.kv_heads);
}

std::int64_t storage_bytes(const KvLayout& layout, std::int64_t keys) {
  return (keys + block_keys - 1) / block_keys * block_bytes(layout);
}

void append_heads(const KvLayout& layout, MutableKvBlocks kv, std::int64_t past, std::int64_t rows,
                  const HeadRows& k_rows, const HeadRows& v_rows, std::int64_t first_head, std::int64_t last_head,
                  CpuLevel level) {
  const VectorKernels& kernels = vector_kernels(level);
  const std::int64_t panel_bytes = key_panel_bytes(layout), row_bytes = value_row_bytes(layout);
  const std::int64_t row_scales = scale_blocks(layout.v_head_dim) * scale_bytes;
  // One key touches every line of its panel in each head: all of them are asked for before the first is needed.
  if (rows == 1)
    for (std::int64_t head = first_head; head < last_head; ++head) {
      const std::byte* panel = kv.data + past / block_keys * kv.stride + key_offset(layout, head) +
                               past % block_keys / panel_keys * panel_bytes;
      for (std::int64_t line = 0; line < panel_bytes; line += 64) __builtin_prefetch(panel + line, 1);
    }
  for (std::int64_t head = first_head; head < last_head; ++head)
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = (past + row) % block_keys, lane = at % panel_keys;
      std::byte* block = kv.data + (past + row) / block_keys * kv.stride;
      const float *key = k_rows.at(row, head), *value = v_rows.at(row, head);
      std::byte* panel = block + key_offset(layout, head) + at / panel_keys * panel_bytes;
      switch (layout.dtype) {
        case DType::f32: scatter_key<float>(kernels, layout.dtype, key, layout.head_dim, panel, lane); break;
        case DType::q8_0: scatter_q8_key(kernels, key, layout.head_dim, panel, lane); break;
        default: scatter_key<std::uint16_t>(kernels, layout.dtype, key, layout.head_dim, panel, lane);
      }
      std::byte* values = block + value_offset(layout, head);
      if (layout.dtype == DType::q8_0)
        store_q8_value_row(layout, kernels, value, values + at * row_bytes,
                           values + value_scale_offset(layout) + at * row_scales);
      else
        store_value_row(layout, kernels, value, values + at * row_bytes);
    }
}

void append(const KvLayout& layout, MutableKvBlocks kv, std::int64_t past, std::int64_t rows, const HeadRows& k_rows,
            const HeadRows& v_rows, CpuLevel level) {
  append_heads(layout, kv, past, rows, k_rows, v_rows, 0, layout.kv_heads, level);
}

void clear_rows(const KvLayout& layout, std::byte* block, std::int64_t first) {
  const bool q8 = layout.dtype == DType::q8_0;
  const std::int64_t unit = q8 ? 4 : element_bytes(layout.dtype);  // bytes of a lane
  for (std::int64_t head = 0; head < layout.kv_heads; ++head) {
    for (std::int64_t row = first; row < block_keys; ++row) {
      std::byte* panel = block + key_offset(layout, head) + row / panel_keys * key_panel_bytes(layout);
      const std::int64_t lane = row % panel_keys;
      if (!q8) {
        for (std::int64_t d = 0; d < layout.head_dim; ++d)
          std::memset(panel + (d * panel_keys + lane) * unit, 0, static_cast<std::size_t>(unit));
        continue;
      }
      for (std::int64_t b = 0; b < scale_blocks(layout.head_dim); ++b, panel += key_block_bytes) {
        for (std::int64_t group = 0; group < scale_block / 4; ++group)
          std::memset(panel + (group * panel_keys + lane) * unit, 0, static_cast<std::size_t>(unit));
        std::memset(panel + key_codes_bytes + lane * scale_bytes, 0, scale_bytes);
      }
    }
    std::byte* values = block + value_offset(layout, head);
    const std::int64_t row_bytes = value_row_bytes(layout), row_scales = scale_blocks(layout.v_head_dim) * scale_bytes;
    std::memset(values + first * row_bytes, 0, static_cast<std::size_t>((block_keys - first) * row_bytes));
    if (q8)
      std::memset(values + value_scale_offset(layout) + first * row_scales, 0,
                  static_cast<std::size_t>((block_keys - first) * row_scales));
  }
}

void read_keys(const KvLayout& layout, KvBlocks kv, std::int64_t first, std::int64_t rows, const MutableHeadRows& out) {
  for (std::int64_t head = 0; head < layout.kv_heads; ++head)
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = (first + row) % block_keys, lane = at % panel_keys;
      const std::byte* panel = kv.data + (first + row) / block_keys * kv.stride + key_offset(layout, head) +
                               at / panel_keys * key_panel_bytes(layout);
      float* key = out.at(row, head);
      for (std::int64_t d = 0; d < layout.head_dim; ++d) {
        if (layout.dtype != DType::q8_0) {
          key[d] = stored(panel + (d * panel_keys + lane) * element_bytes(layout.dtype), layout.dtype);
          continue;
        }
        const std::byte* block = panel + d / scale_block * key_block_bytes;
        const auto code = std::to_integer<int>(block[(d % scale_block / 4 * panel_keys + lane) * 4 + d % 4]);
        key[d] =
            static_cast<float>(code - code_offset) * stored(block + key_codes_bytes + lane * scale_bytes, DType::f16);
      }
    }
}

void read_values(const KvLayout& layout, KvBlocks kv, std::int64_t first, std::int64_t rows,
                 const MutableHeadRows& out) {
  const std::int64_t row_scales = scale_blocks(layout.v_head_dim) * scale_bytes;
  for (std::int64_t head = 0; head < layout.kv_heads; ++head)
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t in_block = (first + row) % block_keys;
      const std::byte* base = kv.data + (first + row) / block_keys * kv.stride + value_offset(layout, head);
      const std::byte* at = base + in_block * value_row_bytes(layout);
      const std::byte* scales = base + value_scale_offset(layout) + in_block * row_scales;
      float* value = out.at(row, head);
      for (std::int64_t d = 0; d < layout.v_head_dim; ++d) {
        if (layout.dtype == DType::q8_0)
          value[d] = static_cast<float>(std::to_integer<std::int8_t>(at[d])) *
                     stored(scales + d / scale_block * scale_bytes, DType::f16);
        else
          value[d] = stored(at + d * element_bytes(layout.dtype), layout.dtype);
      }
    }
}

}  // namespace weft::cpu
