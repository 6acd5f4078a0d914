// How patches make up an image, from an Unpatchify node and the sizes of a run. Internal to ops and backends.
#pragma once

#include <cstdint>
#include <span>

#include "weft/ir/graph.h"

namespace weft::ops {

// x [batch, rows * columns, high * wide * channels] and where its elements are: an element of patch (r, c), channel k,
// line i, column j has these strides in x, and is image element [batch, k, r * high + i, c * wide + j].
struct PatchGrid {
  std::int64_t batch = 1, rows = 1, columns = 1, channels = 1, high = 1, wide = 1;
  std::int64_t channel_stride = 1, line_stride = 1, column_stride = 1;
};
// How the values of a patch lie; no sizes where an image tells them.
struct PatchLayout {
  std::int64_t high = 0, wide = 0;
  bool channels_first = true;
};
PatchLayout patch_layout(const Node& node);
// x: the dims of the patches; image: the dims of the result.
PatchGrid patch_grid(const PatchLayout& layout, std::span<const std::int64_t> x, std::span<const std::int64_t> image);

}  // namespace weft::ops
