// Ops that move or reinterpret data: lookups, views, slices.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "weft/backend/cpu/lowering.h"
#include "weft/backend/cpu/packed_matrix.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/base/block_codec.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"

namespace weft::cpu {
namespace {

using lir::Frame;
using lir::Operand;

// --- lookups ------------------------------------------------------------------------------------------------------

// Whole rows of a table by index: of weights as the file has them, of packed weights, or of a run's own values.
class RowsStep final : public lir::Step {
 public:
  struct Plan {
    Operand table, indices, y;
    lir::WeightId panels = lir::none;  // where the table is packed
    std::int64_t width = 0;            // elements of a row
    bool wrap = false;
  };
  explicit RowsStep(Plan plan) : plan_(std::move(plan)) {}

  void run(const Frame& frame) const override {
    const std::int64_t count = frame.numel(plan_.indices), width = plan_.width;
    const PackedMatrix* packed = plan_.panels == lir::none ? nullptr : &frame.weight<PackedMatrix>(plan_.panels);
    const std::int64_t size = packed != nullptr ? packed->rows() : frame.dim(plan_.table, 0);
    const auto* indices = frame.data<std::int32_t>(plan_.indices);
    for (std::int64_t i = 0; i < count; ++i)
      if (indices[i] >= size || indices[i] < (plan_.wrap ? -size : 0))
        fail(ErrorKind::out_of_range, "IndexOutOfRange", "",
             "index {} at element {} is outside axis 0 of size {} ({}..{} are allowed)", indices[i], i, size,
             plan_.wrap ? -size : 0, size - 1);
    const bool decode = packed == nullptr && plan_.table.dtype != plan_.y.dtype;
    const std::size_t element = dtype_info(plan_.y.dtype).block_bytes;
    const std::size_t out_bytes = static_cast<std::size_t>(width) * element;
    const std::size_t row_bytes = packed != nullptr ? 0 : byte_size(plan_.table.dtype, std::array{width});
    auto* y = frame.data<std::byte>(plan_.y);
    const auto* table = packed != nullptr ? nullptr : frame.data<std::byte>(plan_.table);
    frame.pool->parallel_for(count, std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(width, 1)),
                             [&](std::int64_t begin, std::int64_t end) {
                               for (std::int64_t i = begin; i < end; ++i) {
                                 const std::int64_t row = indices[i] < 0 ? indices[i] + size : indices[i];
                                 std::byte* out = y + static_cast<std::size_t>(i) * out_bytes;
                                 if (packed != nullptr)
                                   packed->decode_row(row, reinterpret_cast<float*>(out));
                                 else if (decode)
                                   decode_to_f32(plan_.table.dtype,
                                                 {table + static_cast<std::size_t>(row) * row_bytes, row_bytes},
                                                 {reinterpret_cast<float*>(out), static_cast<std::size_t>(width)});
                                 else
                                   std::memcpy(out, table + static_cast<std::size_t>(row) * row_bytes, row_bytes);
                               }
                             });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.activation_bytes = 8 * count_of(plan_.y, sizes)};
  }

 private:
  Plan plan_;
};

std::string refuse_gather(const Graph& graph, const Node& node) {
  const TensorType& table = graph.type(node.inputs[0]);
  if (node.integer("axis") != 0) return "the axis is not the first";
  if (graph.type(node.inputs[1]).dtype != DType::i32) return "the indices are not i32";
  if (table.shape.rank() < 1) return "the table has no rows";
  for (std::size_t i = 1; i < table.shape.rank(); ++i)
    if (!table.shape[i].is_static()) return "the width of a row is not known";
  return {};
}

// A matrix that some product keeps packed is not kept as the file has it too.
bool is_packed_elsewhere(Lowering& lowering, Value table) {
  for (const Value user : lowering.builder.users(table)) {
    const Node& node = lowering.node(user.node);
    const LoweringRule* rule = find_lowering_rule(lowering.graph(), node);
    const bool linear = rule >= linear_rules().data() && rule < linear_rules().data() + linear_rules().size();
    if (linear && is_weight_operand(node, static_cast<std::size_t>(user.port))) return true;
  }
  return false;
}

