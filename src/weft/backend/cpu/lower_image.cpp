// Pooling, resizing and images from patches.
#include <algorithm>
#include <memory>
#include <utility>

#include "weft/backend/cpu/lowering.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/backend/cpu/window_tile.h"
#include "weft/base/thread_pool.h"
#include "weft/ops/patches.h"
#include "weft/ops/resize.h"
#include "weft/ops/windows.h"

namespace weft::cpu {
namespace {

using lir::Frame;
using lir::Operand;

// Emits a step of the operands x and y.
template <class Step, class... Args>
void emit_step(Lowering& lowering, std::int32_t index, const char* kernel, Args&&... args) {
  lir::ProgramBuilder& builder = lowering.builder;
  Operand x = builder.operand(lowering.node(index).inputs[0]), y = builder.allocate({index, 0});
  lir::Instruction instruction{.op = lowering.node(index).schema->name,
                               .kernel = kernel_name(kernel, lowering.level),
                               .backend = "cpu",
                               .node = index,
                               .inputs = {x},
                               .outputs = {y}};
  instruction.step = std::make_unique<Step>(std::move(x), std::move(y), std::forward<Args>(args)...);
  builder.emit(std::move(instruction));
}

// x as planes of one to three spatial axes.
struct Planes {
  std::int64_t count = 1;
  ops::ImageDims image;

  Planes(const Frame& frame, const Operand& operand, std::size_t spatial_axes) {
    const std::size_t lead = operand.dims.size() - spatial_axes;
    for (std::size_t i = 0; i < lead; ++i) count *= frame.dim(operand, i);
    for (std::size_t i = 0; i < spatial_axes; ++i) image.spatial[3 - spatial_axes + i] = frame.dim(operand, lead + i);
  }
};

// --- pooling ------------------------------------------------------------------------------------------------------

constexpr std::int64_t pool_rows = 64;  // of a tile, at a time

class PoolStep final : public lir::Step {
 public:
  PoolStep(Operand x, Operand y, ops::Windows windows, std::size_t axes, bool mean, CpuLevel level)
      : x_(std::move(x)),
        y_(std::move(y)),
        phase_(phases_of(windows, false).front()),
        windows_(windows),
        axes_(axes),
        mean_(mean),
        kernels_(vector_kernels(level)) {}

  void run(const Frame& frame) const override {
    const Planes in(frame, x_, axes_), out(frame, y_, axes_);
    const std::int64_t pixels = out.image.pixels(), tiles = (pixels + tile_columns - 1) / tile_columns;
    const float* x = frame.data(x_);
    float* y = frame.data(y_);
    const std::int64_t taps = phase_.taps();
    frame.pool->parallel_for(
        out.count * tiles, 1 + 16384 / (taps * tile_columns), [&](std::int64_t begin, std::int64_t end) {
          auto* rows = frame.scratch_of<float>(ThreadPool::thread_index());
          float *part = rows + pool_rows * tile_columns, *result = part + tile_columns;
          for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t plane = unit / tiles, start = unit % tiles * tile_columns;
            const Tile tile(phase_, out.image.spatial, start, std::min(tile_columns, pixels - start));
            for (std::int64_t k = 0; k < taps; k += pool_rows) {
              const std::int64_t depth = std::min(pool_rows, taps - k);
              tile.fill(kernels_, x + plane * in.image.pixels(), in.image, k, depth,
                        mean_ ? Outside::zero : Outside::lowest, rows);
              (mean_ ? kernels_.tile_sum : kernels_.tile_max)(rows, depth, k == 0 ? result : part);
              if (k > 0)
                kernels_.binary(mean_ ? BinaryKind::add : BinaryKind::max, {result, 0}, {part, 0}, result,
                                tile_columns);
            }
            if (mean_) {
              std::fill_n(part, tile_columns, static_cast<float>(taps));
              if (windows_.axes[2].ceil) count_elements(in.image, out.image, start, tile.count(), part);
              kernels_.binary(BinaryKind::div, {result, 0}, {part, 0}, result, tile_columns);
            }
            tile.store(result, out.image, y + plane * pixels);
          }
        });
  }
  std::size_t thread_scratch_bytes(const std::int64_t*) const override {
    return static_cast<std::size_t>((pool_rows + 2) * tile_columns) * sizeof(float);
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    const double y = count_of(y_, sizes);
    return {.flops = y * static_cast<double>(phase_.taps()), .activation_bytes = 4 * (count_of(x_, sizes) + y)};
  }

