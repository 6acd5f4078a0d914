#include "weft/formats/graph_ir/patches.h"

#include <cmath>

#include "weft/base/fail.h"

namespace weft::graph_ir {
namespace {

// The integer whose square is `value`; nothing when there is none.
std::optional<Dim> exact_root(Dim value) {
  auto root = static_cast<Dim>(std::llround(std::sqrt(static_cast<double>(value))));
  for (Dim candidate = std::max<Dim>(0, root - 1); candidate <= root + 1; ++candidate)
    if (candidate <= 3037000499 && candidate * candidate == value) return candidate;
  return std::nullopt;
}

Dim channels_of(const RuleContext& c, Dim last, Dim patch_h, Dim patch_w) {
  const Dim area = times(patch_h, patch_w);
  if (!known(last) || !known(area)) return unknown_dim;
  if (area == 0 || last % area != 0)
    c.mismatch(fmt::format("the last axis of {} must be a multiple of {}, the pixels of a patch", c.operand(0), area));
  return last / area;
}

PatchGrid from_image(const RuleContext& c, const Shape& x, const Shape& image) {
  PatchGrid grid;
  grid.channels = image[1];
  const Dim pixels = times(image[2], image[3]);
  if (!known(pixels) || !known(x[1])) return grid;
  const auto patch = x[1] == 0 || pixels % x[1] != 0 ? std::nullopt : exact_root(pixels / x[1]);
  if (!patch || *patch == 0 || image[2] % *patch != 0 || image[3] % *patch != 0)
    c.mismatch(fmt::format("{} patches of {} cannot tile {} with squares", x[1], c.operand(0), c.operand(1)));
  grid.patch_h = grid.patch_w = *patch;
  grid.rows = image[2] / *patch;
  grid.columns = image[3] / *patch;
  grid.channels = c.unify(grid.channels, channels_of(c, x[2], *patch, *patch), "the channels of ref and of a patch");
  return grid;
}

void read_patch_size(const RuleContext& c, PatchGrid& grid) {
  if (const auto found = c.node.attrs.find("patch_size"); found != c.node.attrs.end()) {
    if (const auto* both = std::get_if<std::int64_t>(&found->second)) {
      grid.patch_h = grid.patch_w = *both;
    } else {
      const auto& sizes = std::get<std::vector<std::int64_t>>(found->second);
      grid.patch_h = sizes[0];
      grid.patch_w = sizes[1];
    }
    return;
  }
  const Node* embed = nullptr;
  std::size_t count = 0;
  for (const Node& node : c.graph.nodes)
    if (node.op.tag == Tag::patch_embed) {
      embed = &node;
      ++count;
    }
  if (count != 1)
    c.bad_param(
        "patch_size",
        fmt::format("is needed: the graph has {} PatchEmbed nodes, so none of them tells it; set the attribute or "
                    "pass an image of the wanted size as second operand",
                    count));
  grid.patch_h = grid.patch_w = embed->op.get<std::uint32_t>("patch_size");
}

std::int64_t grid_attr(const RuleContext& c, std::string_view key) {
  const auto found = c.node.attrs.find(key);
  return found == c.node.attrs.end() ? unknown_dim : std::get<std::int64_t>(found->second);
}

Dim other_side(const RuleContext& c, Dim patches, Dim side) {
  if (patches % side != 0)
    c.mismatch(fmt::format("{} patches of {} do not fill a grid with a side of {}", patches, c.operand(0), side));
  return patches / side;
}

}  // namespace

PatchGrid resolve_patches(const RuleContext& c) {
  const Shape& x = *c.shape(0);
  if (c.in.size() > 1) return c.shape(1) == nullptr ? PatchGrid{} : from_image(c, x, *c.shape(1));
  PatchGrid grid;
  read_patch_size(c, grid);
  grid.channels = channels_of(c, x[2], grid.patch_h, grid.patch_w);
  grid.rows = grid_attr(c, "grid_h");
  grid.columns = grid_attr(c, "grid_w");
  const Dim patches = x[1];
  if (known(grid.rows) && known(grid.columns)) {
    if (!unified(times(grid.rows, grid.columns), patches))
      c.mismatch(fmt::format("{} has {} patches, not {} x {}", c.operand(0), patches, grid.rows, grid.columns));
  } else if (known(patches)) {
    if (known(grid.rows)) {
      grid.columns = other_side(c, patches, grid.rows);
    } else if (known(grid.columns)) {
      grid.rows = other_side(c, patches, grid.columns);
    } else if (const auto side = exact_root(patches)) {
      grid.rows = grid.columns = *side;
    } else {
      c.mismatch(
          fmt::format("{} patches of {} form no square; set the attributes grid_h and grid_w", patches, c.operand(0)));
    }
  }
  return grid;
}

}  // namespace weft::graph_ir
