// What this machine does at best: bytes read a second, multiplications a second. The two ceilings that plans and
// benchmarks compare with. Measured with the threads of the given pool; each call takes a fraction of a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/base/cpu_features.h"
#include "weft/base/export.h"

namespace weft {

class ThreadPool;

namespace cpu {

// A buffer too large for any cache, read from end to end by all threads. Made once (which writes it) and run between
// the runs that it is compared with. Not enough memory: ProbeTooLarge.
class WEFT_API BandwidthProbe {
 public:
  static constexpr std::size_t default_bytes = std::size_t{1} << 30;

  explicit BandwidthProbe(ThreadPool& pool, std::size_t bytes = default_bytes);
  ~BandwidthProbe();
  BandwidthProbe(const BandwidthProbe&) = delete;
  BandwidthProbe& operator=(const BandwidthProbe&) = delete;

  // Bytes a second, reading for about `seconds` and at least once through the buffer.
  double run(ThreadPool& pool, double seconds = 0.1);

 private:
  std::byte* bytes_ = nullptr;
  std::size_t size_;
};

// The median of several runs of a probe of its own.
WEFT_API double read_bandwidth(ThreadPool& pool);

// Multiplications and additions a second of the instructions that a level brings, each counted as one; 0: it brings
// none. int8 below the VNNI levels is vpmaddubsw, vpmaddwd and vpaddd.
struct LevelRates {
  CpuLevel level = CpuLevel::portable;
  double f32 = 0, bf16 = 0, int8 = 0;
};

struct MatrixRates {
  std::vector<LevelRates> levels;  // that this machine has, ascending
  // The highest of the levels up to and with this one.
  LevelRates best(CpuLevel up_to) const;
};
WEFT_API MatrixRates matrix_rates(ThreadPool& pool);

}  // namespace cpu
}  // namespace weft
