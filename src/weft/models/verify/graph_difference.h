// Whether two graphs compute the same in the same way, whatever their nodes are called and in which order they stand.
#pragma once

#include <optional>
#include <string>

#include "weft/ir/graph.h"

namespace weft {

// Nothing when the outputs of both are the same expressions of inputs and weights; else the first nodes that differ.
std::optional<std::string> structural_difference(const Graph& graph, const Graph& expected);

}  // namespace weft