 private:
  // The elements of each window from result `start` on, without those beyond the padding.
  void count_elements(const ops::ImageDims& in, const ops::ImageDims& out, std::int64_t start, std::int64_t count,
                      float* sizes) const {
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t at = start + i, size = 1;
      for (std::size_t axis = 3; axis-- > 0; at /= out.spatial[axis]) {
        const ops::WindowAxis& w = windows_.axes[axis];
        size *= std::min(w.kernel, in.spatial[axis] + w.low + w.high - at % out.spatial[axis] * w.stride);
      }
      sizes[i] = static_cast<float>(size);
    }
  }

  Operand x_, y_;
  Phase phase_;
  ops::Windows windows_;
  std::size_t axes_;
  bool mean_;
  const VectorKernels& kernels_;
};

std::string refuse_f32(const Graph& graph, const Node& node) {
  return is_f32(graph, node.inputs[0]) ? "" : "the operand is not f32";
}

std::string refuse_pool(const Graph& graph, const Node& node) {
  for (const std::int64_t size : node.integers("kernel"))
    if (size > 65536) return "the kernel is too large";
  return refuse_f32(graph, node);
}

void emit_pool(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  emit_step<PoolStep>(lowering, index, "tiles", ops::windows_of(node), node.integers("kernel").size(),
                      node.text("kind") == "mean", lowering.level);
}

// --- resizing -----------------------------------------------------------------------------------------------------

class ResizeStep final : public lir::Step {
 public:
  ResizeStep(Operand x, Operand y, ops::Resize resize, CpuLevel level)
      : x_(std::move(x)), y_(std::move(y)), resize_(resize), kernels_(vector_kernels(level)) {}

  void run(const Frame& frame) const override {
    const std::size_t axes = x_.dims.size() - 2;
    const Planes in(frame, x_, axes), out(frame, y_, axes);
    const std::int64_t *from = in.image.spatial, *to = out.image.spatial, width = to[2];
    // Of the last axis, for all rows: the two elements of each result and the weight of the second.
    auto* first = reinterpret_cast<std::int32_t*>(frame.scratch);
    auto* second = first + width;
    auto* weights = reinterpret_cast<float*>(second + width);
    for (std::int64_t i = 0; i < width; ++i) {
      const ops::ResizeTap tap = ops::resize_tap(resize_, from[2], width, i);
      first[i] = static_cast<std::int32_t>(tap.first);
      second[i] = static_cast<std::int32_t>(tap.first + tap.count - 1);
      weights[i] = static_cast<float>(tap.second);
    }
    frame.pool->parallel_for(
        out.count * to[0] * to[1], 1 + 4096 / (width + 1), [&](std::int64_t begin, std::int64_t end) {
          auto* row = frame.scratch_of<float>(ThreadPool::thread_index());
          for (std::int64_t r = begin; r < end; ++r) {
            const std::int64_t plane = r / (to[0] * to[1]);
            const ops::ResizeTap a = along(from, to, 0, r / to[1] % to[0]), b = along(from, to, 1, r % to[1]);
            const float* x = frame.data(x_) + plane * in.image.pixels();
            float* y = frame.data(y_) + r * width;
            if (resize_.mode == ops::ResizeMode::nearest) {
              kernels_.pick(line(x, from, a.first, b.first), first, y, width);
            } else if (resize_.mode == ops::ResizeMode::linear) {
              kernels_.blend_picked(mixed(x, from, a, b, row), first, second, weights, y, width);
            } else {
              add_lines(x, from, a, b, row);
              for (std::int64_t i = 0; i < width; ++i) {
                float sum = 0;
                for (std::int64_t k = first[i]; k <= second[i]; ++k) sum += row[k];
                y[i] = sum / static_cast<float>(a.count * b.count * (second[i] - first[i] + 1));
              }
            }
          }
        });
  }
  std::size_t scratch_bytes(const std::int64_t* sizes, int) const override {
    return static_cast<std::size_t>(sizes[y_.dims.back()]) * 12;
  }
  std::size_t thread_scratch_bytes(const std::int64_t* sizes) const override {
    return static_cast<std::size_t>(sizes[x_.dims.back()]) * 2 * sizeof(float);
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    const double y = count_of(y_, sizes);
    return {.flops = 6 * y, .activation_bytes = 4 * (count_of(x_, sizes) + y)};
  }

 private:
  // The taps of an axis, of which there may be none.
  ops::ResizeTap along(const std::int64_t* from, const std::int64_t* to, std::size_t axis, std::int64_t i) const {
    return axis + x_.dims.size() < 5 ? ops::ResizeTap() : ops::resize_tap(resize_, from[axis], to[axis], i);
  }
  static const float* line(const float* x, const std::int64_t* from, std::int64_t i, std::int64_t j) {
    return x + (i * from[1] + j) * from[2];
  }

