#include "weft/backend/cpu/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "weft/backend/cpu/attention_kernels.h"
#include "weft/base/round_up.h"

namespace weft::cpu {
namespace {

constexpr std::int64_t tile_rows = 48;  // query vectors of one task
constexpr std::int64_t alignment = 64;
// Room for partial results when several rows are cut by chunks, in bytes; one row is always cut.
constexpr std::int64_t partial_budget = std::int64_t{8} << 20;
// Multiply-adds that are worth another thread.
constexpr std::int64_t worthwhile = 1 << 18;
// Query vectors that are read against memory: more of them find keys and values in a cache.
constexpr std::int64_t few_rows = 8;
constexpr float nothing = -std::numeric_limits<float>::infinity();

std::int64_t chunks_of(std::int64_t keys) { return (keys + chunk_keys - 1) / chunk_keys; }

// Takes pieces of a buffer in turn; with no buffer it only adds up what they take.
class Pieces {
 public:
  explicit Pieces(std::byte* base) : base_(base) {}
  template <class T>
  T* take(std::int64_t count) {
    std::byte* at = base_ == nullptr ? nullptr : base_ + used_;
    used_ += round_up<std::int64_t>(count * static_cast<std::int64_t>(sizeof(T)), alignment);
    return reinterpret_cast<T*>(at);
  }
  std::int64_t used() const { return used_; }

 private:
  std::byte* base_;
  std::int64_t used_ = 0;
};

// What one worker needs for a tile.
struct TileScratch {
  float *scores, *part, *total, *one, *value_scales;
  PartialSoftmax *parts, *totals;
  QuantizedQueries q;

  TileScratch(Pieces& pieces, const KvLayout& layout) {
    const std::int64_t columns = value_columns(layout);
    scores = pieces.take<float>(tile_rows * chunk_keys);
    part = pieces.take<float>(tile_rows * columns);
    total = pieces.take<float>(tile_rows * columns);
    one = pieces.take<float>(columns);
    parts = pieces.take<PartialSoftmax>(tile_rows);
    totals = pieces.take<PartialSoftmax>(tile_rows);
    value_scales = nullptr;
    if (layout.dtype != DType::q8_0) return;
    q.blocks = scale_blocks(layout.head_dim);
    q.codes = pieces.take<std::int8_t>(tile_rows * q.blocks * scale_block);
    q.scales = pieces.take<float>(tile_rows * q.blocks);
    q.sums = pieces.take<std::int32_t>(tile_rows * q.blocks);
    value_scales = pieces.take<float>(chunk_keys * scale_blocks(layout.v_head_dim));
  }
};

std::int64_t tile_scratch_bytes(const KvLayout& layout) {
  Pieces pieces(nullptr);
  TileScratch(pieces, layout);
  return pieces.used();
}

// Partial results of `rows` rows of all heads, and a count of finished chunks for each key head.
std::int64_t partial_bytes(const KvLayout& layout, std::int64_t heads, std::int64_t rows, std::int64_t keys) {
  const std::int64_t results = chunks_of(keys) * rows * heads;
  return round_up<std::int64_t>(results * value_columns(layout) * 4, alignment) +
         round_up<std::int64_t>(results * 8, alignment) + round_up<std::int64_t>(layout.kv_heads * 4, alignment);
}

// How two partial results are scaled before they are added.
struct Joint {
  float left = 1, right = 0;
};

Joint join(PartialSoftmax& total, const PartialSoftmax& part) {
  const float highest = std::isnan(part.highest) ? part.highest : std::max(total.highest, part.highest);
  const Joint joint{total.highest == nothing ? 0.f : std::exp(total.highest - highest),
                    std::exp(part.highest - highest)};
  total = {highest, total.sum * joint.left + part.sum * joint.right};
  return joint;
}

class Attention {
 public:
  explicit Attention(const AttentionArgs& args)
      : a_(args),
        kernels_(attention_kernels(args.level)),
        group_(args.heads / args.layout.kv_heads),
        columns_(value_columns(args.layout)),
        row_count_(args.rows * group_) {}

