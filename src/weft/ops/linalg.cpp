// Matrix products.
#include "weft/ops/linalg.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "weft/base/block_codec.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ops/element.h"
#include "weft/ops/panel_dot.h"

namespace weft::ops {

DType product_dtype(const InferContext& context, bool transpose_b, std::size_t right) {
  const DType a = context.dtype(0), b = context.dtype(right);
  const bool narrow_right = a == DType::f32 && (b == DType::f16 || b == DType::bf16);
  if (is_packed(b) || narrow_right) {
    if (!transpose_b || context.rank(right) != 2)
      context.fail_dtype(
          fmt::format("a right side of {} beside {} is a packed matrix [N, K]: it needs transpose_b = true and rank 2, "
                      "or a Decode in front",
                      to_string(b), to_string(a)));
    if (a != DType::f32 && a != DType::f16 && a != DType::bf16)
      context.fail_dtype(
          fmt::format("the left side of a packed product is {}, expected f32, f16 or bf16", to_string(a)));
    return a;
  }
  context.require_same_dtype(0, right);
  if (!is_float(a) && !is_integer(a))
    context.fail_dtype(fmt::format("matrices of {} have no product: expected floating or integer types", to_string(a)));
  return a;
}

namespace {

constexpr std::int64_t chunk_terms = 512;  // a multiple of every block size; a panel of it stays in the first cache
constexpr std::int64_t most_rows_at_once = 1024;
constexpr std::int64_t worthwhile_products = 1 << 16;  // fewer are not worth waking a thread for

// --- inference --------------------------------------------------------------------------------------------------

Shape leading(const Shape& shape, std::size_t trailing) {
  return Shape(std::vector<Dim>(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(trailing)));
}

void infer_matmul(InferContext& context) {
  const bool transpose_a = context.node().boolean("transpose_a"), transpose_b = context.node().boolean("transpose_b");
  const DType dtype = product_dtype(context, transpose_b);
  const Shape &a = context.shape(0), &b = context.shape(1);
  if (a.rank() == 0 || b.rank() == 0) context.fail_shape("a scalar is no matrix: use a multiplication");
  const bool vector_a = a.rank() == 1, vector_b = b.rank() == 1;
  if (vector_a && transpose_a) context.fail_attribute("transpose_a", "input 0 has one axis, there is nothing to swap");
  if (vector_b && transpose_b) context.fail_attribute("transpose_b", "input 1 has one axis, there is nothing to swap");
  const auto axis = [](const Shape& shape, bool vector, bool from_last) {
    return vector ? shape[0] : shape[shape.rank() - (from_last ? 1 : 2)];
  };
  context.require_equal(axis(a, vector_a, !transpose_a), axis(b, vector_b, transpose_b),
                        fmt::format("the summed axes of {} and {}", a.text(), b.text()));
  Shape out = broadcast(leading(a, vector_a ? 1 : 2), leading(b, vector_b ? 1 : 2));
  if (!vector_a) out.push_back(axis(a, false, transpose_a));
  if (!vector_b) out.push_back(axis(b, false, !transpose_b));
  context.output(std::move(out), dtype);
}

Dim matmul_flops(const InferContext& context) {
  const Shape& a = context.shape(0);
  const bool from_last = a.rank() == 1 || !context.node().boolean("transpose_a");
  return Dim(2) * context.outputs()[0].shape.numel() * a[a.rank() - (from_last ? 1 : 2)];
}

// --- kernels ----------------------------------------------------------------------------------------------------

// Sizes of one run, and for each product of the batch which matrix of a and of b it takes.
struct Geometry {
  std::int64_t m = 1, n = 1, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::vector<std::int64_t> a_matrix, b_matrix;

