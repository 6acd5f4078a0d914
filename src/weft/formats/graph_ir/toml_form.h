// The TOML form of a Graph IR, for people: the same content as the binary form, which stays the canonical one. Reading
// is strict (no unknown key, no number of the wrong kind). Stateless.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/base/export.h"
#include "weft/formats/graph_ir/model.h"

namespace weft::graph_ir {

// Most bytes of a text form: parsed values take many times the room of their text.
inline constexpr std::size_t max_text_bytes = std::size_t{16} << 20;

struct TextOptions {
  bool weights = false;  // list Graph::weights, for a graph that travels without its index
};

// TomlSyntax, TomlUnknownKey, TomlMissingKey, TomlType, and the codes that the binary reader uses for bad values.
WEFT_API Graph parse_toml(std::string_view text, const std::string& source = "graph.toml");
WEFT_API std::string to_toml(const Graph& graph, const TextOptions& options = {});

}  // namespace weft::graph_ir
