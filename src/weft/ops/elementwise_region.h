// The steps of an ElementwiseRegion as data: what its `chain` attribute says, for kernels that run it in tiles. The
// text is a list of assignments, "t0 = silu(x0); t1 = mul(t0, x1)": x are the node's inputs, t the steps so far, and
// the last step is the result. Internal to the library; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/shape.h"
#include "weft/ir/graph.h"

namespace weft {

inline constexpr std::size_t most_region_inputs = 16;
inline constexpr std::size_t most_region_steps = 32;

struct RegionOperand {
  bool is_step = false;
  std::size_t index = 0;  // of an input of the node, or of an earlier step
  friend bool operator==(const RegionOperand&, const RegionOperand&) = default;
};

struct RegionStep {
  enum class Op : std::uint8_t { activation, binary, compare, where, cast };
  Op op = Op::activation;
  std::string kind = {};             // of an activation, binary or compare
  std::optional<double> alpha = {};  // slope of elu and leaky_relu: "elu[0.5](x0)"
  DType to = DType::f32;             // of a cast: "cast[f16](x0)"
  std::vector<RegionOperand> operands = {};
  friend bool operator==(const RegionStep&, const RegionStep&) = default;
};

// The step that a node of one of these ops is, without its operands; nothing for other ops.
std::optional<RegionStep> region_step_of(const Node& node);

std::string region_text(std::span<const RegionStep> steps);
// BadAttribute says what is wrong and where.
std::vector<RegionStep> parse_region(std::string_view chain);

// How an input meets the region's result: in its shape, as one value, or repeated over the leading axes. Nothing for
// shapes that a region does not take (an inner axis of 1, a dim that is not known to be equal).
enum class RegionBroadcast : std::uint8_t { full, scalar, trailing };
std::optional<RegionBroadcast> region_broadcast(const Shape& input, const Shape& result);

}  // namespace weft
