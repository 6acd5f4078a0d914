#include "weft/ops/windows.h"

#include <algorithm>

#include "weft/base/fail.h"
#include "weft/ir/infer.h"

namespace weft::ops {
namespace {

// A list attribute, where the op has it and it is given.
const std::vector<std::int64_t>* list(const Node& node, std::string_view name) {
  if (!node.schema->attribute_index(name)) return nullptr;
  const auto& values = node.integers(name);
  return values.empty() ? nullptr : &values;
}

std::int64_t entry(const Node& node, std::string_view name, std::size_t axis, std::int64_t absent) {
  const auto* values = list(node, name);
  return values == nullptr ? absent : (*values)[axis];
}

void check_list(const InferContext& context, std::string_view name, std::size_t axes, std::int64_t least) {
  const auto* values = list(context.node(), name);
  if (values == nullptr) return;
  if (values->size() != axes)
    context.fail_attribute(name,
                           fmt::format("{} numbers are expected, one a spatial axis, found {}", axes, values->size()));
  for (const std::int64_t value : *values)
    if (value < least || value > INT32_MAX)
      context.fail_attribute(name, fmt::format("{} is not from {} to 2^31 - 1", value, least));
}

}  // namespace

std::vector<WindowAxis> window_axes(const Node& node) {
  std::vector<WindowAxis> axes(node.integers("kernel").size());
  const bool pool = node.schema->name == "Pool";
  for (std::size_t i = 0; i < axes.size(); ++i) {
    WindowAxis& axis = axes[i];
    axis.kernel = node.integers("kernel")[i];
    axis.stride = entry(node, "stride", i, pool ? 0 : 1);
    if (pool && axis.stride == 0) axis.stride = axis.kernel;
    axis.low = entry(node, "padding", i, 0);
    axis.high = entry(node, "padding_hi", i, axis.low);
    axis.dilation = entry(node, "dilation", i, 1);
    axis.extra = entry(node, "output_padding", i, 0);
    axis.ceil = pool && node.boolean("ceil_mode");
  }
  return axes;
}

Windows windows_of(const Node& node) {
  const std::vector<WindowAxis> axes = window_axes(node);
  Windows windows;
  for (std::size_t i = 0; i < axes.size(); ++i) windows.axes[3 - axes.size() + i] = axes[i];
  return windows;
}

ImageShape image_shape(InferContext& context, std::size_t spatial_axes) {
  context.require_rank(0, spatial_axes + 1, spatial_axes + 2);
  const Shape& x = context.shape(0);
  ImageShape image;
  const std::size_t channel = x.rank() - spatial_axes - 1;
  if (channel == 1) image.lead.push_back(x[0]);
  image.channels = x[channel];
  for (std::size_t i = channel + 1; i < x.rank(); ++i) image.spatial.push_back(x[i]);
  return image;
}

Shape image_output(const ImageShape& image, const Dim& channels, const Shape& spatial) {
  Shape result = image.lead;
  result.push_back(channels);
  for (const Dim& dim : spatial) result.push_back(dim);
  return result;
}

ImageDims image_dims(const std::vector<std::int64_t>& dims, std::size_t spatial_axes) {
  ImageDims image;
  const std::size_t channel = dims.size() - spatial_axes - 1;
  if (channel == 1) image.batch = dims[0];
  image.channels = dims[channel];
  std::copy(dims.end() - static_cast<std::ptrdiff_t>(spatial_axes), dims.end(), image.spatial + 3 - spatial_axes);
  return image;
}

AttributeSpec window_attribute(std::string name, std::string doc, bool required) {
  return {.name = std::move(name),
          .type = AttributeType::integers,
          .default_value = required ? AttributeValue() : AttributeValue(std::vector<std::int64_t>()),
          .required = required,
          .doc = std::move(doc)};
}

void check_windows(const InferContext& context, std::size_t axes) {
  if (axes < 1 || axes > 3) context.fail_attribute("kernel", "1 to 3 numbers are expected, one a spatial axis");
  const bool pool = context.node().schema->name == "Pool";
  check_list(context, "kernel", axes, 1);
  std::int64_t taps = 1;
  for (const std::int64_t size : context.node().integers("kernel"))
    if ((taps *= size) > INT32_MAX) context.fail_attribute("kernel", "there are more than 2^31 - 1 taps");
  check_list(context, "stride", axes, pool ? 0 : 1);
  check_list(context, "padding", axes, 0);
  check_list(context, "padding_hi", axes, 0);
  check_list(context, "dilation", axes, 1);
  check_list(context, "output_padding", axes, 0);
}

Dim window_count(InferContext& context, const Dim& in, const WindowAxis& axis) {
  const std::int64_t reach = axis.dilation * (axis.kernel - 1) + 1;
  const Dim padded = in + Dim(axis.low) + Dim(axis.high);
  const std::int64_t room = axis.ceil ? axis.stride - 1 : 0;
  if (padded.value() && *padded.value() + room < reach)
    context.fail_shape(
        fmt::format("a window that reaches over {} elements does not fit into {} padded ones", reach, *padded.value()));
  Dim count = floor_div(padded - Dim(reach) + Dim(room), axis.stride) + Dim(1);
  if (axis.ceil) {
    const Dim starts = ceil_div(in + Dim(axis.low), axis.stride);
    count = count + starts - max(count, starts);  // the smaller one
  }
  if (!count.is_static()) context.require_equal(max(count, Dim(1)), count, "the number of windows and at least one");
  return count;
}

}  // namespace weft::ops
