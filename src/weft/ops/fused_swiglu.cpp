// SwiGLU of one tensor that holds both halves.
#include "weft/base/fail.h"
#include "weft/ops/expansion.h"

namespace weft::ops {
namespace {

std::vector<Value> expand_swiglu(Graph& graph, const Node& node, std::span<const Value> in) {
  const std::int64_t half = *graph.type(in[0]).shape.back().value() / 2;
  const auto piece = [&](bool second) {
    return step(graph, "Narrow", {in[0]}, {{"axis", -1}, {"start", second ? half : 0}, {"len", half}});
  };
  const bool gate_first = node.boolean("gate_first");
  const Value gate = step(graph, "Activation", {piece(!gate_first)}, {{"kind", "silu"}});
  const Value product = step(graph, "Binary", {gate, piece(gate_first)}, {{"kind", "mul"}});
  const auto* to = std::get_if<DType>(&node.attribute("cast_to"));
  return {to == nullptr ? product : step(graph, "Cast", {product}, {{"to", *to}})};
}

void infer_swiglu(InferContext& context) {
  context.require_float(0);
  if (context.rank(0) == 0) context.fail_shape("a scalar has no halves");
  const auto last = context.shape(0).back().value();
  if (!last || *last % 2 != 0)
    context.fail_shape(fmt::format("the last axis of {} must be static and even", context.shape(0).text()));
  infer_by_expansion(context, expand_swiglu);
}

const FusedOpRegistration swiglu{
    {.name = "FusedSwiGLU",
     .tag = 203,
     .family = "fused_swiglu",
     .maths = "y = up * silu(gate), where x [.., 2n] is up then gate, or gate then up with gate_first; then a Cast to "
              "cast_to. Each step rounds as Activation, Binary and Cast do.",
     .attributes = {{.name = "gate_first",
                     .type = AttributeType::boolean,
                     .default_value = false,
                     .doc = "the gate is the first half"},
                    {.name = "cast_to", .type = AttributeType::dtype, .doc = "element type of y; absent: that of x"}},
     .inputs = {{.name = "x"}},
     .op_class = OpClass::elementwise,
     .infer = infer_swiglu},
    expand_swiglu};

}  // namespace
}  // namespace weft::ops
