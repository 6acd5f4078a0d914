// How the operands of attention hold batch, heads, tokens and width, and how that is found from their shapes. Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/shape.h"

namespace weft::ops {

// packed: [B, S, H*D], [S, H*D] or [H*D]. rows: [S*H, D], the heads of a token one after the other. The others by
// their letters. All but bhsd and hsd lie token by token in memory.
inline const std::vector<std::string>& head_layouts() {
  static const std::vector<std::string> names = {"auto", "packed", "bshd", "bhsd", "shd", "hsd", "rows"};
  return names;
}
inline bool is_head_major(std::string_view layout) { return layout == "bhsd" || layout == "hsd"; }

// Layouts that tensors of a rank may have.
std::vector<std::string> layouts_of_rank(std::size_t rank);

struct HeadDims {
  Dim batch, heads, tokens, width;
};
// The dims under a layout of the right rank. Nothing when the packed width or the rows are no multiple of `heads`.
std::optional<HeadDims> head_dims(const Shape& shape, std::string_view layout, std::int64_t heads);

// Layouts under which the shape surely has `heads` heads of `width` (of any width without one).
std::vector<std::string> fitting_layouts(const Shape& shape, std::int64_t heads, std::optional<std::int64_t> width);

// The choice among fitting layouts: `preferred` if it fits; [B, S, H, D] before [B, H, S, D]; layouts that mean the
// same for this shape count as one. Nothing when none fits or two readings remain.
std::optional<std::string> choose_layout(const Shape& shape, std::int64_t heads, std::optional<std::int64_t> width,
                                         std::string_view preferred);

}  // namespace weft::ops
