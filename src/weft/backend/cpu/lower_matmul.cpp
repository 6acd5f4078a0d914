// Products and inverses of f32 matrices that come with the run: MatMul, also with a weight that the rules of
// lower_linear.cpp do not keep packed, Kron, MatrixInverse.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "weft/backend/cpu/lowering.h"
#include "weft/backend/cpu/strided_walk.h"
#include "weft/backend/cpu/vector_kernels.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ops/matrix.h"

namespace weft::cpu {
namespace {

using lir::Frame;
using lir::Operand;
using lir::SizeId;

// Terms whose products are summed before they meet the sum of those before: a tile of the right side over so many of
// them stays in the first cache, and rounding errors grow with chunks, not with terms.
constexpr std::int64_t product_terms = 128;
constexpr std::int64_t most_product_rows = 256;     // of a tile of results
constexpr std::int64_t least_product_rows = 32;     // where rows are cut for the threads
constexpr std::int64_t most_rows_in_place = 32;     // for more, the right side is worth copying
constexpr std::int64_t product_lanes = 16;          // columns that a kernel reads at least
constexpr std::int64_t worthwhile_terms = 1 << 16;  // products that are worth waking a thread for

// Sizes of one run. Products follow each other; their left matrices are panels of four rows.
struct ProductSizes {
  std::int64_t m = 1, n = 1, k = 0;  // of a matrix
  std::int64_t rows = 0;             // of a product: those of all left matrices where there is one right matrix
  std::int64_t products = 1, left_matrices = 1;
  StridedWalk<2> walk;  // from a product to its left and right matrix

  std::int64_t panels() const { return (rows + tile_panel_rows - 1) / tile_panel_rows; }
  std::int64_t tiles() const { return (n + tile_columns - 1) / tile_columns; }
};

class MatMulStep final : public lir::Step {
 public:
  MatMulStep(Operand a, Operand b, Operand y, bool transpose_a, bool transpose_b, CpuLevel level)
      : a_(std::move(a)),
        b_(std::move(b)),
        y_(std::move(y)),
        transpose_a_(transpose_a),
        transpose_b_(transpose_b),
        kernels_(vector_kernels(level)) {}

  void run(const Frame& frame) const override {
    if (frame.numel(y_) == 0) return;
    const ProductSizes sizes = sizes_of(frame);
    auto* left = reinterpret_cast<float*>(frame.scratch);
    const std::int64_t all_panels = sizes.left_matrices * sizes.panels();
    frame.pool->parallel_for(
        all_panels, 1 + worthwhile_terms / (tile_panel_rows * std::max<std::int64_t>(sizes.k, 1)),
        [&](std::int64_t begin, std::int64_t end) { pack_left(frame.data(a_), sizes, begin, end, left); });

    std::int64_t block = most_product_rows;
    const auto items_of = [&](std::int64_t rows) {
      return sizes.products * sizes.tiles() * ((sizes.rows + rows - 1) / rows);
    };
    while (block > least_product_rows && items_of(block) < 2 * frame.pool->size()) block /= 2;
    const std::int64_t blocks = (sizes.rows + block - 1) / block, tiles = sizes.tiles();
    const std::int64_t work = std::min(block, sizes.rows) * tile_columns * std::max<std::int64_t>(sizes.k, 1);
    frame.pool->parallel_for(items_of(block), 1 + worthwhile_terms / work, [&](std::int64_t begin, std::int64_t end) {
      auto* scratch = frame.scratch_of<float>(ThreadPool::thread_index());
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t first = item / tiles % blocks * block;
        multiply(frame, sizes, left, item / tiles / blocks, first, std::min(block, sizes.rows - first),
                 item % tiles * tile_columns, scratch);
      }
    });
  }

  std::size_t scratch_bytes(const std::int64_t* sizes, int) const override {
    const std::size_t rank = a_.dims.size();
    const auto dim = [&](std::size_t from_end) { return rank < from_end ? 1 : sizes[a_.dims[rank - from_end]]; };
    const std::int64_t k = dim(transpose_a_ ? 2 : 1), m = dim(transpose_a_ ? 1 : 2);
    std::int64_t matrices = 1;
    for (std::size_t i = 0; i + 2 < rank; ++i) matrices *= sizes[a_.dims[i]];
    const std::int64_t panels = matrices * ((m + tile_panel_rows - 1) / tile_panel_rows);
    return static_cast<std::size_t>(panels * tile_panel_rows * k) * sizeof(float);
  }
  std::size_t thread_scratch_bytes(const std::int64_t*) const override {
    return static_cast<std::size_t>((product_terms + 2 * most_product_rows) * tile_columns) * sizeof(float);
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    const auto terms = static_cast<double>(sizes[a_.dims[a_.dims.size() - (transpose_a_ ? 2 : 1)]]);
    return {.flops = 2 * terms * count_of(y_, sizes),
            .activation_bytes = 4 * (count_of(a_, sizes) + count_of(b_, sizes) + count_of(y_, sizes))};
  }

