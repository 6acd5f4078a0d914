// Loops of independent multiply-add instructions, one per instruction set. They run what matrix_rates() times.
#pragma once

#include <cstdint>
#include <span>

#include "weft/base/cpu_features.h"

namespace weft::cpu {

enum class RateKind { f32, bf16, int8 };

struct RateKernel {
  CpuLevel level;
  RateKind kind;
  const char* feature;  // that it needs beyond the level's; null: none
  // Runs about `steps` rounds of the loop; returns how many operations that were.
  std::int64_t (*run)(std::int64_t steps);
};

// Of this architecture, whether or not this machine runs them.
std::span<const RateKernel> rate_kernels();

}  // namespace weft::cpu
