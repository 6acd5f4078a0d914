// Products and inverses of small matrices: Kron, MatrixInverse.
#include "weft/ops/matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ir/op_schema.h"
#include "weft/ops/element.h"

namespace weft::ops {
namespace {

// --- Kron ---------------------------------------------------------------------------------------------------------

Dim aligned_dim(const Shape& shape, std::size_t axis, std::size_t rank) {
  return axis + shape.rank() < rank ? Dim(1) : shape[axis + shape.rank() - rank];
}

void infer_kron(InferContext& context) {
  context.require_float(0);
  context.require_same_dtype(0, 1);
  const Shape &a = context.shape(0), &b = context.shape(1);
  const std::size_t rank = std::max(a.rank(), b.rank());
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) shape.push_back(aligned_dim(a, i, rank) * aligned_dim(b, i, rank));
  context.output(std::move(shape), context.dtype(0));
}

void run_kron(const KernelContext& context) {
  const Tensor &a = context.input(0), &b = context.input(1);
  Tensor& y = context.output(0);
  if (y.numel() == 0) return;
  const std::size_t rank = y.rank();
  // Each row of y along the last axis: the elements of a row of a, each times a row of b.
  const auto leading = [&](const Tensor& tensor) {
    std::vector<std::int64_t> dims(rank, 1);
    std::copy(tensor.dims().begin(), tensor.dims().end(),
              dims.end() - static_cast<std::ptrdiff_t>(tensor.dims().size()));
    return dims;
  };
  const std::vector<std::int64_t> a_dims = leading(a), b_dims = leading(b);
  const auto a_steps = strides_of(a_dims), b_steps = strides_of(b_dims);
  const std::int64_t a_width = rank == 0 ? 1 : a_dims.back(), b_width = rank == 0 ? 1 : b_dims.back();
  const std::int64_t width = a_width * b_width;
  context.pool().parallel_for(y.numel() / width, std::max<std::int64_t>(1, 16384 / width),
                              [&](std::int64_t begin, std::int64_t end) {
                                std::vector<double> left(static_cast<std::size_t>(a_width)),
                                    right(static_cast<std::size_t>(b_width)), row(static_cast<std::size_t>(width));
                                for (std::int64_t r = begin; r < end; ++r) {
                                  std::int64_t rest = r, a_at = 0, b_at = 0;
                                  for (std::size_t axis = rank == 0 ? 0 : rank - 1; axis-- > 0;) {
                                    const std::int64_t index = rest % y.dim(axis);
                                    rest /= y.dim(axis);
                                    a_at += index / b_dims[axis] * a_steps[axis];
                                    b_at += index % b_dims[axis] * b_steps[axis];
                                  }
                                  load_f64(a, a_at, left);
                                  load_f64(b, b_at, right);
                                  double* out = row.data();
                                  for (const double factor : left)
                                    for (const double value : right) *out++ = factor * value;
                                  store_f64(y, r * width, row);
                                }
                              });
}

// --- MatrixInverse ------------------------------------------------------------------------------------------------

void infer_inverse(InferContext& context) {
  context.require_float(0);
  context.require_rank(0, 2, std::numeric_limits<std::size_t>::max());
  const Shape& shape = context.shape(0);
  context.require_equal(shape[shape.rank() - 2], shape.back(), "the rows and columns of a matrix to invert");
  context.output(shape, context.dtype(0));
}

void run_inverse(const KernelContext& context) {
  const Tensor& a = context.input(0);
  const std::int64_t n = a.dims().back();
  if (a.numel() == 0) return;
  const auto size = static_cast<std::size_t>(n);
  context.pool().parallel_for(
      a.numel() / (n * n), std::max<std::int64_t>(1, 65536 / (n * n * n)), [&](std::int64_t begin, std::int64_t end) {
        std::vector<double> rows(2 * size * size);
        for (std::int64_t matrix = begin; matrix < end; ++matrix) {
          std::fill(rows.begin(), rows.end(), 0.0);
          for (std::size_t r = 0; r < size; ++r) {
            load_f64(a, matrix * n * n + static_cast<std::int64_t>(r) * n, std::span(rows).subspan(r * 2 * size, size));
            rows[r * 2 * size + size + r] = 1;
          }
          if (!invert(rows.data(), n))
            fail(ErrorKind::invalid_argument, "SingularMatrix", context.where(),
                 "matrix {} of {} has no inverse: a pivot is 0 or NaN", matrix, dims_text(a.dims()));
          for (std::size_t r = 0; r < size; ++r)
            store_f64(context.output(0), matrix * n * n + static_cast<std::int64_t>(r) * n,
                      std::span<const double>(rows).subspan(r * 2 * size + size, size));
        }
      });
}

const OpRegistration kron{{
    .name = "Kron",
    .tag = 81,
    .family = "matrix",
    .maths = "The Kronecker product: ranks are aligned with leading 1s and sizes multiply; along each axis "
             "y[i p + r] = a[i] b[r] with p the size of b. Each product is rounded once.",
    .inputs = {{"a"}, {"b"}},
    .op_class = OpClass::compute,
    .infer = infer_kron,
    .reference = run_kron,
}};

const OpRegistration matrix_inverse{{
    .name = "MatrixInverse",
    .tag = 82,
    .family = "matrix",
    .maths = "The inverse of each n x n matrix of the last two axes, by elimination with partial pivoting in f64, "
             "rounded once. A pivot of 0 or NaN is SingularMatrix.",
    .inputs = {{"a"}},
    .op_class = OpClass::compute,
    .infer = infer_inverse,
    .reference = run_inverse,
    .flops = [](const InferContext& context) { return Dim(4) * context.shape(0).numel() * context.shape(0).back(); },
    .unfuse = Rule::not_applicable("a primitive"),
}};

}  // namespace

bool invert(double* rows, std::int64_t n) {
  const std::int64_t width = 2 * n;
  for (std::int64_t column = 0; column < n; ++column) {
    std::int64_t pivot = column;
    for (std::int64_t r = column + 1; r < n; ++r)
      if (std::abs(rows[r * width + column]) > std::abs(rows[pivot * width + column])) pivot = r;
    const double head = rows[pivot * width + column];
    if (head == 0 || std::isnan(head)) return false;
    double* top = rows + column * width;
    if (pivot != column) std::swap_ranges(top, top + width, rows + pivot * width);
    for (std::int64_t k = column; k < width; ++k) top[k] /= head;
    for (std::int64_t r = 0; r < n; ++r) {
      double* row = rows + r * width;
      const double factor = row[column];
      if (r == column || factor == 0) continue;
      for (std::int64_t k = column; k < width; ++k) row[k] -= factor * top[k];
    }
  }
  return true;
}

}  // namespace weft::ops