 private:
  // Axes in front of an operand's matrix.
  static std::size_t leading_axes(const Operand& operand) {
    return operand.dims.size() - std::min<std::size_t>(operand.dims.size(), 2);
  }

  ProductSizes sizes_of(const Frame& frame) const {
    ProductSizes s;
    const std::size_t a_rank = a_.dims.size(), b_rank = b_.dims.size();
    s.k = frame.dim(a_, a_rank - (transpose_a_ ? 2 : 1));
    if (a_rank > 1) s.m = frame.dim(a_, a_rank - (transpose_a_ ? 1 : 2));
    if (b_rank > 1) s.n = frame.dim(b_, b_rank - (transpose_b_ ? 2 : 1));
    const std::size_t a_lead = leading_axes(a_), b_lead = leading_axes(b_), lead = std::max(a_lead, b_lead);
    std::int64_t right_matrices = 1;
    for (std::size_t i = 0; i < a_lead; ++i) s.left_matrices *= frame.dim(a_, i);
    for (std::size_t i = 0; i < b_lead; ++i) right_matrices *= frame.dim(b_, i);
    s.rows = s.m;
    if (right_matrices == 1) {
      s.rows *= s.left_matrices;
      s.left_matrices = 1;
      return s;
    }
    std::int64_t a_stride = s.left_matrices, b_stride = right_matrices;
    for (std::size_t i = 0; i < lead; ++i) {  // axis i of the result
      const auto step = [&](const Operand& operand, std::size_t own_lead, std::int64_t& stride) {
        if (i + own_lead < lead) return std::int64_t{0};
        const std::int64_t size = frame.dim(operand, i + own_lead - lead);
        stride /= size;
        return size == 1 ? std::int64_t{0} : stride;
      };
      const std::int64_t size = frame.dim(y_, i), a_step = step(a_, a_lead, a_stride),
                         b_step = step(b_, b_lead, b_stride);
      s.walk.add(size, {a_step, b_step});
      s.products *= size;
    }
    return s;
  }

  // Panels [begin, end) of all left matrices as [k][4], zeros behind the last row of one.
  void pack_left(const float* a, const ProductSizes& s, std::int64_t begin, std::int64_t end, float* out) const {
    const std::int64_t step = transpose_a_ ? s.m : 1;
    for (std::int64_t panel = begin; panel < end; ++panel) {
      float* to = out + panel * tile_panel_rows * s.k;
      for (std::int64_t i = 0; i < tile_panel_rows; ++i) {
        const std::int64_t row = panel % s.panels() * tile_panel_rows + i;
        if (row >= s.rows) {
          for (std::int64_t k = 0; k < s.k; ++k) to[k * tile_panel_rows + i] = 0;
          continue;
        }
        const std::int64_t at = panel / s.panels() * s.rows + row;  // counted through all matrices
        const float* from = a + at / s.m * s.m * s.k + at % s.m * (transpose_a_ ? 1 : s.k);
        for (std::int64_t k = 0; k < s.k; ++k) to[k * tile_panel_rows + i] = from[k * step];
      }
    }
  }

  // Terms [first, first + terms) of columns [column, column + columns) of a right matrix as rows of a tile, with zeros
  // up to where a kernel reads.
  void pack_right(const float* b, const ProductSizes& s, std::int64_t first, std::int64_t terms, std::int64_t column,
                  std::int64_t columns, float* out) const {
    if (transpose_b_)
      turn(b + column * s.k + first, s.k, terms, columns, out);
    else
      for (std::int64_t k = 0; k < terms; ++k)
        std::memcpy(out + k * tile_columns, b + (first + k) * s.n + column,
                    static_cast<std::size_t>(columns) * sizeof(float));
    if (columns % product_lanes == 0) return;
    for (std::int64_t k = 0; k < terms; ++k)
      std::fill(out + k * tile_columns + columns, out + (k + 1) * tile_columns, 0.0f);
  }

  // Four rows at a time, which compilers make one vector of.
  static void turn(const float* rows, std::int64_t stride, std::int64_t terms, std::int64_t columns, float* out) {
    std::int64_t c = 0;
    for (; c + 4 <= columns; c += 4) {
      const float *r0 = rows + c * stride, *r1 = r0 + stride, *r2 = r1 + stride, *r3 = r2 + stride;
      float* to = out + c;
      for (std::int64_t k = 0; k < terms; ++k, to += tile_columns) {
        const float four[4] = {r0[k], r1[k], r2[k], r3[k]};
        std::memcpy(to, four, sizeof four);
      }
    }
    for (; c < columns; ++c)
      for (std::int64_t k = 0; k < terms; ++k) out[k * tile_columns + c] = rows[c * stride + k];
  }

