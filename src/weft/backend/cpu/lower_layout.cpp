// Ops that put elements elsewhere: transposes, and pieces of an axis taken apart and joined.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "weft/backend/cpu/lowering.h"
#include "weft/backend/cpu/strided_walk.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/base/thread_pool.h"

namespace weft::cpu {
namespace {

using lir::Frame;
using lir::Operand;
using Walk = StridedWalk<2>;  // from, to

// Elements that a thread moves at least.
constexpr std::int64_t worthwhile = 8192;

// Moves what a walk crosses, threads taking lines of the third axis from the end, or of the second where there is none.
void move(const Walk& walk, const std::byte* from, std::byte* to, std::int64_t element_bytes, ThreadPool& pool) {
  StridedCopy copy;
  copy.element_bytes = element_bytes;
  for (int i = 0; i < 2; ++i) {
    copy.dims[2 - i] = walk.dim_from_end(i);
    copy.in_strides[2 - i] = walk.stride_from_end(i, 0);
    copy.out_strides[2 - i] = walk.stride_from_end(i, 1);
  }
  const std::int64_t lines = copy.dims[1], width = copy.dims[2], outer = walk.outer(2);
  // Whole squares of lines, so that columns are read by cache lines.
  constexpr std::int64_t together = 16;
  const std::int64_t parts = (lines + together - 1) / together;
  const std::int64_t grain = 1 + worthwhile / (std::min(lines, together) * width + 1);
  pool.parallel_for(outer * parts, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end;) {
      const std::int64_t first = unit % parts * together;
      const std::int64_t count = std::min(end - unit, parts - unit % parts);  // parts of one plane
      std::int64_t offsets[2];
      walk.offsets(unit / parts, 2, offsets);
      StridedCopy lines_of = copy;
      lines_of.dims[1] = std::min(lines - first, count * together);
      copy_strided(from + (offsets[0] + first * copy.in_strides[1]) * element_bytes,
                   to + (offsets[1] + first * copy.out_strides[1]) * element_bytes, lines_of);
      unit += count;
    }
  });
}

std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(dtype_info(dtype).block_bytes); }

std::string refuse_dtype(const Graph& graph, const Node& node) {
  const TensorType& type = graph.type(node.inputs[0]);
  if (dtype_info(type.dtype).block != 1 || bytes_of(type.dtype) > 8) return "the elements are blocks";
  if (type.shape.rank() > Walk::max_axes) return "there are too many axes";
  return {};
}

lir::Instruction instruction_of(const Lowering& lowering, std::int32_t index, const char* kernel) {
  return {.op = lowering.node(index).schema->name, .kernel = kernel, .backend = "cpu", .node = index};
}

// --- transpose ----------------------------------------------------------------------------------------------------

class TransposeStep final : public lir::Step {
 public:
  TransposeStep(Operand x, Operand y, std::vector<std::size_t> perm)
      : x_(std::move(x)), y_(std::move(y)), perm_(std::move(perm)) {}

  void run(const Frame& frame) const override {
    if (frame.numel(y_) == 0) return;
    std::int64_t x_strides[Walk::max_axes], y_strides[Walk::max_axes];
    strides(frame, x_, x_strides);
    strides(frame, y_, y_strides);
    Walk walk;
    for (std::size_t axis = 0; axis < perm_.size(); ++axis)
      walk.add(frame.dim(y_, axis), {x_strides[perm_[axis]], y_strides[axis]});
    move(walk, frame.data<std::byte>(x_), frame.data<std::byte>(y_), bytes_of(y_.dtype), *frame.pool);
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.activation_bytes = 2 * static_cast<double>(bytes_of(y_.dtype)) * count_of(y_, sizes)};
  }

 private:
  static void strides(const Frame& frame, const Operand& operand, std::int64_t* strides) {
    std::int64_t step = 1;
    for (std::size_t axis = operand.dims.size(); axis-- > 0; step *= frame.dim(operand, axis)) strides[axis] = step;
  }
  Operand x_, y_;
  std::vector<std::size_t> perm_;
};

