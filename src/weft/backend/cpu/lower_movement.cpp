// Ops that move or reinterpret data: lookups, views, slices.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <type_traits>
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

// Whole numbers as i32.
class IndexStep final : public lir::Step {
 public:
  IndexStep(Operand x, Operand y) : x_(std::move(x)), y_(std::move(y)) {}
  void run(const Frame& frame) const override {
    const std::int64_t count = frame.numel(y_);
    if (x_.dtype == DType::f32)
      convert(frame.data(x_), frame.data<std::int32_t>(y_), count);
    else if (x_.dtype == DType::i64)
      convert(frame.data<std::int64_t>(x_), frame.data<std::int32_t>(y_), count);
    else
      convert(frame.data<std::int32_t>(x_), frame.data<std::int32_t>(y_), count);
  }
  lir::Cost cost(const std::int64_t* sizes) const override { return {.activation_bytes = 8 * count_of(y_, sizes)}; }

 private:
  template <class T>
  static void convert(const T* x, std::int32_t* y, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, float>) {
        if (!(x[i] == std::trunc(x[i])) || std::isinf(x[i]))
          fail(ErrorKind::out_of_range, "NonIntegralIndex", "",
               "{} at element {} is no whole number: an index is expected", x[i], i);
        if (x[i] < -0x1p31f || x[i] >= 0x1p31f) refuse(x[i], i);
      } else if (x[i] != static_cast<std::int32_t>(x[i])) {
        refuse(x[i], i);
      }
      y[i] = static_cast<std::int32_t>(x[i]);
    }
  }
  template <class T>
  [[noreturn]] static void refuse(T value, std::int64_t at) {
    fail(ErrorKind::out_of_range, "IndexOutOfRange", "", "index {} at element {} does not fit i32", value, at);
  }

  Operand x_, y_;
};

std::string refuse_index(const Graph& graph, const Node& node) {
  const DType dtype = graph.type(node.inputs[0]).dtype;
  return dtype == DType::f32 || dtype == DType::i64 || dtype == DType::i32 ? "" : "no kernel for the dtype";
}

void emit_index(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const Operand x = lowering.builder.operand(node.inputs[0]), y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{.op = node.schema->name, .kernel = "indices", .backend = "cpu", .node = index};
  instruction.inputs = {x};
  instruction.outputs = {y};
  instruction.step = std::make_unique<IndexStep>(x, y);
  lowering.builder.emit(std::move(instruction));
}

// Rows of KvCompress: an f32 scale, then codes of a few bits, low bits first.
struct CodeRows {
  std::int64_t width = 0, bits = 0;

  explicit CodeRows(const Node& node) : width(node.integer("head_dim")), bits(node.integer("bits")) {}
  std::int64_t zero() const { return std::int64_t{1} << (bits - 1); }
  std::int64_t bytes() const { return 4 + (width * bits + 7) / 8; }
  std::int64_t grain() const { return 1 + 4096 / width; }
};

class CompressStep final : public lir::Step {
 public:
  CompressStep(Operand x, Operand y, CodeRows rows, CpuLevel level)
      : x_(std::move(x)), y_(std::move(y)), rows_(rows), kernels_(vector_kernels(level)) {}
  void run(const Frame& frame) const override {
    frame.pool->parallel_for(frame.numel(x_) / rows_.width, rows_.grain(), [&](std::int64_t begin, std::int64_t end) {
      auto* codes = frame.scratch_of<std::uint8_t>(ThreadPool::thread_index());
      for (std::int64_t r = begin; r < end; ++r) {
        const float* x = frame.data(x_) + r * rows_.width;
        const float largest = std::max(kernels_.max(x, rows_.width), -kernels_.min(x, rows_.width));
        if (!std::isfinite(largest)) refuse(x, r);
        auto* out = frame.data<std::byte>(y_) + r * rows_.bytes();
        encode(x, largest, codes, out);
      }
    });
  }
  std::size_t thread_scratch_bytes(const std::int64_t*) const override { return static_cast<std::size_t>(rows_.width); }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = 4 * count_of(x_, sizes), .activation_bytes = 4 * count_of(x_, sizes) + count_of(y_, sizes)};
  }

 private:
  [[noreturn]] void refuse(const float* x, std::int64_t row) const {
    const std::int64_t at = std::find_if(x, x + rows_.width, [](float v) { return !std::isfinite(v); }) - x;
    fail(ErrorKind::invalid_argument, "QuantNaN", "",
         "element {} is {}, which has no code: only finite numbers can be compressed", row * rows_.width + at, x[at]);
  }

  // The codes first, a byte each and in f64 as the op defines them, then their bits.
  void encode(const float* x, float largest, std::uint8_t* codes, std::byte* out) const {
    const auto zero = static_cast<double>(rows_.zero());
    float scale = 0;
    if (rows_.bits == 1) {
      double sum = 0;
      for (std::int64_t i = 0; i < rows_.width; ++i) sum += static_cast<double>(std::abs(x[i]));
      scale = static_cast<float>(sum / static_cast<double>(rows_.width));
      for (std::int64_t i = 0; i < rows_.width; ++i) codes[i] = x[i] >= 0 ? 1 : 0;
    } else {
      scale = static_cast<float>(static_cast<double>(largest) / (zero - 1));
      if (scale == 0) std::fill_n(codes, rows_.width, static_cast<std::uint8_t>(rows_.zero()));
      const auto divisor = static_cast<double>(scale);
      constexpr double whole = 0x1.8p52;  // adding it rounds to a whole number, half to even
      const std::int64_t count = scale == 0 ? 0 : rows_.width;
      for (std::int64_t i = 0; i < count; ++i) {
        const double wanted = std::min(std::max(static_cast<double>(x[i]) / divisor, -zero), zero - 1);
        codes[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>((wanted + whole) - whole + zero));
      }
    }
    std::memcpy(out, &scale, sizeof scale);
    out += sizeof scale;
    if (rows_.bits == 8) {
      std::memcpy(out, codes, static_cast<std::size_t>(rows_.width));
      return;
    }
    std::uint32_t pending = 0;
    std::int64_t held = 0;
    for (std::int64_t i = 0; i < rows_.width; ++i) {
      pending |= static_cast<std::uint32_t>(codes[i]) << held;
      for (held += rows_.bits; held >= 8; held -= 8, pending >>= 8) *out++ = static_cast<std::byte>(pending);
    }
    if (held > 0) *out = static_cast<std::byte>(pending);
  }

  Operand x_, y_;
  CodeRows rows_;
  const VectorKernels& kernels_;
};

