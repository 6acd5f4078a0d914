// A graph that somebody wrote, with its weights, as a `.model` that `weft exec` runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/base/export.h"

namespace weft {

struct GraphImport {
  std::filesystem::path graph;    // the Graph IR: .toml, .json, or .bin for its binary form
  std::filesystem::path weights;  // .safetensors or .npz; empty for a graph without weights
  std::filesystem::path output;
};

struct GraphImportReport {
  std::size_t nodes = 0, tensors = 0;
  std::uint64_t weight_bytes = 0;
  std::vector<std::string> unread;  // tensors of the weights file that the graph does not read, left out
};

// The stored model has neither vocabulary nor decoder config. UnknownFormat, what the readers refuse, all that
// validation finds in the graph, WeightFormatMismatch where the graph lists a weight otherwise than the file has it.
WEFT_API GraphImportReport import_graph(const GraphImport& source);

}  // namespace weft