  // The line between up to two by two lines; `room` for two of them.
  const float* mixed(const float* x, const std::int64_t* from, const ops::ResizeTap& a, const ops::ResizeTap& b,
                     float* room) const {
    const auto in_plane = [&](std::int64_t i, float* out) {
      const float* top = line(x, from, i, b.first);
      if (b.count == 1) return top;
      kernels_.blend(top, top + from[2], static_cast<float>(b.second), out, from[2]);
      return static_cast<const float*>(out);
    };
    const float* front = in_plane(a.first, room);
    if (a.count == 1) return front;
    const float* back = in_plane(a.first + 1, room + from[2]);
    kernels_.blend(front, back, static_cast<float>(a.second), room, from[2]);
    return room;
  }

  void add_lines(const float* x, const std::int64_t* from, const ops::ResizeTap& a, const ops::ResizeTap& b,
                 float* sum) const {
    std::copy_n(line(x, from, a.first, b.first), from[2], sum);
    for (std::int64_t i = a.first; i < a.first + a.count; ++i)
      for (std::int64_t j = b.first; j < b.first + b.count; ++j)
        if (i != a.first || j != b.first)
          kernels_.binary(BinaryKind::add, {sum, 0}, {line(x, from, i, j), 0}, sum, from[2]);
  }

  Operand x_, y_;
  ops::Resize resize_;
  const VectorKernels& kernels_;
};

void emit_resize(Lowering& lowering, std::int32_t index) {
  emit_step<ResizeStep>(lowering, index, "resize", ops::resize_of(lowering.node(index)), lowering.level);
}

// --- patches ------------------------------------------------------------------------------------------------------

class UnpatchifyStep final : public lir::Step {
 public:
  UnpatchifyStep(Operand x, Operand y, ops::PatchLayout layout)
      : x_(std::move(x)), y_(std::move(y)), layout_(layout), element_(dtype_info(y_.dtype).block_bytes) {}

  void run(const Frame& frame) const override {
    if (frame.numel(y_) == 0) return;
    const std::int64_t x_dims[] = {frame.dim(x_, 0), frame.dim(x_, 1), frame.dim(x_, 2)};
    const std::int64_t y_dims[] = {frame.dim(y_, 0), frame.dim(y_, 1), frame.dim(y_, 2), frame.dim(y_, 3)};
    const ops::PatchGrid grid = ops::patch_grid(layout_, x_dims, y_dims);
    const std::int64_t patch = grid.channels * grid.high * grid.wide, width = grid.columns * grid.wide;
    const auto* x = frame.data<std::byte>(x_);
    auto* y = frame.data<std::byte>(y_);
    const auto bytes = static_cast<std::int64_t>(element_);
    // The lines of one row of patches and one channel at a time.
    frame.pool->parallel_for(grid.batch * grid.channels * grid.rows, 1 + 8192 / (width * grid.high),
                             [&](std::int64_t begin, std::int64_t end) {
                               for (std::int64_t unit = begin; unit < end; ++unit) {
                                 const std::int64_t row = unit % grid.rows, channel = unit / grid.rows % grid.channels;
                                 const std::int64_t n = unit / grid.rows / grid.channels;
                                 const std::int64_t at =
                                     (n * grid.rows + row) * grid.columns * patch + channel * grid.channel_stride;
                                 copy_strided(x + at * bytes, y + unit * grid.high * width * bytes,
                                              {.dims = {grid.high, grid.columns, grid.wide},
                                               .in_strides = {grid.line_stride, patch, grid.column_stride},
                                               .out_strides = {width, grid.wide, 1},
                                               .element_bytes = bytes});
                               }
                             });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.activation_bytes = 2 * static_cast<double>(element_) * count_of(y_, sizes)};
  }

 private:
  Operand x_, y_;
  ops::PatchLayout layout_;
  std::size_t element_;
};

std::string refuse_unpatchify(const Graph& graph, const Node& node) {
  const std::size_t bytes = dtype_info(graph.type(node.inputs[0]).dtype).block_bytes;
  return bytes <= 8 ? "" : "the elements are wider than 8 bytes";
}

void emit_unpatchify(Lowering& lowering, std::int32_t index) {
  emit_step<UnpatchifyStep>(lowering, index, "patches", ops::patch_layout(lowering.node(index)));
}

}  // namespace

std::span<const LoweringRule> image_rules() {
  static constexpr LoweringRule rules[] = {{"Pool", refuse_pool, emit_pool},
                                           {"Resize", refuse_f32, emit_resize},
                                           {"Unpatchify", refuse_unpatchify, emit_unpatchify}};
  return rules;
}

}  // namespace weft::cpu
