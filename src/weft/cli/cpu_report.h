// What `weft cpu` tells about the machine, before it is printed one way or the other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/backend/cpu/machine_rates.h"
#include "weft/base/cpu_features.h"

namespace weft::cli {

struct CpuReport {
  struct Level {
    CpuLevel level;
    std::string missing;  // empty: the machine runs it
  };

  CpuInfo info;
  std::vector<Level> levels;
  CpuLevel selected = CpuLevel::portable;
  std::string reason;
  int threads = 1;
  std::optional<double> bandwidth;  // bytes a second
  std::optional<cpu::MatrixRates> rates;
};

CpuReport report_cpu(int threads, bool measure);

}  // namespace weft::cli
