#include "weft/backend/cpu/machine_rates.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "weft/backend/cpu/rate_kernels.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"

namespace weft::cpu {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;

// Four streams in each piece, far enough apart that the prefetchers of the hardware follow each.
std::uint64_t read_piece(const std::byte* bytes) {
  using Words = std::uint64_t __attribute__((vector_size(16)));
  constexpr std::int64_t streams = 4, words = piece_bytes / static_cast<std::int64_t>(sizeof(Words)),
                         stride = words / streams, unroll = 4;
  const auto* from = reinterpret_cast<const Words*>(bytes);
  Words sums[streams * unroll] = {};
  for (std::int64_t i = 0; i < stride; i += unroll)
    for (std::int64_t s = 0; s < streams; ++s) {
      __builtin_prefetch(from + s * stride + i + 64);
      for (std::int64_t u = 0; u < unroll; ++u) sums[s * unroll + u] ^= from[s * stride + i + u];
    }
  Words all = {};
  for (const Words& sum : sums) all ^= sum;
  return all[0] ^ all[1];
}

double rate(ThreadPool& pool, const RateKernel& kernel) {
  constexpr int repeats = 5;
  constexpr double piece_seconds = 2e-4;
  // As many rounds as take about a fifth of a millisecond; a first call also brings the units up to speed.
  std::int64_t steps = 1000;
  for (double took = 0; took < piece_seconds / 2 && steps < std::int64_t{1} << 40; steps *= 2) {
    const auto start = Clock::now();
    kernel.run(steps);
    took = seconds_since(start);
  }
  const std::int64_t pieces = std::int64_t{100} * pool.size();
  std::vector<double> rates;
  for (int i = 0; i < repeats; ++i) {
    std::atomic<std::int64_t> operations = 0;
    const auto start = Clock::now();
    pool.parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t piece = begin; piece < end; ++piece) operations += kernel.run(steps);
    });
    rates.push_back(static_cast<double>(operations.load()) / seconds_since(start));
  }
  return median(std::move(rates));
}

double& field(LevelRates& rates, RateKind kind) {
  switch (kind) {
    case RateKind::f32: return rates.f32;
    case RateKind::bf16: return rates.bf16;
    case RateKind::int8: return rates.int8;
  }
  return rates.f32;
}

bool has_feature(const char* name) {
  const auto& features = cpu_info().features;
  return name == nullptr || std::find(features.begin(), features.end(), name) != features.end();
}

}  // namespace

BandwidthProbe::BandwidthProbe(ThreadPool& pool, std::size_t bytes)
    : size_(std::max(bytes, static_cast<std::size_t>(piece_bytes)) & ~static_cast<std::size_t>(piece_bytes - 1)) {
  void* mapped = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    fail(ErrorKind::out_of_memory, "ProbeTooLarge", "bandwidth", "the system gives no {} bytes to measure with", size_);
  ::madvise(mapped, size_, MADV_HUGEPAGE);
  bytes_ = static_cast<std::byte*>(mapped);
  // Written, since all untouched pages are one page of zeros, which the cache holds.
  pool.parallel_for(static_cast<std::int64_t>(size_) / piece_bytes, 1, [this](std::int64_t begin, std::int64_t end) {
    std::fill(bytes_ + begin * piece_bytes, bytes_ + end * piece_bytes, std::byte{0x5a});
  });
}

BandwidthProbe::~BandwidthProbe() { ::munmap(bytes_, size_); }

double BandwidthProbe::run(ThreadPool& pool, double seconds) {
  std::atomic<std::uint64_t> check = 0;
  double read = 0, took = 0;
  const auto start = Clock::now();
  do {
    pool.parallel_for(static_cast<std::int64_t>(size_) / piece_bytes, 1, [&](std::int64_t begin, std::int64_t end) {
      std::uint64_t sum = 0;
      for (std::int64_t piece = begin; piece < end; ++piece) sum += read_piece(bytes_ + piece * piece_bytes);
      check += sum;
    });
    read += static_cast<double>(size_);
    took = seconds_since(start);
  } while (took < seconds);
  // An even number of equal words cancel; the comparison keeps the reading alive.
  if (check != 0)
    fail(ErrorKind::out_of_memory, "ProbeChanged", "bandwidth", "the memory does not hold what was put there");
  return read / took;
}

double read_bandwidth(ThreadPool& pool) {
  constexpr int repeats = 7;
  BandwidthProbe probe(pool);
  std::vector<double> rates;
  for (int i = 0; i < repeats; ++i) rates.push_back(probe.run(pool));
  return median(std::move(rates));
}

LevelRates MatrixRates::best(CpuLevel up_to) const {
  LevelRates result{.level = up_to};
  for (const LevelRates& each : levels) {
    if (each.level > up_to) continue;
    result.f32 = std::max(result.f32, each.f32);
    result.bf16 = std::max(result.bf16, each.bf16);
    result.int8 = std::max(result.int8, each.int8);
  }
  return result;
}

MatrixRates matrix_rates(ThreadPool& pool) {
  MatrixRates result;
  for (const CpuLevel level : supported_cpu_levels()) {
    LevelRates rates{.level = level};
    for (const RateKernel& kernel : rate_kernels())
      if (kernel.level == level && has_feature(kernel.feature)) field(rates, kernel.kind) = rate(pool, kernel);
    result.levels.push_back(rates);
  }
  return result;
}

}  // namespace weft::cpu
