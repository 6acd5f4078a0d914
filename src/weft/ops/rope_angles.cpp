#include "weft/ops/rope_angles.h"

#include <cmath>

namespace weft::ops {

std::vector<double> rope_frequencies(std::int64_t pairs, std::int64_t span, double theta,
                                     std::span<const double> factors) {
  std::vector<double> frequencies(static_cast<std::size_t>(pairs));
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    frequencies[j] = std::pow(theta, -2.0 * static_cast<double>(j) / static_cast<double>(span));
    if (!factors.empty()) frequencies[j] /= factors[j];
  }
  return frequencies;
}

RopeTables rope_tables(std::span<const double> positions, double position_scale, std::span<const double> frequencies) {
  RopeTables tables;
  tables.cos.reserve(positions.size() * frequencies.size());
  tables.sin.reserve(positions.size() * frequencies.size());
  for (const double position : positions)
    for (const double frequency : frequencies) {
      const double angle = position * position_scale * frequency;
      tables.cos.push_back(static_cast<float>(std::cos(angle)));
      tables.sin.push_back(static_cast<float>(std::sin(angle)));
    }
  return tables;
}

}  // namespace weft::ops
