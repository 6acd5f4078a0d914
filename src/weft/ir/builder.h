// A light handle for building graphs in C++: a value of a graph, with arithmetic. The builder functions of every op
// are in weft/ops/builder.h; emit() reaches any registered op by name. A Var is valid as long as its graph.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"
#include "weft/ir/graph.h"

namespace weft {

class WEFT_API Var {
 public:
  Var() = default;  // no value: an absent optional operand
  Var(Graph& graph, Value value) : graph_(&graph), value_(value) {}

  bool defined() const { return graph_ != nullptr; }
  Graph& graph() const { return *graph_; }
  Value value() const { return value_; }
  const TensorType& type() const { return graph_->type(value_); }
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  // Gives the value its unique name and returns the handle.
  Var named(std::string name) const;

 private:
  Graph* graph_ = nullptr;
  Value value_;
};

// Adds a node and returns all its outputs.
WEFT_API std::vector<Var> emit_all(Graph& graph, std::string_view op, const std::vector<Var>& inputs,
                                   const Attributes& attributes = {}, NodeOptions options = {});
// ... or the first.
WEFT_API Var emit(Graph& graph, std::string_view op, const std::vector<Var>& inputs, const Attributes& attributes = {},
                  NodeOptions options = {});

}  // namespace weft
