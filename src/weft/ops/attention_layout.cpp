#include "weft/ops/attention_layout.h"

#include <algorithm>

namespace weft::ops {

std::vector<std::string> layouts_of_rank(std::size_t rank) {
  switch (rank) {
    case 1: return {"packed"};
    case 2: return {"packed", "rows"};
    case 3: return {"packed", "shd", "hsd"};
    case 4: return {"bshd", "bhsd"};
    default: return {};
  }
}

std::optional<HeadDims> head_dims(const Shape& shape, std::string_view layout, std::int64_t heads) {
  const std::size_t rank = shape.rank();
  if (layout == "bshd") return HeadDims{shape[0], shape[2], shape[1], shape[3]};
  if (layout == "bhsd") return HeadDims{shape[0], shape[1], shape[2], shape[3]};
  if (layout == "shd") return HeadDims{Dim(1), shape[1], shape[0], shape[2]};
  if (layout == "hsd") return HeadDims{Dim(1), shape[0], shape[1], shape[2]};
  if (layout == "rows") {
    const auto tokens = exact_div(shape[0], Dim(heads));
    if (!tokens) return std::nullopt;
    return HeadDims{Dim(1), Dim(heads), *tokens, shape[1]};
  }
  const auto width = exact_div(shape.back(), Dim(heads));
  if (!width) return std::nullopt;
  return HeadDims{rank == 3 ? shape[0] : Dim(1), Dim(heads), rank == 1 ? Dim(1) : shape[rank - 2], *width};
}

std::vector<std::string> fitting_layouts(const Shape& shape, std::int64_t heads, std::optional<std::int64_t> width) {
  std::vector<std::string> fitting;
  for (const std::string& layout : layouts_of_rank(shape.rank())) {
    const auto dims = head_dims(shape, layout, heads);
    if (dims && dims->heads == Dim(heads) && (!width || dims->width == Dim(*width))) fitting.push_back(layout);
  }
  return fitting;
}

std::optional<std::string> choose_layout(const Shape& shape, std::int64_t heads, std::optional<std::int64_t> width,
                                         std::string_view preferred) {
  const std::vector<std::string> fitting = fitting_layouts(shape, heads, width);
  const auto fits = [&](std::string_view layout) {
    return std::find(fitting.begin(), fitting.end(), layout) != fitting.end();
  };
  if (fits(preferred)) return std::string(preferred);
  if (fitting.empty()) return std::nullopt;
  if (shape.rank() != 3 || fitting.size() == 1) return fitting.front();
  if (!fits("packed")) return "shd";
  // One head: [S, 1, D] is a sequence as shd and a batch of single tokens as packed; [1, S, D] is one thing.
  if (fits("shd") && shape[0] != Dim(1)) return std::nullopt;
  return "packed";
}

}  // namespace weft::ops
