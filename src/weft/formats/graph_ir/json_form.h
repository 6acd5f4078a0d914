// The JSON form of a Graph IR: the structure of the TOML form, key for key. A float that is no number is the object
// {"$float": "inf"}, "-inf" or "nan". Stateless.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/export.h"
#include "weft/formats/graph_ir/model.h"
#include "weft/formats/graph_ir/toml_form.h"

namespace weft::graph_ir {

// As parse_toml, with codes that begin with Json.
WEFT_API Graph parse_json(std::string_view text, const std::string& source = "graph.json");
WEFT_API std::string to_json(const Graph& graph, const TextOptions& options = {});

}  // namespace weft::graph_ir
