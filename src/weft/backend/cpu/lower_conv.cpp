// Convolutions and their transposes: for 64 neighboring results at a time, the elements that they read as the rows of
// a matrix, times panels of weights.
#include <algorithm>
#include <memory>
#include <utility>

#include "weft/backend/cpu/lower_conv.h"
#include "weft/backend/cpu/lowering.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/backend/cpu/window_tile.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ops/windows.h"

namespace weft::cpu {
namespace {

using lir::Frame;
using lir::Operand;

// Rows of a tile that are made, and multiplied, at a time, so that they stay in the first cache; and the most panels
// that share them.
constexpr std::int64_t depth_rows = 64, most_panels = 64;

struct ConvPlan {
  std::vector<Phase> phases;
  std::size_t spatial_axes = 2;
  std::int64_t groups = 1, in_channels = 0, out_channels = 0;  // channels of one group
  std::int64_t taps = 1;                                       // of the whole kernel
  Outside outside = Outside::zero;
  bool transposed = false;

  std::int64_t panels() const { return (out_channels + tile_panel_rows - 1) / tile_panel_rows; }
  std::int64_t depth(const Phase& phase) const { return in_channels * phase.taps(); }
  // Where the weights of a phase begin among the packed ones.
  std::int64_t packed_start(std::size_t phase) const {
    std::int64_t floats = 0;
    for (std::size_t i = 0; i < phase; ++i) floats += groups * panels() * tile_panel_rows * depth(phases[i]);
    return floats;
  }
  std::int64_t packed_floats() const { return packed_start(phases.size()); }
};

// Panels of each phase and group: [panel][channel * taps + tap][tile_panel_rows], 0 where there is no such row.
void pack(const ConvPlan& plan, const ops::Windows& windows, const float* w, float* packed, ThreadPool& pool) {
  const std::int64_t row_step = plan.transposed ? plan.taps : plan.in_channels * plan.taps;
  const std::int64_t channel_step = plan.transposed ? plan.out_channels * plan.taps : plan.taps;
  for (std::size_t p = 0; p < plan.phases.size(); ++p) {
    const Phase& phase = plan.phases[p];
    float* start = packed + plan.packed_start(p);
    const std::int64_t depth = plan.depth(phase), panels = plan.panels();
    pool.parallel_for(plan.groups * panels, 1 + 16384 / (4 * depth + 1), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t group = unit / panels, first = unit % panels * tile_panel_rows;
        const std::int64_t rows = std::min(tile_panel_rows, plan.out_channels - first);
        const float* from = w + group * plan.in_channels * plan.out_channels * plan.taps + first * row_step;
        float* out = start + unit * depth * tile_panel_rows;
        std::fill_n(out, depth * tile_panel_rows, 0.0f);
        for (std::int64_t channel = 0; channel < plan.in_channels; ++channel)
          for (const AxisPhase::Tap& a : phase.axes[0].taps)
            for (const AxisPhase::Tap& b : phase.axes[1].taps)
              for (const AxisPhase::Tap& c : phase.axes[2].taps) {
                const std::int64_t tap =
                    (a.kernel * windows.axes[1].kernel + b.kernel) * windows.axes[2].kernel + c.kernel;
                for (std::int64_t r = 0; r < rows; ++r) out[r] = from[channel * channel_step + r * row_step + tap];
                out += tile_panel_rows;
              }
      }
    });
  }
}

class ConvForm final : public lir::WeightForm {
 public:
  ConvForm(ConvPlan plan, ops::Windows windows) : plan_(std::move(plan)), windows_(windows) {}
  // Weights of one form are packed once, so the name tells all that decides the packing.
  std::string name() const override {
    std::string text = plan_.transposed ? "transposed panels" : "panels";
    for (const ops::WindowAxis& axis : windows_.axes)
      text += fmt::format(" {}", axis.kernel) +
              (plan_.transposed ? fmt::format("/{}-{}x{}", axis.stride, axis.low, axis.dilation) : "");
    return text + fmt::format(" of {} groups", plan_.groups);
  }
  std::size_t byte_size(const TensorType&) const override {
    return static_cast<std::size_t>(plan_.packed_floats()) * sizeof(float);
  }
  std::shared_ptr<const void> prepare(const Tensor& weight, ThreadPool& pool) const override {
    auto packed = std::make_shared<Tensor>(Tensor::allocate(DType::f32, {plan_.packed_floats()}));
    pack(plan_, windows_, weight.values<float>().data(), packed->mutable_values<float>().data(), pool);
    return packed;
  }

 private:
  ConvPlan plan_;
  ops::Windows windows_;
};

