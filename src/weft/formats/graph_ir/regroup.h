// Finds MIR nodes that one Graph IR node became and that still say what it says, so that it can be stored as it was.
// The node is guessed from its MIR nodes, lowered once more, and believed where that gives the very same nodes.
// Internal to the room.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/formats/graph_ir/model.h"
#include "weft/ir/graph.h"

namespace weft::graph_ir {

// The MIR nodes of one Graph IR node, ascending.
struct NodeGroup {
  const weft::Graph& mir;
  Tag tag;
  std::vector<std::int32_t> nodes;

  std::size_t size() const { return nodes.size(); }
  const weft::Node& node(std::size_t index) const { return mir.node(nodes[index]); }
  // Undefined where there is no such node or operand.
  Value input(std::size_t index, std::size_t operand) const {
    return index < size() ? operand_of(node(index), operand) : Value();
  }
  static Value operand_of(const weft::Node& node, std::size_t operand) {
    return operand < node.inputs.size() ? node.inputs[operand] : Value();
  }
  // The first node of this op; null without one.
  const weft::Node* find(std::string_view op) const;
  std::size_t count(std::string_view op) const;
};

// What a group may have been.
struct Guess {
  Op op;
  std::vector<Value> operands;
  Attrs attrs = {};
  std::vector<std::string> outputs = {};  // where lowering reads their names
  std::vector<Op> readers = {};           // attentions that read output 0 as keys and output 1 as values
};

// The guesses for a group, likelier ones first; none for ops that are one MIR node, or that nothing is known about.
std::vector<Guess> guesses(const NodeGroup& group);

// A group that is one Graph IR node.
struct Regrouped {
  std::vector<std::int32_t> nodes;
  Op op;
  std::vector<Value> operands;
  Attrs attrs;
  std::vector<Value> results;  // one per output
};
// Groups none of whose inner values is used elsewhere.
std::vector<Regrouped> regrouped(const weft::Graph& mir);

}  // namespace weft::graph_ir
