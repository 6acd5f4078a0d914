// Graphs for the tests of this room: one valid node for every op, with the shapes it must give. Included by tests only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/formats/graph_ir/model.h"
#include "weft/formats/graph_ir/op_table.h"

namespace weft::graph_ir {

using Words = std::vector<std::uint32_t>;
using Ints = std::vector<std::int64_t>;

struct Operand {
  Operand(Shape dims, DType type = DType::f32) : shape(std::move(dims)), dtype(type) {}
  Operand(std::initializer_list<std::int64_t> dims) : shape(dims) {}
  Shape shape;
  DType dtype = DType::f32;
};

// A graph of one node whose operands "a", "b", ... are graph inputs and whose results are "y0", "y1", ...
inline Graph one_node(Op op, const std::vector<Operand>& operands, Attrs attrs = {}) {
  Graph graph;
  Node node;
  for (std::size_t i = 0; i < output_count(op); ++i) node.outputs.push_back(std::string("y").append(std::to_string(i)));
  node.op = std::move(op);
  node.attrs = std::move(attrs);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::string name = i == 1 && node.op.tag == Tag::rope ? "pos" : std::string(1, static_cast<char>('a' + i));
    node.inputs.push_back(name);
    graph.inputs.push_back({name, {operands[i].shape, operands[i].dtype, {}, {}}});
  }
  graph.outputs = node.outputs;
  graph.nodes.push_back(std::move(node));
  return graph;
}

struct GoodCase {
  Op op;
  std::vector<Operand> operands;
  std::vector<Operand> results;
  Attrs attrs = {};

  Graph graph() const { return one_node(op, operands, attrs); }
};

// At least one per op; where an op has optional operands, alternatives or attributes, those too.
std::vector<GoodCase> good_cases();

// The Error that `action` throws; one with the code "none" when it throws nothing.
inline Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::invalid_argument, "none", "", "no error was thrown");
}

}  // namespace weft::graph_ir
