// Matrix products with what surrounds them: a norm of the rows, an epilogue, several products of one input, a gate.
#include "weft/ops/fused_matmul.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "weft/base/fail.h"
#include "weft/ops/activation.h"
#include "weft/ops/expansion.h"
#include "weft/ops/linalg.h"

namespace weft {
namespace ops {
namespace {

// x [.., K] times the matrix in input `right`.
TensorType infer_product(InferContext& context, std::size_t right, bool transpose_b) {
  if (context.rank(0) == 0) context.fail_shape("x is a scalar, expected rows");
  context.require_float(0);
  context.require_rank(right, 2, 2);
  const Shape &x = context.shape(0), &w = context.shape(right);
  TensorType product{x, product_dtype(context, transpose_b, right)};
  context.require_equal(x.back(), w[transpose_b ? 1 : 0],
                        fmt::format("the summed axes of {} and {}", x.text(), w.text()));
  product.shape[x.rank() - 1] = w[transpose_b ? 0 : 1];
  return product;
}

void require_bias(InferContext& context, std::size_t input, const TensorType& product) {
  context.require_rank(input, 1, 1);
  context.require_equal(context.shape(input)[0], product.shape.back(), "the bias and the columns");
  if (context.dtype(input) != product.dtype)
    context.fail_dtype(fmt::format("the bias is {}, the product {}: expected one type", to_string(context.dtype(input)),
                                   to_string(product.dtype)));
}

void require_like(InferContext& context, const Shape& shape, const TensorType& product, const std::string& what) {
  if (shape.rank() != product.shape.rank())
    context.fail_shape(fmt::format("{} is {}, the product {}", what, shape.text(), product.shape.text()));
  for (std::size_t i = 0; i < shape.rank(); ++i)
    context.require_equal(product.shape[i], shape[i], fmt::format("axis {} of the product and {}", i, what));
}

// The gain has to be there when `norm_eps` is, and not else.
void require_norm(InferContext& context, bool has_gain, std::size_t input) {
  const auto eps = context.node().optional_real("norm_eps");
  if (eps.has_value() != has_gain)
    context.fail_attribute("norm_eps", has_gain ? "a gain without it" : "a norm without a gain");
  if (!eps) return;
  if (!(*eps >= 0) || !std::isfinite(*eps))
    context.fail_attribute("norm_eps", fmt::format("{}, expected 0 or more", *eps));
  context.require_rank(input, 1, 1);
  context.require_equal(context.shape(input)[0], context.shape(0).back(), "the gain and the rows of x");
  if (context.dtype(input) != context.dtype(0))
    context.fail_dtype(fmt::format("the gain is {}, x is {}: expected one type", to_string(context.dtype(input)),
                                   to_string(context.dtype(0))));
}

// What is multiplied: x, or its rows normed.
Value rows_of(Graph& graph, const Node& node, Value x, Value gain) {
  const auto eps = node.optional_real("norm_eps");
  return eps ? step(graph, "RmsNorm", {x, gain}, {{"eps", *eps}}) : x;
}

Value multiply(Graph& graph, const Node& node, Value x, Value w, Value bias) {
  const Value product = step(graph, "MatMul", {x, w}, {{"transpose_b", node.boolean("transpose_b")}});
  return bias.defined() ? step(graph, "Binary", {product, bias}, {{"kind", "add"}}) : product;
}

Value activate(Graph& graph, const Node& node, Value x) {
  const std::string& kind = node.text("activation");
  return kind == "none" ? x : step(graph, "Activation", {x}, {{"kind", AttributeValue(kind)}});
}

Dim product_flops(const InferContext& context) {
  Dim columns(0);
  for (const TensorType& output : context.outputs()) columns = columns + output.shape.numel();
  return Dim(2) * columns * context.shape(0).back();
}

AttributeSpec transpose_attribute() {
  return {.name = "transpose_b",
          .type = AttributeType::boolean,
          .default_value = false,
          .doc = "weights are given as [N, K] and may be packed"};
}

AttributeSpec activation_attribute(const char* value, const char* doc) {
  return {.name = "activation",
          .type = AttributeType::choice,
          .default_value = std::string(value),
          .doc = doc,
          .choices = epilogue_kinds()};
}

AttributeSpec norm_attribute() {
  return {.name = "norm_eps",
          .type = AttributeType::real,
          .doc = "given: x stands for RmsNorm(x) with this eps and the last operand as its gain"};
}

InputSpec gain_input() { return {.name = "norm_gain", .presence = Presence::optional, .doc = "with norm_eps, [K]"}; }

// --- FusedMatMulBiasAct -----------------------------------------------------------------------------------------

void infer_bias_act(InferContext& context) {
  const TensorType product = infer_product(context, 1, context.node().boolean("transpose_b"));
  if (context.has(2)) require_bias(context, 2, product);
  if (context.has(3)) {
    if (context.dtype(3) != product.dtype)
      context.fail_dtype(fmt::format("the residual is {}, the product {}: expected one type",
                                     to_string(context.dtype(3)), to_string(product.dtype)));
    require_like(context, context.shape(3), product, "the residual");
  }
  require_norm(context, context.has(4), 4);
  context.output(product.shape, product.dtype);
}

std::vector<Value> expand_bias_act(Graph& graph, const Node& node, std::span<const Value> in) {
  const Value y = activate(graph, node, multiply(graph, node, rows_of(graph, node, in[0], in[4]), in[1], in[2]));
  return {in[3].defined() ? step(graph, "Binary", {y, in[3]}, {{"kind", "add"}}) : y};
}

const FusedOpRegistration bias_act{
    {.name = "FusedMatMulBiasAct",
     .tag = 200,
     .family = "fused_matmul",
     .maths =
         "y = act(x w + bias) + residual, for rows x [.., K] and a matrix w [K, N], or [N, K] with transpose_b; "
         "bias [N] and residual [.., N] may be absent. Each step rounds as RmsNorm, MatMul, Binary and Activation do.",
     .attributes = {activation_attribute("none", "the function act, none for the identity"), transpose_attribute(),
                    norm_attribute()},
     .inputs = {{.name = "x"},
                {.name = "w", .doc = "packed types need transpose_b"},
                {.name = "bias", .presence = Presence::optional},
                {.name = "residual", .presence = Presence::optional, .doc = "added last, in y's shape"},
                gain_input()},
     .op_class = OpClass::compute,
     .infer = infer_bias_act,
     .flops = product_flops},
    expand_bias_act};

// --- FusedSharedMatMul ------------------------------------------------------------------------------------------

void infer_shared(InferContext& context) {
  const auto& biased = context.node().integers("biased");
  const bool norm = context.node().optional_real("norm_eps").has_value();
  if (norm && context.input_count() < 2) context.fail_attribute("norm_eps", "a norm without a gain");
  const std::size_t operands = context.input_count() - 1 - (norm ? 1 : 0);
  if (biased.size() >= operands)
    context.fail_attribute("biased", fmt::format("{} biases of {} operands leave no weight", biased.size(), operands));
  const std::size_t count = operands - biased.size();
  for (std::size_t i = 0; i < biased.size(); ++i)
    if (biased[i] < 0 || static_cast<std::size_t>(biased[i]) >= count || (i > 0 && biased[i] <= biased[i - 1]))
      context.fail_attribute("biased", fmt::format("expected ascending indices of the {} projections", count));
  std::size_t bias = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const TensorType product = infer_product(context, 1 + i, context.node().boolean("transpose_b"));
    if (bias < biased.size() && static_cast<std::size_t>(biased[bias]) == i)
      require_bias(context, 1 + count + bias++, product);
    context.output(product.shape, product.dtype);
  }
  require_norm(context, norm, operands + 1);
}

std::vector<Value> expand_shared(Graph& graph, const Node& node, std::span<const Value> in) {
  const auto& biased = node.integers("biased");
  const bool norm = node.optional_real("norm_eps").has_value();
  const std::size_t count = in.size() - 1 - biased.size() - (norm ? 1 : 0);
  const Value x = rows_of(graph, node, in[0], norm ? in.back() : Value());
  std::vector<Value> results;
  std::size_t bias = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool has_bias = bias < biased.size() && static_cast<std::size_t>(biased[bias]) == i;
    results.push_back(multiply(graph, node, x, in[1 + i], has_bias ? in[1 + count + bias] : Value()));
    bias += has_bias ? 1 : 0;
  }
  return results;
}

const FusedOpRegistration shared{
    {.name = "FusedSharedMatMul",
     .tag = 201,
     .family = "fused_matmul",
     .maths = "Several products of one input: y_i = x w_i, plus bias_i where projection i has one. The operands after "
              "x are all weights, then the biases of the projections that `biased` lists, then with norm_eps the gain. "
              "Each step rounds as RmsNorm, MatMul and Binary do.",
     .attributes = {{.name = "biased",
                     .type = AttributeType::integers,
                     .default_value = std::vector<std::int64_t>(),
                     .doc = "ascending indices of the projections that have a bias"},
                    transpose_attribute(),
                    norm_attribute()},
     .inputs = {{.name = "x"},
                {.name = "operands", .presence = Presence::variadic, .doc = "w_1 .. w_k, the biases, the gain"}},
     .outputs = {{.name = "y", .variadic = true}},
     .op_class = OpClass::compute,
     .infer = infer_shared,
     .flops = product_flops},
    expand_shared};

// --- FusedGatedMatMul -------------------------------------------------------------------------------------------

void infer_gated(InferContext& context) {
  const bool transpose_b = context.node().boolean("transpose_b");
  const TensorType gate = infer_product(context, 1, transpose_b), up = infer_product(context, 2, transpose_b);
  require_like(context, up.shape, gate, "the second product");
  if (context.has(3)) require_bias(context, 3, gate);
  if (context.has(4)) require_bias(context, 4, up);
  require_norm(context, context.has(5), 5);
  context.output(gate.shape, gate.dtype);
}

std::vector<Value> expand_gated(Graph& graph, const Node& node, std::span<const Value> in) {
  const Value x = rows_of(graph, node, in[0], in[5]);
  const Value gate = activate(graph, node, multiply(graph, node, x, in[1], in[3]));
  return {step(graph, "Binary", {gate, multiply(graph, node, x, in[2], in[4])}, {{"kind", "mul"}})};
}

const FusedOpRegistration gated{
    {.name = "FusedGatedMatMul",
     .tag = 202,
     .family = "fused_matmul",
     .maths = "y = act(x w_gate + bias_gate) * (x w_up + bias_up), element by element; the biases may be absent. Each "
              "step rounds as RmsNorm, MatMul, Binary and Activation do.",
     .attributes = {activation_attribute("silu", "the function act"), transpose_attribute(), norm_attribute()},
     .inputs = {{.name = "x"},
                {.name = "w_gate", .doc = "packed types need transpose_b"},
                {.name = "w_up"},
                {.name = "bias_gate", .presence = Presence::optional},
                {.name = "bias_up", .presence = Presence::optional},
                gain_input()},
     .op_class = OpClass::compute,
     .infer = infer_gated,
     .flops = [](const InferContext& context) { return Dim(2) * product_flops(context); }},
    expand_gated};

}  // namespace
}  // namespace ops

std::optional<RowNorm> norm_of_rows(const Node& node) {
  if (!node.schema->attribute_index("norm_eps")) return std::nullopt;  // MatMul
  const auto eps = node.optional_real("norm_eps");
  return eps ? std::optional(RowNorm{node.inputs.back(), *eps}) : std::nullopt;
}

SharedProjections shared_projections(const Node& node) {
  const auto& biased = node.integers("biased");
  const std::size_t count = node.inputs.size() - 1 - biased.size() - (norm_of_rows(node) ? 1 : 0);
  SharedProjections projections;
  for (std::size_t i = 0; i < count; ++i) projections.weights.push_back(node.inputs[1 + i]);
  projections.biases.resize(count);
  for (std::size_t i = 0; i < biased.size(); ++i)
    projections.biases[static_cast<std::size_t>(biased[i])] = node.inputs[1 + count + i];
  return projections;
}

}  // namespace weft