  void run(ThreadPool& pool) {
    const std::int64_t kv_heads = a_.layout.kv_heads, tiles = (row_count_ + tile_rows - 1) / tile_rows;
    const Range all = keys_of(0, row_count_);
    const std::int64_t chunks = all.empty() ? 0 : chunks_of(all.last) - all.first / chunk_keys;
    const std::int64_t work = row_count_ * kv_heads * std::max<std::int64_t>(all.last - all.first, 1) *
                              (a_.layout.head_dim + a_.layout.v_head_dim);
    const std::int64_t threads = std::clamp<std::int64_t>(work / worthwhile, 1, pool.size());
    // Cutting by chunks never changes a result, it only makes more tasks of few rows.
    const bool fits = a_.rows == 1 || partial_bytes(a_.layout, a_.heads, a_.rows, a_.keys) <= partial_budget;
    const bool cut = chunks > 1 && threads > 1 && tiles == 1 && fits && kv_heads < 8 * threads;
    Pieces pieces(a_.scratch.data());
    std::byte* workers = pieces.take<std::byte>(pool.size() * tile_scratch_bytes(a_.layout));
    first_chunk_ = all.first / chunk_keys;
    chunks_ = chunks;
    if (cut) {
      partial_results_ = pieces.take<float>(chunks * kv_heads * row_count_ * columns_);
      partial_softmax_ = pieces.take<PartialSoftmax>(chunks * kv_heads * row_count_);
      finished_ = pieces.take<std::int32_t>(kv_heads);
      std::fill_n(finished_, kv_heads, 0);
    }
    if (tiles == 1) {
      // Few rows are read against memory: neighboring heads by one thread, since each goes on where the last one ended.
      const std::int64_t tasks = cut ? kv_heads * chunks : kv_heads;
      pool.parallel_for(tasks, (tasks + threads - 1) / threads, [&](std::int64_t begin, std::int64_t end) {
        TileScratch scratch = scratch_of(workers, ThreadPool::thread_index());
        for (std::int64_t task = begin; task < end; ++task)
          cut ? run_chunk(scratch, task % kv_heads, task / kv_heads) : run_tile(scratch, task, 0);
      });
      return;
    }
    // The last tiles see the most keys: they go first.
    std::atomic<std::int64_t> next{0};
    pool.parallel_for(threads, 1, [&](std::int64_t worker, std::int64_t) {
      TileScratch scratch = scratch_of(workers, worker);
      for (std::int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < kv_heads * tiles;)
        run_tile(scratch, task % kv_heads, tiles - 1 - task / kv_heads);
    });
  }

 private:
  struct Range {
    std::int64_t first = 0, last = 0;
    bool empty() const { return first >= last; }
  };

  TileScratch scratch_of(std::byte* workers, std::int64_t worker) const {
    Pieces own(workers + worker * tile_scratch_bytes(a_.layout));
    return TileScratch(own, a_.layout);
  }

  // Row r of a key head is query r / group of its head r % group.
  std::int64_t query(std::int64_t row) const { return row / group_; }
  std::int64_t head(std::int64_t kv_head, std::int64_t row) const { return kv_head * group_ + row % group_; }

  // Keys that a query may see, masks aside.
  Range visible(std::int64_t i) const {
    const std::int64_t own = a_.keys - a_.rows + i;
    Range range{0, a_.keys};
    if (a_.window_keys > 0) {
      const std::int64_t reach = std::min(a_.window_keys, a_.keys + a_.rows);
      range = {std::max<std::int64_t>(0, own - reach + 1), std::min(a_.keys, own + reach)};
    }
    if (a_.causal) range.last = std::min(a_.keys, own + 1);
    range.last = std::max<std::int64_t>(range.last, 0);
    range.first = std::min(range.first, range.last);
    return range;
  }
  // Both ends move on with the query.
  Range keys_of(std::int64_t first_row, std::int64_t last_row) const {
    if (first_row >= last_row) return {};
    return {visible(query(first_row)).first, visible(query(last_row - 1)).last};
  }

  struct Tile {
    std::int64_t kv_head, first_row, rows;
    Range keys;
    const float* q[tile_rows];
  };
  Tile tile(TileScratch& scratch, std::int64_t kv_head, std::int64_t index) const {
    Tile t{kv_head, index * tile_rows, std::min(tile_rows, row_count_ - index * tile_rows), {}, {}};
    t.keys = keys_of(t.first_row, t.first_row + t.rows);
    for (std::int64_t r = 0; r < t.rows; ++r) {
      const std::int64_t row = t.first_row + r;
      t.q[r] = a_.q.at(query(row), head(kv_head, row));
      const QuantizedQueries& q = scratch.q;
      if (q.codes != nullptr)
        kernels_.quantize_row(t.q[r], a_.layout.head_dim, q.codes + r * q.blocks * scale_block, q.scales + r * q.blocks,
                              q.sums + r * q.blocks);
    }
    return t;
  }