  // Rows [first, first + rows) of a product, in a tile of columns.
  void multiply(const Frame& frame, const ProductSizes& s, const float* left, std::int64_t product, std::int64_t first,
                std::int64_t rows, std::int64_t column, float* scratch) const {
    std::int64_t matrix[2];
    s.walk.offsets(product, 0, matrix);
    const float* b = frame.data(b_) + matrix[1] * s.k * s.n;
    const std::int64_t columns = std::min(tile_columns, s.n - column);
    float *packed = scratch, *sums = packed + product_terms * tile_columns,
          *part = sums + most_product_rows * tile_columns;
    TileProduct tile;
    tile.panels = (rows + tile_panel_rows - 1) / tile_panel_rows;
    tile.columns = columns;
    tile.w_stride = s.k * tile_panel_rows;
    const float* w = left + (matrix[0] * s.panels() + first / tile_panel_rows) * tile.w_stride;
    const bool in_place = !transpose_b_ && columns % product_lanes == 0 && rows <= most_rows_in_place;
    const std::int64_t count = tile.panels * tile_panel_rows * tile_columns;
    if (s.k == 0) std::fill(sums, sums + count, 0.0f);
    for (std::int64_t k = 0; k < s.k; k += product_terms) {
      tile.depth = std::min(product_terms, s.k - k);
      if (in_place) {
        tile.x = b + k * s.n + column;
        tile.x_stride = s.n;
      } else {
        pack_right(b, s, k, tile.depth, column, columns, packed);
        tile.x = packed;
        tile.x_stride = tile_columns;
      }
      tile.w = w + k * tile_panel_rows;
      tile.sums = k == 0 ? sums : part;
      kernels_.tile_product(tile);
      if (k > 0) kernels_.binary(BinaryKind::add, {sums, 0}, {part, 0}, sums, count);
    }
    float* y = frame.data(y_) + (product * s.rows + first) * s.n + column;
    for (std::int64_t r = 0; r < rows; ++r)
      std::memcpy(y + r * s.n, sums + r * tile_columns, static_cast<std::size_t>(columns) * sizeof(float));
  }

  Operand a_, b_, y_;
  bool transpose_a_, transpose_b_;
  const VectorKernels& kernels_;
};

std::string refuse_values(const Graph& graph, const Node& node) {
  for (const Value input : node.inputs)
    if (!is_f32(graph, input)) return "an operand is not f32";
  return node.outputs[0].type.shape.rank() <= StridedWalk<2>::max_axes ? "" : "the result has too many axes";
}

void emit_values(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const Operand a = lowering.builder.operand(node.inputs[0]), b = lowering.builder.operand(node.inputs[1]);
  const Operand y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{.op = node.schema->name, .kernel = {}, .backend = "cpu", .node = index};
  instruction.kernel = kernel_name("matmul f32", lowering.level);
  instruction.inputs = {a, b};
  instruction.outputs = {y};
  instruction.step =
      std::make_unique<MatMulStep>(a, b, y, node.boolean("transpose_a"), node.boolean("transpose_b"), lowering.level);
  lowering.builder.emit(std::move(instruction));
}

// --- Kron ---------------------------------------------------------------------------------------------------------

class KronStep final : public lir::Step {
 public:
  KronStep(Operand a, Operand b, Operand y, CpuLevel level)
      : a_(std::move(a)), b_(std::move(b)), y_(std::move(y)), kernels_(vector_kernels(level)) {}

