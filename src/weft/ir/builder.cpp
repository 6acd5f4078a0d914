#include "weft/ir/builder.h"

#include <utility>

#include "weft/base/fail.h"

namespace weft {

Var Var::named(std::string name) const {
  graph_->set_name_of(value_, std::move(name));
  return *this;
}

std::vector<Var> emit_all(Graph& graph, std::string_view op, const std::vector<Var>& inputs,
                          const Attributes& attributes, NodeOptions options) {
  std::vector<Value> values;
  for (const Var& input : inputs) {
    if (input.defined() && &input.graph() != &graph)
      fail(ErrorKind::invalid_argument, "ForeignValue", std::string(op), "an operand belongs to another graph");
    values.push_back(input.defined() ? input.value() : Value{});
  }
  // Absent operands at the end are simply not there.
  while (!values.empty() && !values.back().defined()) values.pop_back();
  const std::int32_t index = graph.add(op, std::move(values), attributes, std::move(options));
  std::vector<Var> outputs;
  for (std::size_t port = 0; port < graph.node(index).outputs.size(); ++port)
    outputs.emplace_back(graph, Value{index, static_cast<std::int32_t>(port)});
  return outputs;
}

Var emit(Graph& graph, std::string_view op, const std::vector<Var>& inputs, const Attributes& attributes,
         NodeOptions options) {
  return emit_all(graph, op, inputs, attributes, std::move(options)).front();
}

}  // namespace weft
