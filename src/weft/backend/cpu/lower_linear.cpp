// Products with weights: MatMul and the fused forms of it.
#include <algorithm>
#include <memory>
#include <utility>

#include "weft/backend/cpu/linear.h"
#include "weft/backend/cpu/lowering.h"
#include "weft/backend/cpu/packed_matrix.h"
#include "weft/backend/cpu/unary_kind.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/base/fail.h"
#include "weft/base/mapped_file.h"
#include "weft/base/thread_pool.h"
#include "weft/ops/fused_matmul.h"

namespace weft::cpu {
namespace {

using lir::Cost;
using lir::Frame;
using lir::Operand;
using lir::SizeId;
using lir::WeightId;

class PanelForm final : public lir::WeightForm {
 public:
  std::string name() const override { return "panels"; }
  std::size_t byte_size(const TensorType& type) const override {
    return PackedMatrix::packed_bytes(type.dtype, *type.shape[0].value(), *type.shape[1].value());
  }
  std::shared_ptr<const void> prepare(const Tensor& weight, ThreadPool& pool) const override {
    return std::make_shared<PackedMatrix>(
        PackedMatrix::pack(weight, pool, [](std::span<const std::byte> done) { MappedFile::release(done); }));
  }
};

// --- activations --------------------------------------------------------------------------------------------------

// Rows of x, or of RmsNorm(x), as int8.
class QuantizeStep final : public lir::Step {
 public:
  struct Plan {
    Operand x, gain, out;  // gain: of the norm, if there is one
    std::int64_t columns = 0;
    float eps = 0;
  };
  QuantizeStep(Plan plan, CpuLevel level)
      : plan_(std::move(plan)), kernels_(linear_kernels(level)), vector_(vector_kernels(level)) {}

  void run(const Frame& frame) const override {
    const std::int64_t columns = plan_.columns, rows = frame.numel(plan_.x) / columns;
    const MutableQuantizedRows out = rows_at(frame, plan_.out, rows, columns);
    const float *x = frame.data(plan_.x), *gain = plan_.gain.defined() ? frame.data(plan_.gain) : nullptr;
    frame.pool->parallel_for(
        rows, std::max<std::int64_t>(1, 16384 / columns), [&](std::int64_t first, std::int64_t last) {
          if (gain == nullptr) return kernels_.quantize(x, columns, first, last, out);
          // A normed row is read while it is in the first cache, and then no more.
          auto* normed = reinterpret_cast<float*>(frame.scratch_of(ThreadPool::thread_index()));
          for (std::int64_t row = first; row < last; ++row) {
            vector_.rms_norm(x + row * columns, columns, 1, columns, gain, nullptr, plan_.eps, normed, columns);
            kernels_.quantize(normed, 0, row, row + 1, out);
          }
        });
  }
  std::size_t thread_scratch_bytes(const std::int64_t*) const override {
    return plan_.gain.defined() ? static_cast<std::size_t>(plan_.columns) * sizeof(float) : 0;
  }
  Cost cost(const std::int64_t* sizes) const override {
    const double count = count_of(plan_.x, sizes);
    return {.flops = (plan_.gain.defined() ? 7 : 3) * count, .activation_bytes = 5 * count};
  }

  static MutableQuantizedRows rows_at(const Frame& frame, const Operand& operand, std::int64_t rows,
                                      std::int64_t columns) {
    return quantized_rows(
        {frame.data<std::byte>(operand), quantized_row_bytes(columns) * static_cast<std::size_t>(rows)}, rows, columns);
  }