class DecompressStep final : public lir::Step {
 public:
  DecompressStep(Operand x, Operand y, CodeRows rows) : x_(std::move(x)), y_(std::move(y)), rows_(rows) {}
  void run(const Frame& frame) const override {
    frame.pool->parallel_for(frame.numel(y_) / rows_.width, rows_.grain(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r)
        decode(frame.data<std::uint8_t>(x_) + r * rows_.bytes(), frame.data(y_) + r * rows_.width);
    });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = 2 * count_of(y_, sizes), .activation_bytes = 4 * count_of(y_, sizes) + count_of(x_, sizes)};
  }

 private:
  void decode(const std::uint8_t* from, float* x) const {
    float scale = 0;
    std::memcpy(&scale, from, sizeof scale);
    from += sizeof scale;
    const auto zero = static_cast<std::int32_t>(rows_.zero());
    if (rows_.bits == 8) {
      for (std::int64_t i = 0; i < rows_.width; ++i) x[i] = static_cast<float>(std::int32_t{from[i]} - zero) * scale;
      return;
    }
    // What each code stands for.
    float values[128];
    const std::int32_t kinds = 2 * zero;
    for (std::int32_t code = 0; code < kinds; ++code) values[code] = static_cast<float>(code - zero) * scale;
    if (rows_.bits == 1) values[0] = -scale, values[1] = scale;
    std::uint32_t pending = 0;
    std::int64_t held = 0;
    for (std::int64_t i = 0; i < rows_.width; ++i, pending >>= rows_.bits, held -= rows_.bits) {
      if (held < rows_.bits) {
        pending |= std::uint32_t{*from++} << held;
        held += 8;
      }
      x[i] = values[pending & static_cast<std::uint32_t>(kinds - 1)];
    }
  }

  Operand x_, y_;
  CodeRows rows_;
};

std::string refuse_compress(const Graph& graph, const Node& node) {
  return is_f32(graph, node.inputs[0]) ? "" : "x is not f32";
}

void emit_codes(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const bool compress = node.schema->name == "KvCompress";
  const Operand x = lowering.builder.operand(node.inputs[0]), y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{.op = node.schema->name, .kernel = {}, .backend = "cpu", .node = index};
  instruction.kernel = fmt::format("{} bits", node.integer("bits"));
  instruction.inputs = {x};
  instruction.outputs = {y};
  if (compress)
    instruction.step = std::make_unique<CompressStep>(x, y, CodeRows(node), lowering.level);
  else
    instruction.step = std::make_unique<DecompressStep>(x, y, CodeRows(node));
  lowering.builder.emit(std::move(instruction));
}

// --- views --------------------------------------------------------------------------------------------------------

std::string refuse_nothing(const Graph&, const Node&) { return {}; }

// The same bytes under the result's dims.
void emit_view(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  Operand view = lowering.builder.operand(node.inputs[0]);
  view.dtype = node.outputs[0].type.dtype;
  view.dims = lowering.builder.sizes().add(node.outputs[0].type.shape);
  lowering.builder.bind({index, 0}, std::move(view));
}

}  // namespace

std::span<const LoweringRule> movement_rules() {
  static constexpr LoweringRule rules[] = {
      {"Gather", refuse_gather, emit_gather},      {"Decode", refuse_convert, emit_convert},
      {"Cast", refuse_convert, emit_convert},      {"Reshape", refuse_nothing, emit_view},
      {"StopGradient", refuse_nothing, emit_view}, {"ToIndex", refuse_index, emit_index},
      {"KvCompress", refuse_compress, emit_codes}, {"KvDecompress", refuse_nothing, emit_codes},
  };
  return rules;
}

}  // namespace weft::cpu
