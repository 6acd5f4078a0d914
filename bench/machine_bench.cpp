// The machine itself: what a parallel region costs, and how fast memory is read. The rates that other benchmarks are
// held against come from the same code.
#include "machine.h"

#include <atomic>

namespace weft::bench {
namespace {

// An empty region of a few items: what every operator pays to be parallel.
void region(benchmark::State& state) {
  std::atomic<std::int64_t> sum = 0;
  for (auto _ : state)
    pool().parallel_for(state.range(0), 1, [&](std::int64_t begin, std::int64_t end) {
      sum.fetch_add(end - begin, std::memory_order_relaxed);
    });
  benchmark::DoNotOptimize(sum.load());
}
BENCHMARK(region)->Arg(2)->Arg(16)->Arg(256)->UseRealTime();

void read_memory(benchmark::State& state) {
  static cpu::BandwidthProbe probe(pool());
  for (auto _ : state) benchmark::DoNotOptimize(probe.run(pool(), 0));
  count_bytes(state, static_cast<double>(cpu::BandwidthProbe::default_bytes));
}
BENCHMARK(read_memory)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::bench

BENCHMARK_MAIN();