 private:
  Plan plan_;
  const LinearKernels& kernels_;
  const VectorKernels& vector_;
};

// The rows of x, or of their norm, as int8, made once for all products that read them.
Operand quantized(Lowering& lowering, Value x, std::optional<RowNorm> norm, std::int64_t columns, std::int32_t node) {
  lir::ProgramBuilder& builder = lowering.builder;
  QuantizeStep::Plan plan{.x = builder.operand(x), .gain = {}, .out = {}, .columns = columns};
  std::string key = fmt::format("int8 rows {}+{} /{}", plan.x.buffer, plan.x.offset, columns);
  if (norm) {
    plan.gain = builder.operand(norm->gain);
    plan.eps = static_cast<float>(norm->eps);
    key += fmt::format(" normed {}:{} {}", norm->gain.node, norm->gain.port, norm->eps);
  }
  return builder.shared_helper(key, [&] {
    const auto rows = exact_div(lowering.graph().type(x).shape.numel(), Dim(columns));
    const Dim count = rows ? *rows : floor_div(lowering.graph().type(x).shape.numel(), columns);
    const Dim bytes = count * Dim(static_cast<std::int64_t>(quantized_row_bytes(columns)));
    plan.out = builder.helper(lowering.graph().label(x) + " as int8", bytes, DType::i8, {bytes});
    lir::Instruction instruction{.op = norm ? "NormQuantize" : "Quantize",
                                 .kernel = kernel_name(norm ? "rms norm to int8 rows" : "int8 rows", lowering.level),
                                 .backend = "cpu",
                                 .node = node};
    instruction.inputs = {plan.x};
    if (norm) instruction.inputs.push_back(plan.gain);
    instruction.outputs = {plan.out};
    instruction.step = std::make_unique<QuantizeStep>(plan, lowering.level);
    builder.emit(std::move(instruction));
    return plan.out;
  });
}

// --- the product --------------------------------------------------------------------------------------------------

struct Projection {
  WeightId weight = lir::none;
  std::int64_t rows = 0;  // of the weight
  Operand bias = {};      // f32 [rows], or none
  Operand y = {};         // the gate's is the result of a gated product
};

struct LinearPlan {
  Operand x, quantized;  // quantized: where the weights are integers
  std::int64_t columns = 0;
  std::vector<Projection> projections;
  bool gated = false;  // y = act(projection 0) * projection 1
  std::optional<UnaryKind> activation;
  Operand residual;
  bool integer = false;
  std::vector<double> weight_bytes;
};

// Panels that a kernel takes at a time: enough of them side by side to hide the latency of a sum.
constexpr std::int64_t unit_panels = 4;
constexpr std::int64_t unit_rows = unit_panels * PackedMatrix::panel_rows;

class LinearStep final : public lir::Step {
 public:
  LinearStep(LinearPlan plan, CpuLevel level)
      : plan_(std::move(plan)), linear_(linear_kernels(level)), vector_(vector_kernels(level)) {
    for (const Projection& projection : plan_.projections) units_ += units_of(projection);
    if (plan_.gated) units_ = units_of(plan_.projections[0]);
  }

  void run(const Frame& frame) const override {
    const std::int64_t rows = frame.numel(plan_.x) / plan_.columns;
    if (rows == 0) return;
    QuantizedRows quantized;
    if (plan_.integer) quantized = QuantizeStep::rows_at(frame, plan_.quantized, rows, plan_.columns);
    frame.pool->parallel_for(units_, 1, [&](std::int64_t begin, std::int64_t end) {
      std::byte* scratch = frame.scratch_of(ThreadPool::thread_index());
      std::int64_t first = 0;  // unit that the projection begins with
      for (std::size_t i = 0; i < plan_.projections.size(); ++i) {
        const std::int64_t units = units_of(plan_.projections[i]);
        const std::int64_t from = std::max(begin, first) - first, to = std::min(end, first + units) - first;
        // Many rows: one unit at a time keeps its weights and results in cache.
        const std::int64_t stride = rows > 8 ? 1 : to - from;
        for (std::int64_t unit = from; unit < to; unit += stride)
          plan_.gated ? gated(frame, quantized, rows, unit, unit + stride, scratch)
                      : plain(frame, plan_.projections[i], quantized, rows, unit, unit + stride, scratch);
        if (plan_.gated) break;
        first += units;
      }
    });
  }

  std::size_t thread_scratch_bytes(const std::int64_t* sizes) const override {
    std::int64_t rows = 1;
    for (const SizeId id : plan_.x.dims) rows *= sizes[id];
    rows = std::max<std::int64_t>(rows / plan_.columns, 1);
    return kernel_scratch(rows) + (plan_.gated ? gate_bytes(rows) : 0);
  }