class ConvStep final : public lir::Step {
 public:
  ConvStep(ConvPlan plan, ops::Windows windows, ConvOperands operands, CpuLevel level)
      : plan_(std::move(plan)), windows_(windows), at_(std::move(operands)), kernels_(vector_kernels(level)) {}

  void run(const Frame& frame) const override {
    const ops::ImageDims in = image(frame, at_.x), out = image(frame, at_.y);
    if (out.batch * out.channels * out.pixels() == 0) return;
    const float* packed = nullptr;
    if (at_.weight != lir::none) {
      packed = frame.weight<Tensor>(at_.weight).values<float>().data();
    } else {
      auto* room = reinterpret_cast<float*>(frame.scratch);
      pack(plan_, windows_, frame.data(at_.w), room, *frame.pool);
      packed = room;
    }
    for (std::size_t p = 0; p < plan_.phases.size(); ++p)
      run_phase(frame, plan_.phases[p], packed + plan_.packed_start(p), in, out);
  }

  std::size_t scratch_bytes(const std::int64_t*, int) const override {
    return at_.weight != lir::none ? 0 : static_cast<std::size_t>(plan_.packed_floats()) * sizeof(float);
  }
  std::size_t thread_scratch_bytes(const std::int64_t*) const override {
    const std::int64_t rows = depth_rows + std::min(plan_.panels(), most_panels) * tile_panel_rows;
    return static_cast<std::size_t>(rows * tile_columns) * sizeof(float);
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    const double x = count_of(at_.x, sizes), y = count_of(at_.y, sizes);
    const auto terms = static_cast<double>(plan_.in_channels * plan_.taps);
    return {.flops =
                2 * terms *
                (plan_.transposed ? x / static_cast<double>(plan_.in_channels) * static_cast<double>(plan_.out_channels)
                                  : y),
            .weight_bytes = static_cast<double>(plan_.packed_floats()) * 4,
            .activation_bytes = 4 * (x + y)};
  }

 private:
  ops::ImageDims image(const Frame& frame, const Operand& operand) const {
    return conv_image(frame.sizes, operand, plan_.spatial_axes);
  }

  void run_phase(const Frame& frame, const Phase& phase, const float* packed, const ops::ImageDims& in,
                 const ops::ImageDims& out) const {
    std::int64_t counts[3], pixels = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const AxisPhase& along = phase.axes[axis];
      counts[axis] = std::max<std::int64_t>(0, (out.spatial[axis] - along.first + along.step - 1) / along.step);
      pixels *= counts[axis];
    }
    if (pixels == 0) return;
    const std::int64_t tiles = (pixels + tile_columns - 1) / tile_columns, panels = plan_.panels(),
                       depth = plan_.depth(phase);
    // Fewer panels for a tile where there are too few tiles for the threads.
    std::int64_t together = std::min(panels, most_panels);
    const std::int64_t pieces = out.batch * plan_.groups * tiles;
    while (together > 4 && pieces * ((panels + together - 1) / together) < 4 * frame.pool->size())
      together = (together + 1) / 2;
    const std::int64_t blocks = (panels + together - 1) / together;
    const std::int64_t worth = 65536 / (tile_columns * tile_panel_rows * together * (depth + 1)) + 1;
    frame.pool->parallel_for(pieces * blocks, worth, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t block = unit % blocks, tile = unit / blocks % tiles,
                           group = unit / blocks / tiles % plan_.groups;
        const std::int64_t n = unit / blocks / tiles / plan_.groups;
        const std::int64_t first = block * together, last = std::min(panels, first + together);
        const std::int64_t start = tile * tile_columns;
        const Tile of(phase, counts, start, std::min(tile_columns, pixels - start));
        const float* x = frame.data(at_.x) + (n * in.channels + group * plan_.in_channels) * in.pixels();
        auto* rows = frame.scratch_of<float>(ThreadPool::thread_index());
        float* sums = rows + depth_rows * tile_columns;
        multiply(of, x, in, packed + (group * panels + first) * depth * tile_panel_rows, depth, last - first, rows,
                 sums);
        float* y = frame.data(at_.y) + (n * out.channels + group * plan_.out_channels) * out.pixels();
        const float* bias = at_.bias.defined() ? frame.data(at_.bias) + group * plan_.out_channels : nullptr;
        for (std::int64_t c = first * tile_panel_rows; c < std::min(last * tile_panel_rows, plan_.out_channels); ++c) {
          float* row = sums + (c - first * tile_panel_rows) * tile_columns;
          if (bias != nullptr) kernels_.binary(BinaryKind::add, {row, 0}, {bias + c, 1}, row, of.count());
          of.store(row, out, y + c * out.pixels());
        }
      }
    });
  }

  void multiply(const Tile& tile, const float* x, const ops::ImageDims& in, const float* w, std::int64_t depth,
                std::int64_t panels, float* rows, float* sums) const {
    TileProduct product{.x = rows, .sums = sums, .w_stride = depth * tile_panel_rows, .panels = panels};
    product.columns = tile.count();
    for (std::int64_t k = 0; k == 0 || k < depth; k += depth_rows) {
      product.depth = std::min(depth_rows, depth - k);
      tile.fill(kernels_, x, in, k, product.depth, plan_.outside, rows);
      product.w = w + k * tile_panel_rows;
      product.add = k > 0;
      kernels_.tile_product(product);
    }
  }

  ConvPlan plan_;
  ops::Windows windows_;
  ConvOperands at_;
  const VectorKernels& kernels_;
};

