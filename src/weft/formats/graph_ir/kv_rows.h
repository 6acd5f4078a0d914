// What a KvCache appends: how wide a row is and how many rows an operand brings. Internal to the room.
#pragma once

#include <optional>

#include "weft/formats/graph_ir/head_layout.h"
#include "weft/formats/graph_ir/infer_rules.h"

namespace weft::graph_ir {

struct KvRows {
  Dim width = unknown_dim, rows = unknown_dim;
  bool read_as_heads = false;        // an attention reads the cache, and the operand has axes of heads
  std::optional<HeadLayout> layout;  // then: where the shape settles it
  bool batched = false;              // the first axis counts sequences, of which a cache has one
};

// Rows of operand `input` (0 for K, 1 for V) of the KvCache that the context is at. An attention that reads the output
// fixes the width; otherwise the operand's last axes do. KvBatch for more than one sequence, KvRowWidthChanged where
// the elements do not fill whole rows.
KvRows kv_rows(const RuleContext& c, std::size_t input);

// Bytes of one packed row of a KvCompress or KvDecompress: an f32 scale and the codes.
Dim packed_row_bytes(const Op& op);

}  // namespace weft::graph_ir