  explicit Geometry(const KernelContext& context)
      : transpose_a(context.node().boolean("transpose_a")), transpose_b(context.node().boolean("transpose_b")) {
    const std::vector<std::int64_t>&a = context.input(0).dims(), &b = context.input(1).dims();
    const auto matrix_rank = [](const auto& dims) { return std::min<std::size_t>(dims.size(), 2); };
    k = a[a.size() - (transpose_a ? 2 : 1)];
    if (a.size() > 1) m = a[a.size() - (transpose_a ? 1 : 2)];
    if (b.size() > 1) n = b[b.size() - (transpose_b ? 2 : 1)];
    const std::vector<std::int64_t> a_batch(a.begin(), a.end() - static_cast<std::ptrdiff_t>(matrix_rank(a)));
    const std::vector<std::int64_t> b_batch(b.begin(), b.end() - static_cast<std::ptrdiff_t>(matrix_rank(b)));
    const std::size_t rank = std::max(a_batch.size(), b_batch.size());
    const auto& out = context.output(0).dims();
    const std::span<const std::int64_t> batch(out.data(), rank);
    const std::vector<std::int64_t> strides[] = {broadcast_strides(a_batch, batch), broadcast_strides(b_batch, batch)};
    for_each_index(batch, strides, [&](std::int64_t, std::span<const std::int64_t> offsets) {
      a_matrix.push_back(offsets[0]);
      b_matrix.push_back(offsets[1]);
    });
    // One right matrix for all: the batch is more rows.
    const bool one_right = std::all_of(b_matrix.begin(), b_matrix.end(), [](std::int64_t at) { return at == 0; });
    if (one_right && b_batch.size() <= a_batch.size() && !a_matrix.empty()) {
      m *= static_cast<std::int64_t>(a_matrix.size());
      a_matrix.assign(1, 0);
      b_matrix.assign(1, 0);
    }
  }
  std::int64_t batch() const { return static_cast<std::int64_t>(a_matrix.size()); }
};

// The left side as f64, each matrix [m, k].
std::vector<double> load_left(const KernelContext& context) {
  const Tensor& a = context.input(0);
  std::vector<double> values(static_cast<std::size_t>(a.numel()));
  constexpr std::int64_t grain = 1 << 15;
  context.pool().parallel_for(a.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
    load_f64(a, begin,
             std::span(values).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  });
  if (!context.node().boolean("transpose_a") || values.empty()) return values;
  const std::int64_t k = a.dim(a.rank() - 2), m = a.dim(a.rank() - 1);
  std::vector<double> turned(values.size());
  for (std::size_t matrix = 0; matrix < values.size(); matrix += static_cast<std::size_t>(k * m))
    for (std::int64_t row = 0; row < m; ++row)
      for (std::int64_t term = 0; term < k; ++term)
        turned[matrix + static_cast<std::size_t>(row * k + term)] =
            values[matrix + static_cast<std::size_t>(term * m + row)];
  return turned;
}

// Sixteen columns of the right side over a range of terms, as a panel. One per thread.
template <class P>
class RightPanels {
 public:
  RightPanels(const Tensor& b, const Geometry& geometry) : b_(b), geometry_(geometry) {
    panel_.resize(static_cast<std::size_t>(chunk_terms * panel_lanes));
    if (decodes()) rows_.resize(panel_.size());
  }

  const P* pack(std::int64_t matrix, std::int64_t column, std::int64_t first, std::int64_t terms) {
    const std::int64_t lanes = std::min(panel_lanes, geometry_.n - column);
    const std::int64_t start = matrix * geometry_.n * geometry_.k;
    if (geometry_.transpose_b) {
      const P* rows[panel_lanes] = {};
      for (std::int64_t lane = 0; lane < lanes; ++lane)
        rows[lane] = row(start + (column + lane) * geometry_.k + first, terms, lane);
      pack_panel(rows, terms, panel_.data());
      return panel_.data();
    }
    const P* from = b_.values<P>().data() + start + first * geometry_.n + column;
    for (std::int64_t k = 0; k < terms; ++k) {
      P* to = panel_.data() + k * panel_lanes;
      std::copy_n(from + k * geometry_.n, lanes, to);
      std::fill(to + lanes, to + panel_lanes, P{0});
    }
    return panel_.data();
  }

 private:
  bool decodes() const { return b_.dtype() != DType::f32 && b_.dtype() != DType::f64; }

  const P* row(std::int64_t element, std::int64_t terms, std::int64_t lane) {
    if (!decodes()) return b_.values<P>().data() + element;
    if constexpr (std::is_same_v<P, float>) {
      const DTypeInfo& info = dtype_info(b_.dtype());
      const auto offset = static_cast<std::size_t>(element / info.block * info.block_bytes);
      const auto bytes = static_cast<std::size_t>(terms / info.block * info.block_bytes);
      P* to = rows_.data() + lane * chunk_terms;
      decode_to_f32(b_.dtype(), b_.bytes().subspan(offset, bytes), {to, static_cast<std::size_t>(terms)});
      return to;
    }
    return nullptr;
  }

