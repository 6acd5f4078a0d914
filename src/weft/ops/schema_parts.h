// Parts that the schemas of several ops share. Internal to the room.
#pragma once

#include "weft/ir/op_schema.h"

namespace weft::ops {

inline AttributeSpec eps_attribute(double value) {
  return {.name = "eps", .type = AttributeType::real, .default_value = value, .doc = "added inside the square root"};
}

// Loads, statistics and the affine part: about six operations an element.
inline Dim norm_flops(const InferContext& context) { return Dim(6) * context.shape(0).numel(); }

// Of an op that moves data.
inline Dim no_flops(const InferContext&) { return Dim(0); }

}  // namespace weft::ops
