// A graph as a tree of text values and back: the one structure behind the TOML and the JSON form. Internal to the room.
#pragma once

#include <string>

#include "weft/formats/graph_ir/model.h"
#include "weft/formats/graph_ir/text_tree.h"
#include "weft/formats/graph_ir/toml_form.h"

namespace weft::graph_ir {

// NotRepresentable for what the form has no room for.
TextTable graph_to_tree(const Graph& graph, const TextOptions& options);

// `language` opens the codes of errors: "Toml" or "Json".
Graph graph_from_tree(const TextValue& root, std::string_view language, const std::string& source);

// How JSON spells a float that is no number: {"$float": "nan"}.
inline constexpr std::string_view float_key = "$float";

}  // namespace weft::graph_ir
