// Arithmetic on dimensions of which some are unknown. A dimension is at least 0, or unknown_dim; arithmetic with an
// unknown one is unknown, and a known result that leaves 64 bits throws SizeOverflow. Internal to the room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weft/formats/graph_ir/model.h"

namespace weft::graph_ir {

using Dim = std::int64_t;

inline bool known(Dim dim) { return dim >= 0; }
bool all_known(const Shape& shape);

Dim times(Dim a, Dim b);
Dim plus(Dim a, Dim b);
// Elements of a tensor; 0 as soon as one dimension is 0, even beside unknown ones.
Dim numel(const Shape& shape);
// Product of the dimensions [begin, end).
Dim product(const Shape& shape, std::size_t begin, std::size_t end);

// The common value; nothing when two known ones differ.
std::optional<Dim> unified(Dim a, Dim b);
// NumPy's rule for one axis.
std::optional<Dim> broadcast_dim(Dim a, Dim b);
std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b);

// "[4, ?, 64]"
std::string shape_text(const Shape& shape);

}  // namespace weft::graph_ir
