#include "weft/formats/graph_ir/dims.h"

#include <algorithm>

#include "weft/base/fail.h"

namespace weft::graph_ir {
namespace {

[[noreturn]] void overflow() {
  fail(ErrorKind::shape_mismatch, "SizeOverflow", "", "a dimension exceeds 2^63; reduce the sizes");
}

}  // namespace

bool all_known(const Shape& shape) { return std::all_of(shape.begin(), shape.end(), known); }

Dim times(Dim a, Dim b) {
  if (!known(a) || !known(b)) return unknown_dim;
  Dim result = 0;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}

Dim plus(Dim a, Dim b) {
  if (!known(a) || !known(b)) return unknown_dim;
  Dim result = 0;
  if (__builtin_add_overflow(a, b, &result)) overflow();
  return result;
}

Dim product(const Shape& shape, std::size_t begin, std::size_t end) {
  const auto first = shape.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = shape.begin() + static_cast<std::ptrdiff_t>(end);
  if (std::find(first, last, 0) != last) return 0;
  Dim result = 1;
  for (auto it = first; it != last; ++it) result = times(result, *it);
  return result;
}

Dim numel(const Shape& shape) { return product(shape, 0, shape.size()); }

std::optional<Dim> unified(Dim a, Dim b) {
  if (!known(a)) return b;
  if (!known(b) || a == b) return a;
  return std::nullopt;
}

std::optional<Dim> broadcast_dim(Dim a, Dim b) {
  if (a == b || b == 1) return a;
  if (a == 1 || !known(a)) return b;
  if (!known(b)) return a;
  return std::nullopt;
}

std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    // Axes align at the right; an axis that one side lacks counts as 1.
    const Dim left = i + a.size() < result.size() ? 1 : a[i + a.size() - result.size()];
    const Dim right = i + b.size() < result.size() ? 1 : b[i + b.size() - result.size()];
    const auto dim = broadcast_dim(left, right);
    if (!dim) return std::nullopt;
    result[i] = *dim;
  }
  return result;
}

std::string shape_text(const Shape& shape) {
  std::vector<std::string> dims;
  for (const Dim dim : shape) dims.push_back(known(dim) ? fmt::format("{}", dim) : "?");
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

}  // namespace weft::graph_ir
