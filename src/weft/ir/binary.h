// The binary form of a graph, for the `~~~mir` section of a `.model`. Derived from the schemas: ops by tag, attributes
// by name and type, so that a later schema with new defaulted attributes reads older files. docs/formats/mir.md has
// the layout. Encoding is deterministic: what the encoder wrote, decoded and encoded again, is the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"
#include "weft/ir/graph.h"

namespace weft {

inline constexpr std::uint32_t mir_version = 1;

// Of a graph that verify() accepts.
WEFT_API std::vector<std::byte> to_binary(const Graph& graph);
// Throws NotMir (magic), UnsupportedVersion, Truncated, TrailingBytes, UnknownOpTag, BadEnum, BadBool, BadDtypeTag,
// BadAttribute, BadDim, and all that verify() does. `source` names the bytes in messages.
WEFT_API Graph graph_from_binary(std::span<const std::byte> bytes, std::string_view source = "mir");

}  // namespace weft
