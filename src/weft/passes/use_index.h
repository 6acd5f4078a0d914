// Who reads each value of a graph, built once: what Graph::users finds by a scan. Valid as long as the graph is
// unchanged; reading is thread-safe.
#pragma once

#include <span>
#include <vector>

#include "weft/ir/graph.h"

namespace weft {

class UseIndex {
 public:
  explicit UseIndex(const Graph& graph);

  std::span<const Value> users(Value value) const;  // {consuming node, index of the operand}, in order
  bool is_output(Value value) const { return outputs_[slot(value)]; }
  // One operand of one node reads it, and it is no output of the graph: a rewrite may make it disappear.
  bool is_private(Value value) const { return users(value).size() == 1 && !is_output(value); }

 private:
  std::size_t slot(Value value) const {
    return first_slot_[static_cast<std::size_t>(value.node)] + static_cast<std::size_t>(value.port);
  }

  std::vector<std::size_t> first_slot_;  // of each node's values
  std::vector<std::size_t> first_user_;  // of each value, in users_
  std::vector<Value> users_;
  std::vector<bool> outputs_;
};

// For each node, whether it is a weight or constant, or only moves or converts one (Transpose, Decode, ...). Such nodes
// may stand anywhere in front of their users. Chains longer than 64 nodes do not count, since rewrites walk them
// recursively.
std::vector<bool> weight_nodes(const Graph& graph);

}  // namespace weft