void emit_gather(Lowering& lowering, std::int32_t index) {
  lir::ProgramBuilder& builder = lowering.builder;
  const Node& node = lowering.node(index);
  const TensorType& table = lowering.graph().type(node.inputs[0]);
  RowsStep::Plan plan;
  plan.width = 1;
  for (std::size_t i = 1; i < table.shape.rank(); ++i) plan.width *= *table.shape[i].value();
  plan.wrap = node.text("negative") == "wrap";
  plan.indices = builder.operand(node.inputs[1]);
  lir::Instruction instruction{.op = "Gather", .kernel = {}, .backend = "cpu", .node = index};
  instruction.inputs = {plan.indices};
  if (node.outputs[0].type.dtype == DType::f32 && builder.is_weight(node.inputs[0]) &&
      is_packed_elsewhere(lowering, node.inputs[0])) {
    plan.panels = builder.weight(node.inputs[0], panel_form());
    instruction.weights = {plan.panels};
    instruction.kernel = fmt::format("rows of {} panels", to_string(table.dtype));
  } else {
    plan.table = builder.operand(node.inputs[0]);
    instruction.inputs.push_back(plan.table);
    instruction.kernel = fmt::format("rows of {}", to_string(table.dtype));
  }
  plan.y = builder.allocate({index, 0});
  instruction.outputs = {plan.y};
  instruction.step = std::make_unique<RowsStep>(std::move(plan));
  builder.emit(std::move(instruction));
}

// --- conversions --------------------------------------------------------------------------------------------------

class ConvertStep final : public lir::Step {
 public:
  ConvertStep(Operand x, Operand y, CpuLevel level)
      : x_(std::move(x)), y_(std::move(y)), kernels_(vector_kernels(level)) {}
  void run(const Frame& frame) const override {
    frame.pool->parallel_for(frame.numel(y_), 8192, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t count = end - begin;
      const auto* narrow = frame.data<std::uint16_t>(x_) + begin;
      auto* out = frame.data<std::uint16_t>(y_) + begin;
      if (x_.dtype == DType::f16)
        kernels_.f16_to_f32(narrow, frame.data(y_) + begin, count);
      else if (x_.dtype == DType::bf16)
        kernels_.bf16_to_f32(narrow, frame.data(y_) + begin, count);
      else if (y_.dtype == DType::f16)
        kernels_.f32_to_f16(frame.data(x_) + begin, out, count);
      else
        kernels_.f32_to_bf16(frame.data(x_) + begin, out, count);
    });
  }
  lir::Cost cost(const std::int64_t* sizes) const override { return {.activation_bytes = 6 * count_of(y_, sizes)}; }

 private:
  Operand x_, y_;
  const VectorKernels& kernels_;
};

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

std::string refuse_convert(const Graph& graph, const Node& node) {
  const DType from = graph.type(node.inputs[0]).dtype, to = node.outputs[0].type.dtype;
  return (is_half(from) && to == DType::f32) || (from == DType::f32 && is_half(to)) ? "" : "no kernel for the dtypes";
}

void emit_convert(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const Operand x = lowering.builder.operand(node.inputs[0]), y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{
      .op = node.schema->name, .kernel = kernel_name("convert", lowering.level), .backend = "cpu"};
  instruction.node = index;
  instruction.inputs = {x};
  instruction.outputs = {y};
  instruction.step = std::make_unique<ConvertStep>(x, y, lowering.level);
  lowering.builder.emit(std::move(instruction));
}

// --- views --------------------------------------------------------------------------------------------------------

// The same bytes under the result's dims.
void emit_view(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  Operand view = lowering.builder.operand(node.inputs[0]);
  view.dtype = node.outputs[0].type.dtype;
  view.dims = lowering.builder.sizes().add(node.outputs[0].type.shape);
  lowering.builder.bind({index, 0}, std::move(view));
}

std::string refuse_nothing(const Graph&, const Node&) { return {}; }

}  // namespace

std::span<const LoweringRule> movement_rules() {
  static constexpr LoweringRule rules[] = {
      {"Gather", refuse_gather, emit_gather},      {"Decode", refuse_convert, emit_convert},
      {"Cast", refuse_convert, emit_convert},      {"Reshape", refuse_nothing, emit_view},
      {"StopGradient", refuse_nothing, emit_view},
  };
  return rules;
}

}  // namespace weft::cpu
