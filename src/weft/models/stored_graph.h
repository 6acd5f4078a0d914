// The Graph IR that a `.model` stores, joined with the file's tensor index.
#pragma once

#include <optional>
#include <vector>

#include "weft/formats/graph_ir/model.h"
#include "weft/formats/model_file.h"

namespace weft {

// Nothing when the file has no graph section. Warnings are logged, or put in `warnings`. What decode() and parse_toml()
// refuse.
std::optional<graph_ir::Graph> stored_graph_ir(const ModelFile& file, std::vector<Warning>* warnings = nullptr);

}  // namespace weft