  Cost cost(const std::int64_t* sizes) const override {
    const double rows = count_of(plan_.x, sizes) / static_cast<double>(plan_.columns);
    double outputs = 0;
    Cost cost;
    for (std::size_t i = 0; i < plan_.projections.size(); ++i) {
      outputs += static_cast<double>(plan_.projections[i].rows);
      cost.weight_bytes += plan_.weight_bytes[i];
    }
    cost.flops = 2 * rows * outputs * static_cast<double>(plan_.columns);
    cost.activation_bytes = rows * (outputs * 4 + static_cast<double>(plan_.columns) * (plan_.integer ? 1.2 : 4));
    return cost;
  }

 private:
  static std::int64_t units_of(const Projection& projection) { return (projection.rows + unit_rows - 1) / unit_rows; }

  std::size_t kernel_scratch(std::int64_t rows) const { return linear_.scratch_bytes(rows); }
  // Where the second product of a gated one goes: a unit for many rows, a thread's whole share for few.
  std::size_t gate_bytes(std::int64_t rows) const {
    // Planned for many rows, a run may still have few.
    return static_cast<std::size_t>(std::max(rows, 8 * units_) * unit_rows) * sizeof(float);
  }

  void product(const Frame& frame, const Projection& projection, const QuantizedRows& quantized, std::int64_t rows,
               std::int64_t from, std::int64_t to, float* y, std::int64_t y_stride, std::byte* scratch) const {
    const auto& weight = frame.weight<PackedMatrix>(projection.weight);
    const std::int64_t first = from * unit_panels, last = std::min(to * unit_panels, weight.panels());
    if (plan_.integer)
      linear_.integer(weight, quantized, first, last, y, y_stride, scratch);
    else
      linear_.floating(weight, frame.data(plan_.x), plan_.columns, rows, first, last, y, y_stride, scratch);
  }

  // Columns [begin, end) of a projection that units cover.
  static std::pair<std::int64_t, std::int64_t> columns_of(const Projection& projection, std::int64_t from,
                                                          std::int64_t to) {
    return {from * unit_rows, std::min(to * unit_rows, projection.rows)};
  }

  void plain(const Frame& frame, const Projection& projection, const QuantizedRows& quantized, std::int64_t rows,
             std::int64_t from, std::int64_t to, std::byte* scratch) const {
    float* y = frame.data(projection.y);
    product(frame, projection, quantized, rows, from, to, y, projection.rows, scratch);
    const auto [begin, end] = columns_of(projection, from, to);
    const std::int64_t count = end - begin;
    const float* bias = projection.bias.defined() ? frame.data(projection.bias) + begin : nullptr;
    const float* residual = plan_.residual.defined() ? frame.data(plan_.residual) + begin : nullptr;
    if (bias == nullptr && residual == nullptr && !plan_.activation) return;
    for (std::int64_t r = 0; r < rows; ++r) {
      float* row = y + r * projection.rows + begin;
      if (bias != nullptr) vector_.binary(BinaryKind::add, {row, 0}, {bias, 0}, row, count);
      if (plan_.activation) vector_.unary(*plan_.activation, row, row, count, 1.0f);
      if (residual != nullptr)
        vector_.binary(BinaryKind::add, {row, 0}, {residual + r * projection.rows, 0}, row, count);
    }
  }

  void gated(const Frame& frame, const QuantizedRows& quantized, std::int64_t rows, std::int64_t from, std::int64_t to,
             std::byte* scratch) const {
    const Projection &gate = plan_.projections[0], &up = plan_.projections[1];
    const auto [begin, end] = columns_of(gate, from, to);
    const std::int64_t count = end - begin, stride = (to - from) * unit_rows;
    float* y = frame.data(gate.y);
    auto* other = reinterpret_cast<float*>(scratch + kernel_scratch(rows));
    product(frame, gate, quantized, rows, from, to, y, gate.rows, scratch);
    // The kernel writes where column `begin` of the matrix is.
    product(frame, up, quantized, rows, from, to, other - begin, stride, scratch);
    for (std::int64_t r = 0; r < rows; ++r) {
      float *g = y + r * gate.rows + begin, *u = other + r * stride;
      if (gate.bias.defined()) vector_.binary(BinaryKind::add, {g, 0}, {frame.data(gate.bias) + begin, 0}, g, count);
      if (up.bias.defined()) vector_.binary(BinaryKind::add, {u, 0}, {frame.data(up.bias) + begin, 0}, u, count);
      if (plan_.activation)
        vector_.gated(*plan_.activation, g, u, g, count);
      else
        vector_.binary(BinaryKind::mul, {g, 0}, {u, 0}, g, count);
    }
  }

