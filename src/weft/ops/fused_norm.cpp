// A sum and the norm that reads it, in one op: the sum goes on as the residual stream.
#include "weft/base/fail.h"
#include "weft/ops/expansion.h"
#include "weft/ops/schema_parts.h"

namespace weft::ops {
namespace {

Value expand_sum(Graph& graph, std::span<const Value> in) {
  return step(graph, "Binary", {in[0], in[1]}, {{"kind", "add"}});
}

std::vector<Value> expand_rms_norm(Graph& graph, const Node& node, std::span<const Value> in) {
  const Value sum = expand_sum(graph, in);
  return {step(graph, "RmsNorm", {sum, in[2], in[3]}, {{"eps", node.real("eps")}}), sum};
}

std::vector<Value> expand_layer_norm(Graph& graph, const Node& node, std::span<const Value> in) {
  const Value sum = expand_sum(graph, in);
  return {step(graph, "LayerNorm", {sum, in[2], in[3]}, {{"axis", node.integer("axis")}, {"eps", node.real("eps")}}),
          sum};
}

void require_equal_operands(InferContext& context) {
  context.require_float(0);
  context.require_same_dtype(0, 1);
  const Shape &x = context.shape(0), &residual = context.shape(1);
  if (x.rank() != residual.rank())
    context.fail_shape(fmt::format("x is {}, the residual {}: expected one shape", x.text(), residual.text()));
  for (std::size_t i = 0; i < x.rank(); ++i)
    context.require_equal(x[i], residual[i], fmt::format("axis {} of x and the residual", i));
}

std::vector<InputSpec> operands() {
  return {{.name = "x"},
          {.name = "residual", .doc = "in x's shape"},
          {.name = "gain", .presence = Presence::optional, .doc = "one factor per normalized element; absent: ones"},
          {.name = "bias", .presence = Presence::optional, .doc = "added last; absent: zeros"}};
}

std::vector<OutputSpec> results() { return {{.name = "normed"}, {.name = "sum", .doc = "x + residual"}}; }

// The sum, and a norm.
Dim add_norm_flops(const InferContext& context) { return context.shape(0).numel() + norm_flops(context); }

const FusedOpRegistration residual_rms_norm{
    {.name = "FusedResidualRmsNorm",
     .tag = 204,
     .family = "fused_norm",
     .maths = "sum = x + residual, which have one shape, rounded to their type, and normed = RmsNorm(sum) with gain "
              "and bias.",
     .attributes = {eps_attribute(1e-6)},
     .inputs = operands(),
     .outputs = results(),
     .op_class = OpClass::reduction,
     .infer =
         [](InferContext& context) {
           require_equal_operands(context);
           infer_by_expansion(context, expand_rms_norm);
         },
     .flops = add_norm_flops},
    expand_rms_norm};

const FusedOpRegistration residual_layer_norm{
    {.name = "FusedResidualLN",
     .tag = 205,
     .family = "fused_norm",
     .maths = "sum = x + residual, which have one shape, rounded to their type, and normed = LayerNorm(sum) over the "
              "axes from `axis` to the last, with gain and bias.",
     .attributes = {{.name = "axis",
                     .type = AttributeType::integer,
                     .default_value = std::int64_t{-1},
                     .doc = "first normalized axis"},
                    eps_attribute(1e-5)},
     .inputs = operands(),
     .outputs = results(),
     .op_class = OpClass::reduction,
     .infer =
         [](InferContext& context) {
           require_equal_operands(context);
           infer_by_expansion(context, expand_layer_norm);
         },
     .flops = add_norm_flops},
    expand_layer_norm};

}  // namespace
}  // namespace weft::ops