  // The partial result of a tile over one chunk. `results` holds the tile's rows one after the other.
  void add_up_chunk(TileScratch& scratch, const Tile& t, std::int64_t chunk, float* results,
                    PartialSoftmax* parts) const {
    const std::int64_t base = chunk * chunk_keys;
    const Range keys{std::max<std::int64_t>(t.keys.first - base, 0), std::min(t.keys.last - base, chunk_keys)};
    const std::int64_t first = keys.first / panel_keys, last = (keys.last + panel_keys - 1) / panel_keys;
    const KvBlocks k = part_of(chunk, key_offset(a_.layout, t.kv_head));
    switch (a_.layout.dtype) {
      case DType::f32: kernels_.scores_f32(t.q, t.rows, a_.layout.head_dim, k, first, last, scratch.scores); break;
      case DType::f16: kernels_.scores_f16(t.q, t.rows, a_.layout.head_dim, k, first, last, scratch.scores); break;
      case DType::bf16: kernels_.scores_bf16(t.q, t.rows, a_.layout.head_dim, k, first, last, scratch.scores); break;
      default: kernels_.scores_q8_0(scratch.q, t.rows, k, first, last, scratch.scores);
    }
    const ValueBlocks v{part_of(chunk, value_offset(a_.layout, t.kv_head)), value_row_bytes(a_.layout)};
    if (t.rows <= few_rows) ask_for(v, keys);
    WeighOptions options;
    options.first = first * panel_keys;
    options.last = last * panel_keys;
    options.scale = a_.scale;
    options.softcap = a_.softcap;
    options.bias_stride = a_.bias.key_stride;
    options.mask_stride = a_.mask.key_stride;
    for (std::int64_t r = 0; r < t.rows; ++r) {
      const std::int64_t row = t.first_row + r;
      const Range seen = visible(query(row));
      options.visible_first = std::max<std::int64_t>(seen.first - base, 0);
      options.visible_last = std::min(seen.last - base, chunk_keys);
      if (a_.bias.data != nullptr)
        options.bias = a_.bias.at(head(t.kv_head, row), query(row)) + base * a_.bias.key_stride;
      if (a_.mask.data != nullptr)
        options.mask = a_.mask.at(head(t.kv_head, row), query(row)) + base * a_.mask.key_stride;
      parts[r] = kernels_.weigh(scratch.scores + r * chunk_keys, options);
    }
    sum_values(scratch, t, v, keys, results);
  }

  // What a chunk's blocks hold from `offset` on.
  KvBlocks part_of(std::int64_t chunk, std::int64_t offset) const {
    return {a_.kv.data + chunk * (chunk_keys / block_keys) * a_.kv.stride + offset, a_.kv.stride};
  }

  // The lines that the streams of values begin with, all together, while the scores become weights.
  static void ask_for(const ValueBlocks& v, Range keys) {
    for (std::int64_t block = keys.first / block_keys; block * block_keys < keys.last; ++block)
      for (std::int64_t line = 0; line < ahead_bytes; line += 64)
        __builtin_prefetch(v.blocks.data + block * v.blocks.stride + line);
  }

  void sum_values(TileScratch& scratch, const Tile& t, const ValueBlocks& v, Range keys, float* results) const {
    const std::int64_t blocks = scale_blocks(a_.layout.v_head_dim);
    if (a_.layout.dtype == DType::q8_0)
      for (std::int64_t key = keys.first; key < keys.last;) {
        const std::int64_t block = key / block_keys, end = std::min(keys.last, (block + 1) * block_keys);
        const auto* halves = reinterpret_cast<const std::uint16_t*>(v.blocks.data + block * v.blocks.stride +
                                                                    value_scale_offset(a_.layout));
        kernels_.widen_scales(halves + key % block_keys * blocks, scratch.value_scales + key * blocks,
                              (end - key) * blocks);
        key = end;
      }
    WeightedSumFunction* sum = kernels_.sum_q8_0;
    if (a_.layout.dtype == DType::f32) sum = kernels_.sum_f32;
    if (a_.layout.dtype == DType::f16) sum = kernels_.sum_f16;
    if (a_.layout.dtype == DType::bf16) sum = kernels_.sum_bf16;
    const float *w = scratch.scores, *scales = scratch.value_scales;
    sum(w, t.rows, v, scales, keys.first, keys.last, columns_, results);
    for (std::int64_t r = 0; r < t.rows; ++r) {
      float* result = results + r * columns_;
      if (std::none_of(result, result + columns_, [](float x) { return std::isnan(x); })) continue;
      // 0 times an infinity: a hidden key must not reach the sum.
      const float* weights = w + r * chunk_keys;
      std::fill_n(result, columns_, 0.f);
      const float unit = 1;
      for (std::int64_t key = keys.first; key < keys.last; ++key) {
        if (weights[key] == 0) continue;
        const ValueBlocks one{{v.row(key), 0}, v.row_bytes};
        sum(&unit, 1, one, scales == nullptr ? nullptr : scales + key * blocks, 0, 1, columns_, scratch.one);
        kernels_.join(result, 1, scratch.one, weights[key], columns_);
      }
    }
  }

