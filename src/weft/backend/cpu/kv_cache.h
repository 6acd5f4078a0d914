// How the keys and values of one attention layer lie in memory. The caller owns the storage, which grows by nothing but
// appending: what lies behind the last row is never read as a number that counts, so it may be untouched pages.
//
// 64 keys make a block: of each head their keys, then of each head their values. Blocks lie `stride` bytes apart, so
// that layers can take turns in one piece of memory of which the used part is its beginning.
//
// Keys of a head in a block: panels of 16 keys, [panel][dim][16], so that one step over the dims serves 16 scores.
// Values of a head: [key][width], the width rounded up to 16. q8_0 has one f16 scale per 32 values of a key's head row:
// a key panel is, for each 32 dims, [8][16 keys][4 dims] codes with an offset of 128 and then 16 scales; values are
// [key][width to 32] codes and after those of the block [key][width / 32] scales. The codes are those of q8_0
// elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/cpu_features.h"
#include "weft/base/dtype.h"

namespace weft::cpu {

inline constexpr std::int64_t panel_keys = 16;
inline constexpr std::int64_t block_keys = 64;
inline constexpr std::int64_t scale_block = 32;  // values that share a scale in q8_0

struct KvLayout {
  std::int64_t kv_heads = 1, head_dim = 1, v_head_dim = 1;
  DType dtype = DType::f16;  // f32, f16, bf16 or q8_0
};

// Block b is at data + b * stride; a stride is block_bytes or more, a multiple of 64.
template <class Byte>
struct KvBlocksOf {
  Byte* data = nullptr;
  std::int64_t stride = 0;

  operator KvBlocksOf<const Byte>() const { return {data, stride}; }
};
using KvBlocks = KvBlocksOf<const std::byte>;
using MutableKvBlocks = KvBlocksOf<std::byte>;

// Rows of heads: element d of head h of row r is data[r * row_stride + h * head_stride + d].
template <class T>
struct HeadRowsOf {
  T* data = nullptr;
  std::int64_t row_stride = 0, head_stride = 0;

  T* at(std::int64_t row, std::int64_t head) const { return data + row * row_stride + head * head_stride; }
};
using HeadRows = HeadRowsOf<const float>;
using MutableHeadRows = HeadRowsOf<float>;

// Whether keys and values can be stored as this dtype.
bool is_kv_dtype(DType dtype);

// Sizes of the pieces, in bytes unless said.
std::int64_t value_columns(const KvLayout& layout);       // floats of a row of values with its padding
std::int64_t scale_blocks(std::int64_t width);            // scales of a q8_0 row
std::int64_t key_panel_bytes(const KvLayout& layout);     // 16 keys of one head
std::int64_t value_row_bytes(const KvLayout& layout);     // codes or floats of one key of one head
std::int64_t value_scale_offset(const KvLayout& layout);  // q8_0: where a head's scales begin in its part of a block
std::int64_t key_offset(const KvLayout& layout, std::int64_t head);    // of a head's keys in a block
std::int64_t value_offset(const KvLayout& layout, std::int64_t head);  // of a head's values in a block
std::int64_t block_bytes(const KvLayout& layout);  // UnsupportedDType for a dtype that is none of the four
// Blocks one after the other, room for so many keys.
std::int64_t storage_bytes(const KvLayout& layout, std::int64_t keys);

// Writes rows [past, past + rows) of every head. Different threads may write different heads of one storage.
void append(const KvLayout& layout, MutableKvBlocks kv, std::int64_t past, std::int64_t rows, const HeadRows& k_rows,
            const HeadRows& v_rows, CpuLevel level);
// The same for heads [first_head, last_head) alone.
void append_heads(const KvLayout& layout, MutableKvBlocks kv, std::int64_t past, std::int64_t rows,
                  const HeadRows& k_rows, const HeadRows& v_rows, std::int64_t first_head, std::int64_t last_head,
                  CpuLevel level);

// Zeros for rows [first, 64) of one block.
void clear_rows(const KvLayout& layout, std::byte* block, std::int64_t first);

// What was stored, as f32.
void read_keys(const KvLayout& layout, KvBlocks kv, std::int64_t first, std::int64_t rows, const MutableHeadRows& out);
void read_values(const KvLayout& layout, KvBlocks kv, std::int64_t first, std::int64_t rows,
                 const MutableHeadRows& out);

}  // namespace weft::cpu
