// Scaled dot-product attention over a KV cache: softmax(scale q k^T) v, as the op Attention defines it.
//
// Keys are taken in chunks of 1024 from key 0. Each chunk gives a partial result against its own maximum, and partial
// results are joined in the order of the chunks, so a query's result depends on its own inputs and keys alone: not on
// the other rows, the batch or the threads. Nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/backend/cpu/kv_cache.h"
#include "weft/base/cpu_features.h"
#include "weft/base/thread_pool.h"

namespace weft::cpu {

// A value per head, row and key; a stride of 0 broadcasts.
template <class T>
struct ScoreOperand {
  const T* data = nullptr;  // null: none
  std::int64_t head_stride = 0, row_stride = 0, key_stride = 0;

  const T* at(std::int64_t head, std::int64_t row) const { return data + head * head_stride + row * row_stride; }
};

struct AttentionArgs {
  KvLayout layout;
  KvBlocks kv;
  std::int64_t heads = 1;  // a multiple of layout.kv_heads; head h reads kv head h / (heads / kv_heads)
  std::int64_t rows = 0;   // queries: the last of the keys, so that row i stands at key keys - rows + i
  std::int64_t keys = 0;   // rows of the cache that are there, those of this step included
  HeadRows q;
  MutableHeadRows output;
  float scale = 1;
  bool causal = true;
  std::int64_t window_keys = 0;     // most keys that a row sees, its own included; 0: all
  float softcap = 0;                // scores become softcap * tanh(score / softcap); 0: none
  const float* sink = nullptr;      // [heads] logits in the denominator alone; null: none
  ScoreOperand<float> bias;         // added to the scores
  ScoreOperand<std::uint8_t> mask;  // 0 hides the key
  CpuLevel level = CpuLevel::portable;
  std::span<std::byte> scratch;  // of attention_scratch_bytes, aligned to 64
};

// Enough for every call with this layout of up to so many rows and keys. Grows with both.
std::int64_t attention_scratch_bytes(const KvLayout& layout, std::int64_t heads, std::int64_t rows, std::int64_t keys,
                                     int threads);

// Rows that see no key become zeros, a sink or not.
void attention(const AttentionArgs& args, ThreadPool& pool);

// Puts plain keys and values [keys, ...] into storage for attention without a cache.
void pack_keys_and_values(const KvLayout& layout, MutableKvBlocks kv, std::int64_t keys, const HeadRows& k_rows,
                          const HeadRows& v_rows, CpuLevel level, ThreadPool& pool);

}  // namespace weft::cpu
