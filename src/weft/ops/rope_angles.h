// The angles of rotary embeddings. One definition, for the op and for whatever prepares its tables ahead of a run:
// frequencies and angles in f64, the cosine and sine of each rounded once to f32. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/base/export.h"

namespace weft::ops {

// theta^(-2j / span) / factors[j] for j in [0, pairs); without factors all are 1.
WEFT_API std::vector<double> rope_frequencies(std::int64_t pairs, std::int64_t span, double theta,
                                              std::span<const double> factors = {});

// Row-major [positions, frequencies].
struct RopeTables {
  std::vector<float> cos, sin;
};
WEFT_API RopeTables rope_tables(std::span<const double> positions, double position_scale,
                                std::span<const double> frequencies);

}  // namespace weft::ops