// Attributes come from files: what is made once per tap and phase stays small, whatever they say.
bool within_reach(const ops::Windows& windows, bool transposed) {
  const std::int64_t most_taps = transposed ? 1024 : 65536, most_phases = 1024;
  std::int64_t taps = 0, phases = 1;
  for (const ops::WindowAxis& axis : windows.axes) {
    taps += axis.kernel;
    if (transposed) phases *= std::min(axis.stride, most_phases + 1);
  }
  return taps <= most_taps && phases <= most_phases;
}

// Whether planes with their padding are hardly larger than without.
bool has_small_margins(const ops::Windows& windows, std::size_t spatial_axes) {
  const std::int64_t most = spatial_axes == 1 ? 4096 : 64;
  return spatial_axes < 3 && std::all_of(std::begin(windows.axes), std::end(windows.axes), [&](const auto& axis) {
           return axis.low + axis.high + (axis.kernel - 1) * axis.dilation <= most;
         });
}

std::string refuse_conv(const Graph& graph, const Node& node) {
  for (const Value input : node.inputs)
    if (input.defined() && !is_f32(graph, input)) return "an operand is not f32";
  if (!graph.type(node.inputs[1]).shape.is_static()) return "the sizes of w are not known";
  return within_reach(ops::windows_of(node), node.schema->name == "ConvTranspose") ? "" : "the kernel is too large";
}

void emit(Lowering& lowering, std::int32_t index) {
  lir::ProgramBuilder& builder = lowering.builder;
  const Node& node = lowering.node(index);
  const auto w = *lowering.graph().type(node.inputs[1]).shape.static_dims();
  const ops::Windows windows = ops::windows_of(node);
  ConvPlan plan;
  plan.transposed = node.schema->name == "ConvTranspose";
  plan.phases = phases_of(windows, plan.transposed);
  plan.spatial_axes = node.integers("kernel").size();
  plan.groups = node.integer("groups");
  plan.in_channels = plan.transposed ? w[0] / plan.groups : w[1];
  plan.out_channels = plan.transposed ? w[1] : w[0] / plan.groups;
  plan.taps = windows.taps();
  if (!plan.transposed && node.text("pad_mode") == "replicate") plan.outside = Outside::nearest;
  ConvOperands at;
  at.x = builder.operand(node.inputs[0]);
  lir::Instruction instruction{.op = node.schema->name, .kernel = {}, .backend = "cpu", .node = index};
  instruction.inputs = {at.x};
  const bool depthwise = !plan.transposed && plan.in_channels == 1 && has_small_margins(windows, plan.spatial_axes);
  if (!depthwise && builder.is_weight(node.inputs[1])) {
    at.weight = builder.weight(node.inputs[1], std::make_shared<ConvForm>(plan, windows));
    instruction.weights = {at.weight};
  } else {
    at.w = builder.operand(node.inputs[1]);
    instruction.inputs.push_back(at.w);
  }
  if (node.inputs.size() > 2 && node.inputs[2].defined()) {
    at.bias = builder.operand(node.inputs[2]);
    instruction.inputs.push_back(at.bias);
  }
  at.y = builder.allocate({index, 0});
  instruction.outputs = {at.y};
  if (depthwise) {
    instruction.kernel = kernel_name("planes", lowering.level);
    instruction.step =
        depthwise_step(std::move(at), windows, plan.spatial_axes, plan.outside == Outside::nearest, lowering.level);
    return builder.emit(std::move(instruction));
  }
  instruction.kernel = kernel_name(plan.transposed ? "tiles of phases" : "tiles", lowering.level);
  instruction.step = std::make_unique<ConvStep>(std::move(plan), windows, std::move(at), lowering.level);
  builder.emit(std::move(instruction));
}

}  // namespace

std::span<const LoweringRule> conv_rules() {
  static constexpr LoweringRule rules[] = {{"Conv", refuse_conv, emit}, {"ConvTranspose", refuse_conv, emit}};
  return rules;
}

}  // namespace weft::cpu
