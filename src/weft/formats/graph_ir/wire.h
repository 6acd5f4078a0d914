// Facts of the binary layout that its reader and its writer share. Internal to the room.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace weft::graph_ir {

inline constexpr std::string_view trailer_magic = "WFX1";

enum class Chunk : std::uint8_t { input_names = 1, attrs = 2, weights = 3 };

// Whether the two words of a GroupNorm payload are (num_groups, eps) rather than (eps, num_groups): a group count is a
// small integer, whose bits as a float are no epsilon that anyone uses.
inline bool groups_come_first(std::uint32_t first, std::uint32_t second) {
  const auto eps = std::bit_cast<float>(second);
  return first >= 1 && first <= 65536 && eps >= 0.0f && eps < 1.0f;
}

}  // namespace weft::graph_ir
