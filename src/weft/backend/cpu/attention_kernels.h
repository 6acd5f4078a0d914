// The inner loops of attention over one chunk of keys, one table for each kernel level. Internal to this room. Rows
// are query vectors that read the same key head. Scores and weights of row r are at [r * chunk_keys].
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/backend/cpu/kv_cache.h"
#include "weft/base/cpu_features.h"

namespace weft::cpu {

inline constexpr std::int64_t chunk_keys = 1024;
inline constexpr std::int64_t block_panels = block_keys / panel_keys;
static_assert(chunk_keys % block_keys == 0);

// Query vectors in int8: 32 values share a scale, and `sums` holds -128 times the sum of their codes, which takes the
// offset of the key codes away.
struct QuantizedQueries {
  std::int8_t* codes = nullptr;  // [rows][blocks * 32]
  float* scales = nullptr;       // [rows][blocks]
  std::int32_t* sums = nullptr;  // [rows][blocks]
  std::int64_t blocks = 0;
};

// What turns the scores of one row into weights.
struct WeighOptions {
  std::int64_t first = 0, last = 0;                  // keys of the chunk that have scores, multiples of 16
  std::int64_t visible_first = 0, visible_last = 0;  // those of them that the row sees
  float scale = 1, softcap = 0;
  const float* bias = nullptr;  // of the chunk's first key
  std::int64_t bias_stride = 0;
  const std::uint8_t* mask = nullptr;
  std::int64_t mask_stride = 0;
};

// The softmax of a row over some keys: weights are e^(z - highest), `sum` is theirs.
struct PartialSoftmax {
  float highest, sum;
};

// One row of queries is read against memory, so its loops take blocks side by side, four streams that the hardware's
// prefetchers follow, and ask this far ahead in each.
inline constexpr std::int64_t block_streams = 4;
inline constexpr std::int64_t ahead_bytes = 1024;

// The values of one head in a chunk: key k is row k % 64 of block k / 64.
struct ValueBlocks {
  KvBlocks blocks;
  std::int64_t row_bytes = 0;

  const std::byte* row(std::int64_t key) const {
    return blocks.data + key / block_keys * blocks.stride + key % block_keys * row_bytes;
  }
};

// scores[r][16 p ...] = q[r] . key, for panels [first, last) of a chunk whose keys of this head are in `keys`.
using ScoresFunction = void(const float* const* q, std::int64_t rows, std::int64_t dim, KvBlocks keys,
                            std::int64_t first, std::int64_t last, float* scores);
using Int8ScoresFunction = void(const QuantizedQueries& q, std::int64_t rows, KvBlocks keys, std::int64_t first,
                                std::int64_t last, float* scores);
// out[r][d] = sum over keys [first, last) of weights[r][key] * value[key][d], for `columns` (a multiple of 16) columns,
// block_streams blocks at a time, in the order of key % 64 and then of the blocks. `scales` [chunk_keys][columns / 32]
// belongs to q8_0.
using WeightedSumFunction = void(const float* weights, std::int64_t rows, const ValueBlocks& values,
                                 const float* scales, std::int64_t first, std::int64_t last, std::int64_t columns,
                                 float* out);

struct AttentionKernels {
  ScoresFunction *scores_f32, *scores_f16, *scores_bf16;
  Int8ScoresFunction* scores_q8_0;
  WeightedSumFunction *sum_f32, *sum_f16, *sum_bf16, *sum_q8_0;
  void (*quantize_row)(const float* q, std::int64_t dim, std::int8_t* codes, float* scales, std::int32_t* sums);
  PartialSoftmax (*weigh)(float* scores, const WeighOptions& options);
  // total = total * left + part * right
  void (*join)(float* total, float left, const float* part, float right, std::int64_t count);
  void (*divide)(const float* total, float divisor, float* out, std::int64_t count);
  void (*widen_scales)(const std::uint16_t* halves, float* out, std::int64_t count);
};

const AttentionKernels& attention_kernels(CpuLevel level);

// The loops over int8 that need instructions Highway lacks. Each for its level, all with the same sums.
Int8ScoresFunction int8_scores_avx2, int8_scores_avx_vnni, int8_scores_avx512_vnni;

}  // namespace weft::cpu
