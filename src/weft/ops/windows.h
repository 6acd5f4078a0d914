// Where the windows of convolutions and pooling lie, from the attributes of their nodes. Internal to ops and backends.
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/dim.h"
#include "weft/ir/graph.h"

namespace weft {
class InferContext;
}

namespace weft::ops {

// One spatial axis of Conv, ConvTranspose or Pool. Output o sees inputs o * stride - low + k * dilation for
// k < kernel; transposed, input i reaches outputs i * stride - low + k * dilation.
struct WindowAxis {
  std::int64_t kernel = 1, stride = 1, low = 0, high = 0, dilation = 1;
  std::int64_t extra = 0;  // transposed: output_padding
  bool ceil = false;       // Pool: the last window may reach beyond the padding
};
// One per entry of the attribute `kernel`.
std::vector<WindowAxis> window_axes(const Node& node);

// x [batch, channels, spatial...], or without the batch.
struct ImageShape {
  Shape lead;  // the batch, where there is one
  Dim channels;
  Shape spatial;
};
ImageShape image_shape(InferContext& context, std::size_t spatial_axes);
Shape image_output(const ImageShape& image, const Dim& channels, const Shape& spatial);

// The sizes of a tensor as kernels see them: unbatched is a batch of 1, missing spatial axes in front have size 1.
struct ImageDims {
  std::int64_t batch = 1, channels = 1;
  std::int64_t spatial[3] = {1, 1, 1};
  std::int64_t pixels() const { return spatial[0] * spatial[1] * spatial[2]; }
};
ImageDims image_dims(const std::vector<std::int64_t>& dims, std::size_t spatial_axes);
// The same for the axes of a window.
struct Windows {
  WindowAxis axes[3];
  std::int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
};
Windows windows_of(const Node& node);

// A list with a number a spatial axis; empty by default.
AttributeSpec window_attribute(std::string name, std::string doc, bool required = false);
// Checks the lists of the node against `axes` spatial axes; BadAttribute.
void check_windows(const InferContext& context, std::size_t axes);
// floor((in + low + high - dilation (kernel - 1) - 1) / stride) + 1, at least 1. With `ceil` the quotient is rounded
// up, but every window begins before the end of the input.
Dim window_count(InferContext& context, const Dim& in, const WindowAxis& axis);

}  // namespace weft::ops
