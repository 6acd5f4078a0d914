// What the benchmarks share: one pool, and the machine's limits, measured once per process and printed beside results.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "weft/backend/cpu/machine_rates.h"
#include "weft/base/thread_pool.h"

namespace weft::bench {

// As many threads as WEFT_BENCH_THREADS says; unset: one per usable CPU.
inline ThreadPool& pool() {
  static ThreadPool shared(std::getenv("WEFT_BENCH_THREADS") ? std::atoi(std::getenv("WEFT_BENCH_THREADS")) : 0);
  return shared;
}

inline double machine_bandwidth() {
  static const double measured = cpu::read_bandwidth(pool());
  return measured;
}

inline const cpu::MatrixRates& machine_rates() {
  static const cpu::MatrixRates measured = cpu::matrix_rates(pool());
  return measured;
}

// Adds GB/s and its fraction of the machine's to a benchmark whose iteration reads `bytes`.
inline void count_bytes(benchmark::State& state, double bytes) {
  using benchmark::Counter;
  const double all = bytes * static_cast<double>(state.iterations());
  state.counters["GB/s"] = Counter(all / 1e9, Counter::kIsRate);
  state.counters["of_bandwidth"] = Counter(all / machine_bandwidth(), Counter::kIsRate);
}

// Adds GFLOP/s, or GOP/s, and its fraction of a rate of machine_rates() to one whose iteration does `operations`.
inline void count_operations(benchmark::State& state, double operations, double machine_rate) {
  using benchmark::Counter;
  const double all = operations * static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = Counter(all / 1e9, Counter::kIsRate);
  if (machine_rate > 0) state.counters["of_peak"] = Counter(all / machine_rate, Counter::kIsRate);
}

}  // namespace weft::bench
