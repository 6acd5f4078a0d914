// How a tensor holds the heads of an attention: the arrangements that the Graph IR accepts, and which of them a shape
// has. Internal to the room.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/formats/graph_ir/dims.h"

namespace weft::graph_ir {

enum class HeadLayout : std::uint8_t {
  bhsd,          // [B, H, S, D]
  bshd,          // [B, S, H, D]
  shd,           // [S, H, D]
  hsd,           // [H, S, D]
  bsf,           // [B, S, H*D]
  sf,            // [S, H*D]
  tokens_major,  // [S*H, D]
  f,             // [H*D], one token
};

struct HeadSizes {
  HeadLayout layout;
  Dim batch, tokens;
  bool certain;  // the shape has these heads whatever its unknown sizes turn out to be
};

// The layouts that the shape may have, in the order in which they are preferred, up to the first certain one. Empty:
// the shape holds no such heads.
std::vector<HeadSizes> head_layouts(const Shape& shape, Dim heads, Dim head_dim);

// The one that holds for every run: the certain one, or the only possible one. Nothing where sizes of a run would
// decide.
std::optional<HeadSizes> settled_layout(const std::vector<HeadSizes>& layouts);

// The name that MIR's Attention has for it.
std::string_view layout_name(HeadLayout layout);

// What head_layouts looks for, in words.
std::string_view head_layouts_text();

}  // namespace weft::graph_ir