  LinearPlan plan_;
  const LinearKernels& linear_;
  const VectorKernels& vector_;
  std::int64_t units_ = 0;
};

// --- rules --------------------------------------------------------------------------------------------------------

// Whether a value is a matrix [N, K] that the kernels take as the transposed right side.
std::string weight_refusal(const Graph& graph, Value w) {
  const TensorType& type = graph.type(w);
  const std::string& op = graph.node(w.node).schema->name;
  if (op != "Param" && op != "Constant") return "the right side is no weight";
  if (type.shape.rank() != 2 || !type.shape.is_static()) return "the weight is no matrix of known size";
  if (!PackedMatrix::packs(type.dtype, *type.shape[1].value()))
    return fmt::format("no kernel for {} weights with rows of {}", to_string(type.dtype), *type.shape[1].value());
  return {};
}

std::string product_refusal(const Graph& graph, const Node& node, std::span<const Value> weights) {
  if (!is_f32(graph, node.inputs[0])) return "the left side is not f32";
  if (!node.boolean("transpose_b")) return "the weight is not transposed";
  if (graph.type(node.inputs[0]).shape.rank() < 1) return "the left side has no rows";
  if (const auto norm = norm_of_rows(node); norm && !is_f32(graph, norm->gain)) return "the gain is not f32";
  for (const Value weight : weights)
    if (std::string refusal = weight_refusal(graph, weight); !refusal.empty()) return refusal;
  for (const Value weight : weights)
    if (is_block(graph.type(weight).dtype) != is_block(graph.type(weights[0]).dtype))
      return "integer and float weights in one product";
  for (const OutputInfo& output : node.outputs)
    if (output.type.dtype != DType::f32) return "the result is not f32";
  return {};
}

std::string bias_refusal(const Graph& graph, Value bias) {
  return bias.defined() && !is_f32(graph, bias) ? "the bias is not f32" : "";
}

std::string activation_refusal(const Node& node) {
  const std::string& kind = node.text("activation");
  return kind == "none" || unary_kind(kind) ? "" : "no kernel for the activation " + kind;
}

struct ProjectionValues {
  Value weight, bias, y;
};

// Emits the instruction; the results are allocated in the order of the projections.
void emit_linear(Lowering& lowering, std::int32_t index, std::vector<ProjectionValues> projections, LinearPlan plan,
                 Value residual = {}) {
  lir::ProgramBuilder& builder = lowering.builder;
  const Graph& graph = lowering.graph();
  const Node& node = graph.node(index);
  const auto norm = norm_of_rows(node);
  plan.x = builder.operand(node.inputs[0]);
  plan.columns = *graph.type(projections[0].weight).shape[1].value();
  plan.integer = is_block(graph.type(projections[0].weight).dtype);
  if (plan.integer)
    plan.quantized = quantized(lowering, node.inputs[0], norm, plan.columns, index);
  else if (norm)
    plan.x = normed_rows(lowering, node.inputs[0], norm->gain, norm->eps, index);
  if (residual.defined()) plan.residual = builder.operand(residual);
  lir::Instruction instruction{.op = node.schema->name, .kernel = {}, .backend = "cpu", .node = index};
  instruction.inputs = {plan.integer ? plan.quantized : plan.x};
  std::string types;
  for (const ProjectionValues& values : projections) {
    const TensorType& type = graph.type(values.weight);
    Projection projection{.weight = builder.weight(values.weight, panel_form()), .rows = *type.shape[0].value()};
    plan.weight_bytes.push_back(
        static_cast<double>(PackedMatrix::packed_bytes(type.dtype, projection.rows, plan.columns)));
    if (values.bias.defined()) {
      projection.bias = builder.operand(values.bias);
      instruction.inputs.push_back(projection.bias);
    }
    if (values.y.defined()) {
      projection.y = builder.allocate(values.y);
      instruction.outputs.push_back(projection.y);
    }
    instruction.weights.push_back(projection.weight);
    const std::string type_name(to_string(type.dtype));
    if (types.find(type_name) == std::string::npos) types += (types.empty() ? "" : "+") + type_name;
    plan.projections.push_back(std::move(projection));
  }
  if (plan.residual.defined()) instruction.inputs.push_back(plan.residual);
  instruction.kernel = kernel_name("linear " + types, lowering.level);
  instruction.step = std::make_unique<LinearStep>(std::move(plan), lowering.level);
  builder.emit(std::move(instruction));
}

std::string refuse_matmul(const Graph& graph, const Node& node) {
  if (node.boolean("transpose_a")) return "the left side is transposed";
  return product_refusal(graph, node, std::span(node.inputs).subspan(1, 1));
}

void emit_matmul(Lowering& lowering, std::int32_t index) {
  emit_linear(lowering, index, {{lowering.node(index).inputs[1], {}, {index, 0}}}, {});
}

std::string refuse_bias_act(const Graph& graph, const Node& node) {
  if (std::string refusal = product_refusal(graph, node, std::span(node.inputs).subspan(1, 1)); !refusal.empty())
    return refusal;
  if (std::string refusal = activation_refusal(node); !refusal.empty()) return refusal;
  return node.inputs.size() > 2 ? bias_refusal(graph, node.inputs[2]) : "";
}

void emit_bias_act(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const auto operand = [&](std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : Value{}; };
  LinearPlan plan;
  plan.activation = unary_kind(node.text("activation"));
  emit_linear(lowering, index, {{operand(1), operand(2), {index, 0}}}, std::move(plan), operand(3));
}

std::string refuse_shared(const Graph& graph, const Node& node) {
  const SharedProjections projections = shared_projections(node);
  for (const Value bias : projections.biases)
    if (std::string refusal = bias_refusal(graph, bias); !refusal.empty()) return refusal;
  return product_refusal(graph, node, projections.weights);
}

void emit_shared(Lowering& lowering, std::int32_t index) {
  const SharedProjections projections = shared_projections(lowering.node(index));
  std::vector<ProjectionValues> values;
  for (std::size_t i = 0; i < projections.weights.size(); ++i)
    values.push_back({projections.weights[i], projections.biases[i], {index, static_cast<std::int32_t>(i)}});
  emit_linear(lowering, index, std::move(values), {});
}

std::string refuse_gated(const Graph& graph, const Node& node) {
  for (std::size_t i = 3; i < std::min<std::size_t>(node.inputs.size(), 5); ++i)
    if (std::string refusal = bias_refusal(graph, node.inputs[i]); !refusal.empty()) return refusal;
  if (std::string refusal = activation_refusal(node); !refusal.empty()) return refusal;
  return product_refusal(graph, node, std::span(node.inputs).subspan(1, 2));
}

void emit_gated(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const auto operand = [&](std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : Value{}; };
  LinearPlan plan;
  plan.gated = true;
  plan.activation = unary_kind(node.text("activation"));
  emit_linear(lowering, index, {{operand(1), operand(3), {index, 0}}, {operand(2), operand(4), {}}}, std::move(plan));
}

}  // namespace

std::shared_ptr<const lir::WeightForm> panel_form() {
  static const auto form = std::make_shared<const PanelForm>();
  return form;
}

bool is_weight_operand(const Node& node, std::size_t operand) {
  if (node.schema->name == "FusedSharedMatMul")
    return operand >= 1 && operand <= shared_projections(node).weights.size();
  return operand == 1 || (operand == 2 && node.schema->name == "FusedGatedMatMul");
}

std::span<const LoweringRule> linear_rules() {
  static constexpr LoweringRule rules[] = {
      {"MatMul", refuse_matmul, emit_matmul},
      {"FusedMatMulBiasAct", refuse_bias_act, emit_bias_act},
      {"FusedSharedMatMul", refuse_shared, emit_shared},
      {"FusedGatedMatMul", refuse_gated, emit_gated},
  };
  return rules;
}

}  // namespace weft::cpu
