// The patch sizes of an Unpatchify, which carries none of its own. Internal to the room.
#pragma once

#include "weft/formats/graph_ir/infer_rules.h"

namespace weft::graph_ir {

// Rows x columns patches of patch_h x patch_w pixels with `channels` channels each; unknown where sizes are.
struct PatchGrid {
  Dim rows = unknown_dim, columns = unknown_dim;
  Dim patch_h = unknown_dim, patch_w = unknown_dim;
  Dim channels = unknown_dim;
};

// Reads, in this order: the second operand (an image of the wanted size), the attributes, the patch size of the
// graph's only PatchEmbed with a square grid. BadParam where none of them tells. x [B, N, C*p*p] must have known rank.
PatchGrid resolve_patches(const RuleContext& c);

}  // namespace weft::graph_ir
