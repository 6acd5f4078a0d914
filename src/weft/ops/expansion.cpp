#include "weft/ops/expansion.h"

#include <map>
#include <string>
#include <utility>

#include "weft/base/fail.h"

namespace weft {
namespace {

// Used by registrations before main and by graphs in static storage, so never destroyed.
std::map<const OpSchema*, Expansion>& expansions() {
  static auto* table = new std::map<const OpSchema*, Expansion>;
  return *table;
}

void run_expansion(const KernelContext& context, Expansion expansion) {
  std::vector<std::optional<TensorType>> types(context.input_count());
  for (std::size_t i = 0; i < types.size(); ++i)
    if (context.has(i)) types[i] = TensorType{Shape(context.input(i).dims()), context.input(i).dtype()};
  const FusedSteps body = steps_of(context.node(), expansion, types);
  std::vector<std::vector<Tensor>> values(body.graph.nodes().size());
  for (std::int32_t index = 0; index < body.graph.size(); ++index) {
    const auto at = static_cast<std::size_t>(index);
    const Node& node = body.graph.node(index);
    if (body.operand[at] >= 0) {
      values[at] = {context.input(static_cast<std::size_t>(body.operand[at]))};
      continue;
    }
    if (node.schema->name == "Constant") {
      values[at] = {std::get<Tensor>(node.attribute("value"))};
      continue;
    }
    for (const Constraint& constraint : node.constraints)
      if (constraint.a != constraint.b)
        fail(ErrorKind::shape_mismatch, "ShapeMismatch", context.where(), "{}: {} and {} must be equal",
             constraint.what, constraint.a.text(), constraint.b.text());
    std::vector<Tensor> inputs;
    for (const Value& input : node.inputs)
      inputs.push_back(input.defined()
                           ? values[static_cast<std::size_t>(input.node)][static_cast<std::size_t>(input.port)]
                           : Tensor());
    for (std::size_t port = 0; port < node.outputs.size(); ++port) {
      const TensorType& type = node.outputs[port].type;
      // A step that ends in an output of the node writes there.
      Tensor target;
      for (std::size_t result = 0; result < body.results.size(); ++result)
        if (body.results[result] == Value{index, static_cast<std::int32_t>(port)}) target = context.output(result);
      values[at].push_back(target.defined() ? target : Tensor::allocate(type.dtype, *type.shape.static_dims()));
    }
    node.schema->reference(KernelContext(body.graph, index, inputs, values[at], context.state(), context.pool()));
  }
}

}  // namespace

FusedOpRegistration::FusedOpRegistration(OpSchema schema, Expansion expansion) {
  schema.reference = [expansion](const KernelContext& context) { run_expansion(context, expansion); };
  schema.unfuse = Rule(Rule::State::built, "");
  for (Rule* rule : {&schema.vjp, &schema.jvp, &schema.vmap})
    *rule = Rule::not_applicable("transforms see its expansion");
  expansions().emplace(&OpRegistry::global().add(std::move(schema)), expansion);
}

Expansion expansion_of(const OpSchema& schema) {
  const auto it = expansions().find(&schema);
  return it == expansions().end() ? nullptr : it->second;
}

FusedSteps steps_of(const Node& node, Expansion expansion, std::span<const std::optional<TensorType>> operands) {
  FusedSteps steps;
  const std::size_t most = node.schema->max_inputs();
  std::vector<Value> inputs(most == SIZE_MAX ? operands.size() : most);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) continue;
    inputs[i] = {steps.graph.add("Input", {},
                                 {{"name", AttributeValue("x" + std::to_string(i))},
                                  {"shape", AttributeValue(operands[i]->shape)},
                                  {"dtype", operands[i]->dtype}}),
                 0};
    steps.operand.push_back(static_cast<std::int32_t>(i));
  }
  steps.results = expansion(steps.graph, node, inputs);
  steps.operand.resize(steps.graph.nodes().size(), -1);
  return steps;
}

namespace ops {

void infer_by_expansion(InferContext& context, Expansion expansion) {
  std::vector<std::optional<TensorType>> types(context.input_count());
  for (std::size_t i = 0; i < types.size(); ++i)
    if (context.has(i)) types[i] = context.input(i);
  const FusedSteps body = steps_of(context.node(), expansion, types);
  for (const Node& node : body.graph.nodes())
    for (const Constraint& constraint : node.constraints)
      context.require_equal(constraint.a, constraint.b, constraint.what);
  for (const Value& result : body.results) {
    const TensorType& type = body.graph.type(result);
    context.output(type.shape, type.dtype);
  }
}

Value step(Graph& graph, const char* op, std::vector<Value> inputs, const Attributes& attributes) {
  while (!inputs.empty() && !inputs.back().defined()) inputs.pop_back();
  return {graph.add(op, std::move(inputs), attributes), 0};
}

}  // namespace ops
}  // namespace weft
