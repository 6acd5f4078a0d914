// Rules that the names and counts of a graph keep, whatever its ops mean. Internal to the room.
#pragma once

#include <string>
#include <vector>

#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/model.h"
#include "weft/formats/graph_ir/problems.h"

namespace weft::graph_ir {

// Throws every BadArity and BadOutputCount of the graph at once; BadParam where an op's fields are not those of its
// row.
void check_arities(const Graph& graph);

// Adds every broken rule, in the documented order of the rules.
void check_structure(const Graph& graph, bool weights_indexed, Problems& problems);

// Oddities that no run suffers from.
std::vector<Warning> structure_warnings(const Graph& graph);

// A stable order in which every node follows those it reads from, as indices of `nodes`; on a cycle, the nodes of one
// cycle are put into `cycle` and the order is empty.
std::vector<std::size_t> topological_order(const std::vector<Node>& nodes, std::vector<std::size_t>& cycle);

}  // namespace weft::graph_ir
