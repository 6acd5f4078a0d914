// Which elements of an axis a resized element is made of: one definition for inference and every backend. Pure
// functions.
#pragma once

#include <cstdint>

#include "weft/base/dim.h"
#include "weft/ir/graph.h"

namespace weft::ops {

enum class ResizeMode : std::uint8_t { nearest, linear, area };

struct Resize {
  ResizeMode mode = ResizeMode::nearest;
  double scale = 1;
  bool align_corners = false;
};
Resize resize_of(const Node& node);

// floor(in * scale * (1 + 2^-22)): the nudge undoes the rounding of factors such as 0.7 to f32.
Dim resized(const Dim& in, double scale);

// Elements [first, first + count) of the input: weights 1 - second and second where there are two of linear, else
// equal ones.
struct ResizeTap {
  std::int64_t first = 0, count = 1;
  double second = 0;
};
ResizeTap resize_tap(const Resize& resize, std::int64_t in, std::int64_t out, std::int64_t i);

}  // namespace weft::ops
