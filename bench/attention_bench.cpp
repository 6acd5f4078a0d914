// Attention over a KV cache: decode (one row) in GB/s of keys and values read, prefill in GFLOP/s of the two products.
// Arguments: KV dtype, kernel level, rows, keys. Heads are those of a 0.6B Qwen3: 16 heads, 8 key heads of 128.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "weft/backend/cpu/attention.h"
#include "weft/base/cpu_features.h"
#include "weft/base/random.h"

namespace weft::cpu {
namespace {

constexpr std::int64_t heads = 16, kv_heads = 8, head_dim = 128;

struct Free {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
using Bytes = std::unique_ptr<std::byte, Free>;
Bytes aligned_bytes(std::int64_t count) {
  constexpr std::size_t huge_page = std::size_t{2} << 20;  // as the state store asks for keys and values
  const auto rounded = (static_cast<std::size_t>(count) + huge_page - 1) / huge_page * huge_page;
  Bytes bytes(static_cast<std::byte*>(std::aligned_alloc(huge_page, rounded)));
  ::madvise(bytes.get(), rounded, MADV_HUGEPAGE);
  std::memset(bytes.get(), 0, rounded);
  return bytes;
}

std::vector<float> random_floats(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  Pcg32 generator(1);
  for (float& value : values) value = static_cast<float>(generator.uniform() - 0.5);
  return values;
}

// Several layers in turn, so that one row's keys and values come from memory and not from a cache.
class Layers {
 public:
  Layers(DType dtype, std::int64_t keys, std::int64_t count, CpuLevel level)
      : layout_{kv_heads, head_dim, head_dim, dtype}, bytes_(storage_bytes(layout_, keys)) {
    const std::vector<float> rows = random_floats(keys * kv_heads * head_dim);
    const HeadRows heads_of{rows.data(), kv_heads * head_dim, head_dim};
    for (std::int64_t i = 0; i < count; ++i) {
      layers_.push_back(aligned_bytes(bytes_));
      append(layout_, blocks(layers_.back()), 0, keys, heads_of, heads_of, level);
    }
  }
  const KvLayout& layout() const { return layout_; }
  std::int64_t bytes() const { return bytes_; }
  void select(AttentionArgs& args) {
    next_ = (next_ + 1) % layers_.size();
    args.kv = blocks(layers_[next_]);
  }

 private:
  MutableKvBlocks blocks(const Bytes& layer) const { return {layer.get(), block_bytes(layout_)}; }

  KvLayout layout_;
  std::int64_t bytes_;
  std::vector<Bytes> layers_;
  std::size_t next_ = 0;
};

void run(benchmark::State& state, DType dtype, CpuLevel level, std::int64_t rows, std::int64_t keys, int threads) {
  Layers layers(dtype, keys, rows == 1 ? (std::getenv("ONE") ? 1 : 24) : 1, level);
  const std::vector<float> q = random_floats(rows * heads * head_dim);
  std::vector<float> out(q.size());
  const std::int64_t scratch_bytes = attention_scratch_bytes(layers.layout(), heads, rows, keys, threads);
  const Bytes scratch = aligned_bytes(scratch_bytes);
  AttentionArgs args;
  args.layout = layers.layout();
  args.heads = heads;
  args.rows = rows;
  args.keys = keys;
  args.q = {q.data(), heads * head_dim, head_dim};
  args.output = {out.data(), heads * head_dim, head_dim};
  args.scale = 1 / std::sqrt(static_cast<float>(head_dim));
  args.level = level;
  args.scratch = {scratch.get(), static_cast<std::size_t>(scratch_bytes)};
  ThreadPool pool(threads);
  for (auto _ : state) {
    layers.select(args);
    attention(args, pool);
    benchmark::DoNotOptimize(out.data());
  }
  const double pairs = static_cast<double>(rows) * (static_cast<double>(keys) - 0.5 * static_cast<double>(rows - 1));
  const double flops = 4 * pairs * static_cast<double>(heads * head_dim);
  const auto rate = [&](double per_run) {
    return benchmark::Counter(per_run, benchmark::Counter::kIsIterationInvariantRate);
  };
  if (rows == 1) state.counters["GB/s"] = rate(static_cast<double>(layers.bytes()) * 1e-9);
  state.counters["GFLOP/s"] = rate(flops * 1e-9);
}

void register_all() {
  for (const int threads : {1, 2})
    for (const CpuLevel level : supported_cpu_levels())
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0})
        for (const auto& [rows, keys] :
             {std::pair<std::int64_t, std::int64_t>{1, 544}, {1, 4000}, {8, 4000}, {512, 512}, {512, 4096}}) {
          const std::string name = std::string("attention/") + std::string(to_string(dtype)) + "/" +
                                   std::string(to_string(level)) + "/rows:" + std::to_string(rows) +
                                   "/keys:" + std::to_string(keys) + "/threads:" + std::to_string(threads);
          benchmark::RegisterBenchmark(
              name.c_str(),
              [=, rows = rows, keys = keys](benchmark::State& state) { run(state, dtype, level, rows, keys, threads); })
              ->UseRealTime()
              ->Unit(benchmark::kMicrosecond);
        }
}

}  // namespace
}  // namespace weft::cpu

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  weft::cpu::register_all();
  benchmark::RunSpecifiedBenchmarks();
}
