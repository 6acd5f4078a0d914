// Fused ops: ops that stand for a few smaller ones. Their expansion is written once; it is their meaning (the reference
// kernel runs it, each step rounding as the op it is) and what passes put in their place for backends that lack them.
// Internal to the library. Expansions live until the process ends.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ir/op_schema.h"

namespace weft {

// Adds nodes to `graph` that compute what `node` does and returns one value per output of it. `inputs` are values of
// `graph` in the order of the node's operands, undefined where an optional one is absent. Attributes are the node's.
using Expansion = std::vector<Value> (*)(Graph& graph, const Node& node, std::span<const Value> inputs);

// Registers the schema of a fused op, its reference kernel and unfuse rule being the expansion.
struct FusedOpRegistration {
  FusedOpRegistration(OpSchema schema, Expansion expansion);
};

// Null for an op that is not fused.
Expansion expansion_of(const OpSchema& schema);

// The steps of a fused node as a graph of their own.
struct FusedSteps {
  Graph graph{"steps"};
  std::vector<std::int32_t> operand;  // per node: the operand that this Input stands for, -1 for a step
  std::vector<Value> results;         // per output
};
// `operands` are the types of the node's operands, nothing for one that is absent.
FusedSteps steps_of(const Node& node, Expansion expansion, std::span<const std::optional<TensorType>> operands);

namespace ops {

// The output types of a fused op from those of its steps, with the constraints that they record.
void infer_by_expansion(InferContext& context, Expansion expansion);

// Adds a node of one output; operands that are absent at the end are left out.
Value step(Graph& graph, const char* op, std::vector<Value> inputs, const Attributes& attributes = {});

}  // namespace ops
}  // namespace weft
