// How a language model's next token is drawn.
#pragma once

#include <cstdint>

namespace weft {

struct SamplingOptions {
  double temperature = 0.8;  // <= 0: greedy
  std::int64_t top_k = 40;   // 0: all
  double top_p = 0.95;
  double min_p = 0.05;
  std::uint64_t seed = 0;  // 0: from the system's entropy; the one used is reported
};

}  // namespace weft