  void run_tile(TileScratch& scratch, std::int64_t kv_head, std::int64_t index) const {
    const Tile t = tile(scratch, kv_head, index);
    std::fill_n(scratch.total, t.rows * columns_, 0.f);
    std::fill_n(scratch.totals, t.rows, PartialSoftmax{nothing, 0});
    if (!t.keys.empty())
      for (std::int64_t chunk = t.keys.first / chunk_keys; chunk < chunks_of(t.keys.last); ++chunk) {
        add_up_chunk(scratch, t, chunk, scratch.part, scratch.parts);
        for (std::int64_t r = 0; r < t.rows; ++r)
          add_part(scratch.totals[r], scratch.total + r * columns_, scratch.parts[r], scratch.part + r * columns_);
      }
    for (std::int64_t r = 0; r < t.rows; ++r)
      finish(kv_head, t.first_row + r, scratch.totals[r], scratch.total + r * columns_);
  }

  void run_chunk(TileScratch& scratch, std::int64_t kv_head, std::int64_t index) const {
    const std::int64_t place = (kv_head * chunks_ + index) * row_count_;
    const Tile t = tile(scratch, kv_head, 0);
    add_up_chunk(scratch, t, first_chunk_ + index, partial_results_ + place * columns_, partial_softmax_ + place);
    // Whoever finishes a head's last chunk joins them all.
    if (std::atomic_ref(finished_[kv_head]).fetch_add(1, std::memory_order_acq_rel) + 1 != chunks_) return;
    for (std::int64_t r = 0; r < t.rows; ++r) {
      PartialSoftmax total{nothing, 0};
      float* result = scratch.total;
      std::fill_n(result, columns_, 0.f);
      for (std::int64_t c = 0; c < chunks_; ++c) {
        const std::int64_t at = (kv_head * chunks_ + c) * row_count_ + r;
        add_part(total, result, partial_softmax_[at], partial_results_ + at * columns_);
      }
      finish(kv_head, r, total, result);
    }
  }

  void add_part(PartialSoftmax& total, float* result, const PartialSoftmax& part, const float* part_result) const {
    if (part.highest == nothing) return;  // the chunk shows the row nothing
    const Joint joint = join(total, part);
    kernels_.join(result, joint.left, part_result, joint.right, columns_);
  }

  void finish(std::int64_t kv_head, std::int64_t row, PartialSoftmax total, float* result) const {
    const std::int64_t h = head(kv_head, row);
    if (a_.sink != nullptr && a_.sink[h] != nothing) {
      const Joint joint = join(total, {a_.sink[h], 1});
      for (std::int64_t c = 0; c < columns_; ++c) result[c] *= joint.left;
    }
    kernels_.divide(result, total.sum == 0 ? 1.f : total.sum, a_.output.at(query(row), h), a_.layout.v_head_dim);
  }

  const AttentionArgs& a_;
  const AttentionKernels& kernels_;
  std::int64_t group_, columns_, row_count_;
  std::int64_t first_chunk_ = 0, chunks_ = 0;
  float* partial_results_ = nullptr;
  PartialSoftmax* partial_softmax_ = nullptr;
  std::int32_t* finished_ = nullptr;
};

}  // namespace

std::int64_t attention_scratch_bytes(const KvLayout& layout, std::int64_t heads, std::int64_t rows, std::int64_t keys,
                                     int threads) {
  const std::int64_t several = std::min(partial_budget, partial_bytes(layout, heads, rows, keys));
  return round_up<std::int64_t>(threads * tile_scratch_bytes(layout), alignment) +
         std::max(partial_bytes(layout, heads, 1, keys), several);
}

void attention(const AttentionArgs& args, ThreadPool& pool) {
  if (args.rows > 0) Attention(args).run(pool);
}

void pack_keys_and_values(const KvLayout& layout, MutableKvBlocks kv, std::int64_t keys, const HeadRows& k_rows,
                          const HeadRows& v_rows, CpuLevel level, ThreadPool& pool) {
  // A panel of keys of one head is one task.
  const std::int64_t pieces = (keys + panel_keys - 1) / panel_keys;
  pool.parallel_for(layout.kv_heads * pieces, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t head = item / pieces, first = item % pieces * panel_keys;
      append_heads(layout, kv, first, std::min(panel_keys, keys - first),
                   {k_rows.at(first, 0), k_rows.row_stride, k_rows.head_stride},
                   {v_rows.at(first, 0), v_rows.row_stride, v_rows.head_stride}, head, head + 1, level);
    }
  });
}

}  // namespace weft::cpu