  const Tensor& b_;
  const Geometry& geometry_;
  std::vector<P> panel_, rows_;
};

template <class P>
void multiply(const KernelContext& context, const Geometry& g, const Tensor& b) {
  const std::vector<double> left = load_left(context);
  Tensor& out = context.output(0);
  const std::int64_t tiles = (g.n + panel_lanes - 1) / panel_lanes;
  // Rows are cut only where the columns alone would leave threads idle: each cut decodes its columns anew.
  const std::int64_t wanted = 4 * context.pool().size();
  const std::int64_t cuts = std::max<std::int64_t>(1, wanted / std::max<std::int64_t>(1, g.batch() * tiles));
  const std::int64_t rows_per_item =
      std::clamp<std::int64_t>((g.m + cuts - 1) / cuts, std::min<std::int64_t>(g.m, 16), most_rows_at_once);
  if (g.batch() * tiles * g.m == 0) return;
  const std::int64_t row_items = (g.m + rows_per_item - 1) / rows_per_item;
  const std::int64_t grain = worthwhile_products / (rows_per_item * panel_lanes * std::max<std::int64_t>(g.k, 1)) + 1;
  context.pool().parallel_for(g.batch() * tiles * row_items, grain, [&](std::int64_t begin, std::int64_t end) {
    RightPanels<P> panels(b, g);
    std::vector<double> sums(static_cast<std::size_t>(rows_per_item * panel_lanes));
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t column = item / row_items % tiles * panel_lanes;
      const auto product = static_cast<std::size_t>(item / row_items / tiles);
      const std::int64_t first_row = item % row_items * rows_per_item;
      const std::int64_t rows = std::min(rows_per_item, g.m - first_row);
      const double* x = left.data() + (g.a_matrix[product] * g.m + first_row) * g.k;
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::int64_t k = 0; k < g.k; k += chunk_terms) {
        const std::int64_t terms = std::min(chunk_terms, g.k - k);
        panel_dot(panels.pack(g.b_matrix[product], column, k, terms), x + k, g.k, rows, terms, sums.data());
      }
      const auto lanes = static_cast<std::size_t>(std::min(panel_lanes, g.n - column));
      for (std::int64_t row = 0; row < rows; ++row)
        store_f64(out, (static_cast<std::int64_t>(product) * g.m + first_row + row) * g.n + column,
                  {sums.data() + row * panel_lanes, lanes});
    }
  });
}

// Sums modulo 2^64; the store takes the low bits.
void multiply_integers(const KernelContext& context, const Geometry& g) {
  const std::vector<std::int64_t> a = load_i64(context.input(0)), b = load_i64(context.input(1));
  std::vector<std::int64_t> sums(static_cast<std::size_t>(context.output(0).numel()));
  context.pool().parallel_for(g.batch() * g.m, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const auto product = static_cast<std::size_t>(row / g.m);
      const std::int64_t m = row % g.m;
      const std::int64_t* left = a.data() + g.a_matrix[product] * g.m * g.k;
      const std::int64_t* right = b.data() + g.b_matrix[product] * g.n * g.k;
      for (std::int64_t n = 0; n < g.n; ++n) {
        std::uint64_t sum = 0;
        for (std::int64_t k = 0; k < g.k; ++k)
          sum += static_cast<std::uint64_t>(left[g.transpose_a ? k * g.m + m : m * g.k + k]) *
                 static_cast<std::uint64_t>(right[g.transpose_b ? n * g.k + k : k * g.n + n]);
        sums[static_cast<std::size_t>(row * g.n + n)] = static_cast<std::int64_t>(sum);
      }
    }
  });
  store_i64(context.output(0), sums);
}

void run_matmul(const KernelContext& context) {
  const Geometry geometry(context);
  const Tensor& b = context.input(1);
  if (is_integer(b.dtype())) return multiply_integers(context, geometry);
  if (b.dtype() == DType::f64) return multiply<double>(context, geometry, b);
  // Packed rows are decoded tile by tile; columns of 16-bit matrices are not contiguous, so those are widened whole.
  multiply<float>(context, geometry, geometry.transpose_b ? b : b.to_f32());
}

const OpRegistration matmul{{
    .name = "MatMul",
    .tag = 80,
    .family = "linalg",
    .maths =
        "y[.., m, n] = sum over k of a[.., m, k] * b[.., k, n]; leading axes broadcast, and an operand of one axis is "
        "a "
        "row on the left, a column on the right, whose axis of 1 is dropped again. transpose_a and transpose_b swap "
        "the "
        "last two axes of an operand first. Each element is one f64 sum over ascending k, rounded once; integers wrap. "
        "With transpose_b the right side may be packed rows [N, K]: block or fixed-point, or f16 or bf16 beside an f32 "
        "left side; the result has the left side's type.",
    .attributes = {{.name = "transpose_a",
                    .type = AttributeType::boolean,
                    .default_value = false,
                    .doc = "a is given as [.., K, M]"},
                   {.name = "transpose_b",
                    .type = AttributeType::boolean,
                    .default_value = false,
                    .doc = "b is given as [.., N, K]"}},
    .inputs = {{.name = "a"}, {.name = "b"}},
    .op_class = OpClass::compute,
    .infer = infer_matmul,
    .reference = run_matmul,
    .flops = matmul_flops,
    .unfuse = Rule::not_applicable("a primitive: there is nothing smaller to take it apart into"),
}};

}  // namespace
}  // namespace weft::ops