void emit_transpose(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const std::size_t rank = lowering.graph().type(node.inputs[0]).shape.rank();
  std::vector<std::size_t> perm;
  for (const std::int64_t axis : node.integers("perm"))
    perm.push_back(static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis));
  for (std::size_t i = 0; perm.size() < rank; ++i) perm.push_back(rank - 1 - i);  // no list: reversed
  lir::Instruction instruction = instruction_of(lowering, index, "transpose");
  const Operand x = lowering.builder.operand(node.inputs[0]), y = lowering.builder.allocate({index, 0});
  instruction.inputs = {x};
  instruction.outputs = {y};
  instruction.step = std::make_unique<TransposeStep>(x, y, std::move(perm));
  lowering.builder.emit(std::move(instruction));
}

// --- pieces of an axis --------------------------------------------------------------------------------------------

// Pieces of `whole` along an axis, read or written one after another.
class PiecesStep final : public lir::Step {
 public:
  PiecesStep(Operand whole, std::vector<Operand> pieces, std::size_t axis, std::int64_t start, bool join)
      : whole_(std::move(whole)), pieces_(std::move(pieces)), axis_(axis), start_(start), join_(join) {}

  void run(const Frame& frame) const override {
    std::int64_t outer = 1, inner = 1;
    for (std::size_t i = 0; i < whole_.dims.size(); ++i)
      if (i != axis_) (i < axis_ ? outer : inner) *= frame.dim(whole_, i);
    const std::int64_t row = frame.dim(whole_, axis_) * inner, bytes = bytes_of(whole_.dtype);
    auto* whole = frame.data<std::byte>(whole_);
    std::int64_t at = start_ * inner;
    for (const Operand& piece : pieces_) {
      const std::int64_t width = frame.dim(piece, axis_) * inner;
      auto *inside = whole + at * bytes, *alone = frame.data<std::byte>(piece);
      at += width;
      if (width * outer == 0) continue;
      Walk walk;
      walk.add(outer, {join_ ? width : row, join_ ? row : width});
      walk.add(width, {1, 1});
      move(walk, join_ ? alone : inside, join_ ? inside : alone, bytes, *frame.pool);
    }
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    double count = 0;
    for (const Operand& piece : pieces_) count += count_of(piece, sizes);
    return {.activation_bytes = 2 * static_cast<double>(bytes_of(whole_.dtype)) * count};
  }

 private:
  Operand whole_;
  std::vector<Operand> pieces_;
  std::size_t axis_;
  std::int64_t start_;
  bool join_;
};

std::size_t axis_of(const Lowering& lowering, const Node& node) {
  const auto rank = static_cast<std::int64_t>(lowering.graph().type(node.inputs[0]).shape.rank());
  const std::int64_t axis = node.integer("axis");
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

void emit_concat(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  lir::Instruction instruction = instruction_of(lowering, index, "join");
  for (const Value input : node.inputs) instruction.inputs.push_back(lowering.builder.operand(input));
  const Operand y = lowering.builder.allocate({index, 0});
  instruction.outputs = {y};
  instruction.step = std::make_unique<PiecesStep>(y, instruction.inputs, axis_of(lowering, node), 0, true);
  lowering.builder.emit(std::move(instruction));
}

void emit_pieces(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  lir::Instruction instruction = instruction_of(lowering, index, "cut");
  const Operand x = lowering.builder.operand(node.inputs[0]);
  instruction.inputs = {x};
  for (std::size_t port = 0; port < node.outputs.size(); ++port)
    instruction.outputs.push_back(lowering.builder.allocate({index, static_cast<std::int32_t>(port)}));
  const std::int64_t start = node.schema->attribute_index("start") ? node.integer("start") : 0;
  instruction.step = std::make_unique<PiecesStep>(x, instruction.outputs, axis_of(lowering, node), start, false);
  lowering.builder.emit(std::move(instruction));
}

}  // namespace

std::span<const LoweringRule> layout_rules() {
  static constexpr LoweringRule rules[] = {{"Transpose", refuse_dtype, emit_transpose},
                                           {"Concat", refuse_dtype, emit_concat},
                                           {"Split", refuse_dtype, emit_pieces},
                                           {"Chunk", refuse_dtype, emit_pieces},
                                           {"Narrow", refuse_dtype, emit_pieces}};
  return rules;
}

}  // namespace weft::cpu
