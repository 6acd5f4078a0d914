#include "weft/formats/graph_ir/head_layout.h"

namespace weft::graph_ir {
namespace {

enum class Match { no, maybe, yes };

Match equal(Dim found, Dim wanted) {
  if (!known(found) || !known(wanted)) return Match::maybe;
  return found == wanted ? Match::yes : Match::no;
}

Match both(Match a, Match b) { return a < b ? a : b; }

Match multiple(Dim found, Dim of) {
  if (!known(found)) return Match::maybe;
  return of != 0 && found % of == 0 ? Match::yes : Match::no;
}

class Candidates {
 public:
  void add(HeadLayout layout, Dim batch, Dim tokens, Match match) {
    if (settled_ || match == Match::no) return;
    settled_ = match == Match::yes;
    list.push_back({layout, batch, tokens, settled_});
  }
  std::vector<HeadSizes> list;

 private:
  bool settled_ = false;
};

}  // namespace

std::vector<HeadSizes> head_layouts(const Shape& shape, Dim heads, Dim head_dim) {
  Candidates found;
  const Dim flat = times(heads, head_dim);
  switch (shape.size()) {
    case 4:
      found.add(HeadLayout::bhsd, shape[0], shape[2], both(equal(shape[1], heads), equal(shape[3], head_dim)));
      found.add(HeadLayout::bshd, shape[0], shape[1], both(equal(shape[2], heads), equal(shape[3], head_dim)));
      break;
    case 3:
      found.add(HeadLayout::shd, 1, shape[0], both(equal(shape[1], heads), equal(shape[2], head_dim)));
      found.add(HeadLayout::hsd, 1, shape[1], both(equal(shape[0], heads), equal(shape[2], head_dim)));
      found.add(HeadLayout::bsf, shape[0], shape[1], equal(shape[2], flat));
      break;
    case 2:
      found.add(HeadLayout::sf, 1, shape[0], equal(shape[1], flat));
      found.add(HeadLayout::tokens_major, 1, known(shape[0]) ? shape[0] / heads : unknown_dim,
                both(equal(shape[1], head_dim), multiple(shape[0], heads)));
      break;
    case 1: found.add(HeadLayout::f, 1, 1, equal(shape[0], flat)); break;
    default: break;
  }
  return found.list;
}

std::optional<HeadSizes> settled_layout(const std::vector<HeadSizes>& layouts) {
  if (layouts.empty() || (layouts.size() > 1 && !layouts.back().certain)) return std::nullopt;
  return layouts.back();
}

std::string_view layout_name(HeadLayout layout) {
  switch (layout) {
    case HeadLayout::bhsd: return "bhsd";
    case HeadLayout::bshd: return "bshd";
    case HeadLayout::shd: return "shd";
    case HeadLayout::hsd: return "hsd";
    case HeadLayout::tokens_major: return "rows";
    case HeadLayout::bsf:
    case HeadLayout::sf:
    case HeadLayout::f: return "packed";
  }
  return "auto";
}

std::string_view head_layouts_text() {
  return "[B, H, S, D], [B, S, H, D], [S, H, D], [H, S, D], [B, S, H*D], [S, H*D], [S*H, D] or [H*D]";
}

}  // namespace weft::graph_ir