  // Each row of y along the last axis: the elements of a row of a, each times a row of b.
  void run(const Frame& frame) const override {
    if (frame.numel(y_) == 0) return;
    const std::size_t rank = y_.dims.size();
    const auto dim = [&](const Operand& operand, std::size_t axis) {
      const std::size_t own = operand.dims.size();
      return axis + own < rank ? std::int64_t{1} : frame.dim(operand, axis + own - rank);
    };
    const std::int64_t a_width = rank == 0 ? 1 : dim(a_, rank - 1), b_width = rank == 0 ? 1 : dim(b_, rank - 1);
    const std::int64_t width = a_width * b_width;
    frame.pool->parallel_for(frame.numel(y_) / width, 1 + kron_elements / width,
                             [&](std::int64_t begin, std::int64_t end) {
                               for (std::int64_t r = begin; r < end; ++r) {
                                 std::int64_t rest = r, a_at = 0, b_at = 0, a_step = a_width, b_step = b_width;
                                 for (std::size_t axis = rank == 0 ? 0 : rank - 1; axis-- > 0;) {
                                   const std::int64_t size = dim(b_, axis), index = rest % frame.dim(y_, axis);
                                   rest /= frame.dim(y_, axis);
                                   a_at += index / size * a_step;
                                   b_at += index % size * b_step;
                                   a_step *= dim(a_, axis);
                                   b_step *= size;
                                 }
                                 float* out = frame.data(y_) + r * width;
                                 for (std::int64_t i = 0; i < a_width; ++i, out += b_width)
                                   kernels_.binary(BinaryKind::mul, {frame.data(b_) + b_at, 0},
                                                   {frame.data(a_) + a_at + i, 1}, out, b_width);
                               }
                             });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    return {.flops = count_of(y_, sizes), .activation_bytes = 4 * count_of(y_, sizes)};
  }

 private:
  static constexpr std::int64_t kron_elements = 16384;  // that a thread takes at a time
  Operand a_, b_, y_;
  const VectorKernels& kernels_;
};

std::string refuse_kron(const Graph& graph, const Node& node) {
  return is_f32(graph, node.inputs[0]) ? "" : "the operands are not f32";
}

void emit_kron(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const Operand a = lowering.builder.operand(node.inputs[0]), b = lowering.builder.operand(node.inputs[1]);
  const Operand y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{.op = node.schema->name, .kernel = {}, .backend = "cpu", .node = index};
  instruction.kernel = kernel_name("kron", lowering.level);
  instruction.inputs = {a, b};
  instruction.outputs = {y};
  instruction.step = std::make_unique<KronStep>(a, b, y, lowering.level);
  lowering.builder.emit(std::move(instruction));
}

// --- MatrixInverse ------------------------------------------------------------------------------------------------

// In f64, as the op's own kernel does it, in scratch instead of memory of its own.
class InverseStep final : public lir::Step {
 public:
  InverseStep(Operand a, Operand y) : a_(std::move(a)), y_(std::move(y)) {}

  void run(const Frame& frame) const override {
    if (frame.numel(y_) == 0) return;
    const std::int64_t n = frame.size(a_.dims.back()), count = frame.numel(a_) / (n * n);
    frame.pool->parallel_for(count, 1 + worthwhile_terms / (n * n * n), [&](std::int64_t begin, std::int64_t end) {
      auto* rows = frame.scratch_of<double>(ThreadPool::thread_index());
      for (std::int64_t matrix = begin; matrix < end; ++matrix) {
        const float* a = frame.data(a_) + matrix * n * n;
        for (std::int64_t r = 0; r < n; ++r) {
          double* row = rows + 2 * r * n;
          std::copy_n(a + r * n, n, row);
          std::fill_n(row + n, n, 0.0);
          row[n + r] = 1;
        }
        if (!ops::invert(rows, n))
          fail(ErrorKind::invalid_argument, "SingularMatrix", "", "matrix {} of {} has no inverse: a pivot is 0 or NaN",
               matrix, count);
        float* y = frame.data(y_) + matrix * n * n;
        for (std::int64_t r = 0; r < n; ++r)
          for (std::int64_t i = 0; i < n; ++i) y[r * n + i] = static_cast<float>(rows[2 * r * n + n + i]);
      }
    });
  }
  std::size_t thread_scratch_bytes(const std::int64_t* sizes) const override {
    const std::int64_t n = sizes[a_.dims.back()];
    return static_cast<std::size_t>(2 * n * n) * sizeof(double);
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    const double count = count_of(a_, sizes);
    return {.flops = 4 * count * static_cast<double>(sizes[a_.dims.back()]), .activation_bytes = 8 * count};
  }

 private:
  Operand a_, y_;
};

void emit_inverse(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const Operand a = lowering.builder.operand(node.inputs[0]), y = lowering.builder.allocate({index, 0});
  lir::Instruction instruction{.op = node.schema->name, .kernel = "inverse f64", .backend = "cpu", .node = index};
  instruction.inputs = {a};
  instruction.outputs = {y};
  instruction.step = std::make_unique<InverseStep>(a, y);
  lowering.builder.emit(std::move(instruction));
}

}  // namespace

std::span<const LoweringRule> matmul_rules() {
  static constexpr LoweringRule rules[] = {{"MatMul", refuse_values, emit_values},
                                           {"Kron", refuse_kron, emit_kron},
                                           {"MatrixInverse", refuse_kron, emit_inverse}};
  return rules;
}

}  // namespace weft::cpu
