#include "weft/base/shape.h"

#include <algorithm>

#include "weft/base/fail.h"

namespace weft {

Shape Shape::parse(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    fail(ErrorKind::invalid_argument, "BadShape", "", "\"{}\" is no shape: expected [dim, dim, ...]", text);
  text = text.substr(1, text.size() - 2);
  Shape shape;
  int depth = 0;
  std::size_t start = 0;
  if (text.find_first_not_of(' ') == std::string_view::npos) return shape;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size()) {
      depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
      if (text[at] != ',' || depth != 0) continue;
    }
    shape.push_back(Dim::parse(text.substr(start, at - start)));
    start = at + 1;
  }
  return shape;
}

Dim Shape::numel() const {
  Dim count(1);
  for (const Dim& dim : dims_) count = count * dim;
  return count;
}

bool Shape::is_static() const {
  return std::all_of(dims_.begin(), dims_.end(), [](const Dim& dim) { return dim.is_static(); });
}

std::optional<std::vector<std::int64_t>> Shape::static_dims() const {
  if (!is_static()) return std::nullopt;
  return eval({});
}

std::vector<std::int64_t> Shape::eval(const DimBinding& binding) const {
  std::vector<std::int64_t> dims;
  dims.reserve(dims_.size());
  for (const Dim& dim : dims_) dims.push_back(dim.eval(binding));
  return dims;
}

std::string Shape::text() const {
  std::string text = "[";
  for (std::size_t i = 0; i < dims_.size(); ++i) text += (i == 0 ? "" : ", ") + dims_[i].text();
  return text + "]";
}

Shape broadcast(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.rank(), b.rank());
  std::vector<Dim> dims(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const bool in_a = i < a.rank(), in_b = i < b.rank();
    const Dim x = in_a ? a[a.rank() - 1 - i] : Dim(1), y = in_b ? b[b.rank() - 1 - i] : Dim(1);
    try {
      dims[rank - 1 - i] = broadcast(x, y);
    } catch (const Error&) {
      fail(ErrorKind::shape_mismatch, "ShapeMismatch", "", "{} and {} do not broadcast", a.text(), b.text());
    }
  }
  return Shape(std::move(dims));
}

}  // namespace weft
