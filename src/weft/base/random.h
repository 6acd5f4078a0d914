// The two generators of weft's graphs: PCG32 for the Graph IR, Philox for everything counter-based.
// Their streams are part of the formats, so neither may change. Values; one generator per thread.
#pragma once

#include <array>
#include <cstdint>

#include "weft/base/export.h"

namespace weft {

// PCG XSH-RR 64/32 (O'Neill 2014) with increment 1. A seed enters as: state 0, one step, add the seed, one step.
class WEFT_API Pcg32 {
 public:
  explicit Pcg32(std::uint64_t seed);

  std::uint32_t next();
  double uniform();  // next() / 2^32, in [0, 1)

  // To go on later where it is now.
  std::uint64_t state() const { return state_; }
  static Pcg32 from_state(std::uint64_t state) {
    Pcg32 generator(0);
    generator.state_ = state;
    return generator;
  }

  friend bool operator==(const Pcg32&, const Pcg32&) = default;

 private:
  std::uint64_t state_ = 0;
};

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

// Philox4x32-10 (Salmon et al. 2011): four random words for one counter, without any state.
WEFT_API PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key);

}  // namespace weft
