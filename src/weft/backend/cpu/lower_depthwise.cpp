// Convolutions whose output channels read one input channel each: a padded copy of the plane, and rows of sums over it.
#include "weft/backend/cpu/lower_conv.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "weft/backend/cpu/vector_kernels.h"
#include "weft/backend/cpu/window_tile.h"
#include "weft/base/thread_pool.h"
#include "weft/ops/windows.h"

namespace weft::cpu {
namespace {

using lir::Frame;
using lir::Operand;

class DepthwiseStep final : public lir::Step {
 public:
  DepthwiseStep(ConvOperands at, ops::Windows windows, std::size_t axes, bool nearest, CpuLevel level)
      : at_(std::move(at)), windows_(windows), axes_(axes), nearest_(nearest), kernels_(vector_kernels(level)) {}

  void run(const Frame& frame) const override {
    const ops::ImageDims in = image(frame.sizes, at_.x), out = image(frame.sizes, at_.y);
    if (out.batch * out.channels * out.pixels() == 0) return;
    const ops::ImageDims padded = padded_dims(out);
    auto* offsets = reinterpret_cast<std::int64_t*>(frame.scratch);
    std::int64_t tap = 0;
    for (std::int64_t a = 0; a < windows_.axes[0].kernel; ++a)
      for (std::int64_t b = 0; b < windows_.axes[1].kernel; ++b)
        for (std::int64_t c = 0; c < windows_.axes[2].kernel; ++c)
          offsets[tap++] = place(padded, a * windows_.axes[0].dilation, b * windows_.axes[1].dilation,
                                 c * windows_.axes[2].dilation);
    const std::int64_t outputs = out.channels / in.channels;  // of an input channel
    const std::int64_t work = padded.pixels() + outputs * out.pixels() * tap;
    frame.pool->parallel_for(in.batch * in.channels, 1 + 65536 / work, [&](std::int64_t begin, std::int64_t end) {
      auto* plane = frame.scratch_of<float>(ThreadPool::thread_index());
      for (std::int64_t unit = begin; unit < end; ++unit) {
        pad(frame.data(at_.x) + unit * in.pixels(), in, padded, plane);
        for (std::int64_t k = 0; k < outputs; ++k) {
          const std::int64_t channel = unit % in.channels * outputs + k;
          FilterRow row{.offsets = offsets, .weights = frame.data(at_.w) + channel * tap, .taps = tap};
          row.step = windows_.axes[2].stride;
          row.bias = at_.bias.defined() ? frame.data(at_.bias)[channel] : 0;
          row.out = frame.data(at_.y) + (unit * outputs + k) * out.pixels();
          row.count = out.spatial[2];
          for (std::int64_t a = 0; a < out.spatial[0]; ++a)
            for (std::int64_t b = 0; b < out.spatial[1]; ++b, row.out += row.count) {
              row.x = plane + place(padded, a * windows_.axes[0].stride, b * windows_.axes[1].stride, 0);
              kernels_.filter_row(row);
            }
        }
      }
    });
  }

  std::size_t scratch_bytes(const std::int64_t*, int) const override {
    return static_cast<std::size_t>(windows_.taps()) * sizeof(std::int64_t);
  }
  std::size_t thread_scratch_bytes(const std::int64_t* sizes) const override {
    // A row reads a few results behind its last.
    const std::int64_t behind = 32 * windows_.axes[2].stride + 32;
    return static_cast<std::size_t>(padded_dims(image(sizes, at_.y)).pixels() + behind) * sizeof(float);
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    const double y = count_of(at_.y, sizes);
    return {.flops = 2 * y * static_cast<double>(windows_.taps()),
            .activation_bytes = 4 * (count_of(at_.x, sizes) + y)};
  }

 private:
  ops::ImageDims image(const std::int64_t* sizes, const Operand& operand) const {
    return conv_image(sizes, operand, axes_);
  }
  // What all windows together reach over.
  ops::ImageDims padded_dims(const ops::ImageDims& out) const {
    ops::ImageDims padded;
    for (int i = 0; i < 3; ++i) {
      const ops::WindowAxis& axis = windows_.axes[i];
      padded.spatial[i] =
          std::max<std::int64_t>(out.spatial[i] - 1, 0) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
    }
    return padded;
  }
  static std::int64_t place(const ops::ImageDims& image, std::int64_t a, std::int64_t b, std::int64_t c) {
    return (a * image.spatial[1] + b) * image.spatial[2] + c;
  }

  void pad(const float* x, const ops::ImageDims& in, const ops::ImageDims& padded, float* plane) const {
    const std::int64_t width = padded.spatial[2];
    for (std::int64_t a = 0; a < padded.spatial[0]; ++a)
      for (std::int64_t b = 0; b < padded.spatial[1]; ++b, plane += width) {
        std::int64_t i = a - windows_.axes[0].low, j = b - windows_.axes[1].low;
        if (nearest_) {
          i = std::clamp<std::int64_t>(i, 0, in.spatial[0] - 1);
          j = std::clamp<std::int64_t>(j, 0, in.spatial[1] - 1);
        }
        if (i < 0 || i >= in.spatial[0] || j < 0 || j >= in.spatial[1] || in.spatial[2] == 0) {
          std::fill_n(plane, width, 0.0f);
          continue;
        }
        const float* row = x + place(in, i, j, 0);
        copy_row(kernels_, row, in.spatial[2], -windows_.axes[2].low, 1, width, nearest_ ? row[0] : 0.0f,
                 nearest_ ? row[in.spatial[2] - 1] : 0.0f, plane);
      }
  }

  ConvOperands at_;
  ops::Windows windows_;
  std::size_t axes_;
  bool nearest_;
  const VectorKernels& kernels_;
};

}  // namespace

std::unique_ptr<lir::Step> depthwise_step(ConvOperands at, const ops::Windows& windows, std::size_t axes, bool nearest,
                                          CpuLevel level) {
  return std::make_unique<DepthwiseStep>(std::move(at), windows, axes, nearest, level);
}

}  // namespace weft::cpu
