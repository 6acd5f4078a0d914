// What the kernels of position ops share. Internal to ops and backends. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/ir/graph.h"

namespace weft::ops {

// T5's buckets: a half of them for each distance, the others ever wider up to max_distance. The logarithm is f32.
struct RelativeBuckets {
  std::int64_t count = 0, max_distance = 0;
  bool bidirectional = true;

  explicit RelativeBuckets(const Node& node);  // RelativePositionBias
  std::int64_t at(std::int64_t offset) const;  // of a key that is `offset` behind the query
};

// Of SinusoidalEmbed: f_j = 10000^(-j / half).
std::vector<double> sinusoid_frequencies(std::int64_t half);

}  // namespace weft::ops
