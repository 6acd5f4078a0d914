#include "weft/backend/cpu/machine_rates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "weft/backend/cpu/rate_kernels.h"
#include "weft/base/error.h"
#include "weft/base/thread_pool.h"

namespace weft::cpu {
namespace {

TEST(MachineRates, AProbeReadsItsBufferAtSomeSpeed) {
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    BandwidthProbe probe(pool, 5 << 20);
    for (int repeat = 0; repeat < 3; ++repeat) {
      const double rate = probe.run(pool, 0.001);
      EXPECT_GT(rate, 1e8);
      EXPECT_LT(rate, 1e14);
    }
  }
}

TEST(MachineRates, AProbeBeyondAllMemoryIsRefused) {
  ThreadPool pool(1);
  try {
    const BandwidthProbe probe(pool, std::size_t{1} << 60);
    FAIL() << "2^60 bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "ProbeTooLarge");
  }
}

TEST(MachineRates, EveryKernelOfTheMachineRunsAndCountsInProportion) {
  const auto& features = cpu_info().features;
  for (const RateKernel& kernel : rate_kernels()) {
    if (!cpu_supports(kernel.level)) continue;
    if (kernel.feature != nullptr && std::find(features.begin(), features.end(), kernel.feature) == features.end())
      continue;
    const std::int64_t one = kernel.run(1);
    EXPECT_GT(one, 0) << to_string(kernel.level);
    EXPECT_EQ(kernel.run(100), 100 * one) << to_string(kernel.level);
  }
}

TEST(MachineRates, TheBestOfTheLevelsUpToOne) {
  const MatrixRates rates{{{.level = CpuLevel::portable, .f32 = 1},
                           {.level = CpuLevel::avx2, .f32 = 4, .int8 = 8},
                           {.level = CpuLevel::avx_vnni, .int8 = 16},
                           {.level = CpuLevel::avx512, .f32 = 8, .int8 = 12}}};
  EXPECT_EQ(rates.best(CpuLevel::portable).int8, 0);
  EXPECT_EQ(rates.best(CpuLevel::avx_vnni).f32, 4);
  EXPECT_EQ(rates.best(CpuLevel::avx512).f32, 8);
  EXPECT_EQ(rates.best(CpuLevel::avx512).int8, 16);
  EXPECT_EQ(rates.best(CpuLevel::amx).bf16, 0);
  EXPECT_EQ(rates.best(CpuLevel::amx).level, CpuLevel::amx);
}

}  // namespace
}  // namespace weft::cpu
