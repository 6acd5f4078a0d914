// Patterns and what stands for them: a pass collects replacements of groups of nodes by one node, and the new graph is
// written in one go. Names of values that survive, origins and hints are kept.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/ir/graph.h"
#include "weft/passes/pipeline.h"
#include "weft/passes/use_index.h"

namespace weft {

struct Replacement {
  std::int32_t root = -1;             // the new node takes its origin
  std::vector<std::int32_t> members;  // the nodes that go, the root included
  // Where the new node stands: at this member's place. Operands that come later must be weights (weight_nodes); they
  // move in front of it.
  std::int32_t at = -1;
  const char* op = "";  // empty: no node at all, each result is the input of the same index
  std::vector<Value> inputs = {};
  Attributes attributes = {};
  std::vector<Value> results = {};  // the value that each output stands for; the output gets its name
};

// What a pass works with: the graph, who reads what, and what it found so far. A node is part of one replacement only.
class Patterns {
 public:
  Patterns(const Graph& graph, PassReport& report);

  const Graph& graph() const { return graph_; }
  const UseIndex& uses() const { return uses_; }
  // The node that makes the value, if it is an `op` that no replacement has taken.
  const Node* made_by(Value value, std::string_view op) const;
  bool is_free(std::int32_t node) const { return !taken_[static_cast<std::size_t>(node)]; }
  bool is_weight(Value value) const { return weights_[static_cast<std::size_t>(value.node)]; }
  // Private, or else a miss MultiConsumer at the node that makes it.
  bool may_disappear(Value value);
  void miss(std::string_view reason, std::int32_t node);
  // False, and a miss, when the members' backend hints differ.
  bool add(Replacement replacement);
  // The graph, which is the one that the patterns were found in, with all replacements made. One that would change a
  // type is not made: a miss TypeChanges.
  Graph finish(Graph& graph);

 private:
  const Graph& graph_;
  PassReport& report_;
  UseIndex uses_;
  std::vector<bool> weights_;
  std::vector<bool> taken_;
  std::vector<Replacement> found_;
};

// Origins of nodes that others took in, gathered and written at the end: each label once, whatever the count.
class MergedOrigins {
 public:
  void add(std::int32_t kept, const Origin& merged) { merged_[kept].push_back(merged); }
  void write(Graph& graph) const;

 private:
  std::map<std::int32_t, std::vector<Origin>> merged_;  // by node of the new graph
};

}  // namespace weft
