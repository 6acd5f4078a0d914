// What the machine allows a planned run: how fast it could be if only memory counted, and if only arithmetic did.
#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/runtime/program_report.h"

namespace weft::cli {

struct PlanCeilings {
  double bandwidth = 0;                     // bytes a second
  double integer_rate = 0, float_rate = 0;  // operations a second
  double memory_tok_s = 0, compute_tok_s = 0;
  double predicted() const { return std::min(memory_tok_s, compute_tok_s); }
};

// Weights and state are read once from memory; what lies between the instructions stays in the caches. Where
// integer_rate is 0 integers go at the rate of floats.
PlanCeilings plan_ceilings(const ProgramReport& report, std::int64_t rows, double bandwidth, double integer_rate,
                           double float_rate);

}  // namespace weft::cli
