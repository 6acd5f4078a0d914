// Builder functions of the fused ops.
#include <algorithm>
#include <utility>

#include "weft/base/fail.h"
#include "weft/ops/builder.h"

namespace weft {
namespace {

Attributes with_norm(Attributes attributes, const RowNormOptions& norm) {
  if (norm.gain.defined()) attributes.emplace_back("norm_eps", norm.eps);
  return attributes;
}

}  // namespace

Var fused_matmul_bias_act(Var x, Var w, FusedMatMulOptions options) {
  return emit(x.graph(), "FusedMatMulBiasAct", {x, w, options.bias, options.residual, options.norm.gain},
              with_norm({{"activation", AttributeValue(options.activation)}, {"transpose_b", options.transpose_b}},
                        options.norm));
}

std::vector<Var> fused_shared_matmul(Var x, std::vector<Var> weights, SharedMatMulOptions options) {
  if (options.biases.size() > weights.size())
    fail(ErrorKind::invalid_argument, "BadArity", "[FusedSharedMatMul]", "{} biases for {} weights",
         options.biases.size(), weights.size());
  std::vector<Var> operands{x};
  operands.insert(operands.end(), weights.begin(), weights.end());
  std::vector<std::int64_t> biased;
  for (std::size_t i = 0; i < options.biases.size(); ++i) {
    if (!options.biases[i].defined()) continue;
    biased.push_back(static_cast<std::int64_t>(i));
    operands.push_back(options.biases[i]);
  }
  if (options.norm.gain.defined()) operands.push_back(options.norm.gain);
  return emit_all(
      x.graph(), "FusedSharedMatMul", operands,
      with_norm({{"biased", AttributeValue(std::move(biased))}, {"transpose_b", options.transpose_b}}, options.norm));
}

Var fused_gated_matmul(Var x, Var w_gate, Var w_up, GatedMatMulOptions options) {
  return emit(x.graph(), "FusedGatedMatMul", {x, w_gate, w_up, options.bias_gate, options.bias_up, options.norm.gain},
              with_norm({{"activation", AttributeValue(options.activation)}, {"transpose_b", options.transpose_b}},
                        options.norm));
}

Var fused_swiglu(Var x, FusedSwiGluOptions options) {
  Attributes attributes{{"gate_first", options.gate_first}};
  if (options.cast_to) attributes.emplace_back("cast_to", *options.cast_to);
  return emit(x.graph(), "FusedSwiGLU", {x}, attributes);
}

std::pair<Var, Var> fused_residual_rms_norm(Var x, Var residual, Var gain, Var bias, RmsNormOptions options) {
  const std::vector<Var> both =
      emit_all(x.graph(), "FusedResidualRmsNorm", {x, residual, gain, bias}, {{"eps", options.eps}});
  return {both[0], both[1]};
}

std::pair<Var, Var> fused_residual_layer_norm(Var x, Var residual, Var gain, Var bias, LayerNormOptions options) {
  const std::vector<Var> both =
      emit_all(x.graph(), "FusedResidualLN", {x, residual, gain, bias}, {{"axis", options.axis}, {"eps", options.eps}});
  return {both[0], both[1]};
}

Var elementwise_region(std::vector<Var> inputs, const std::string& chain) {
  if (inputs.empty())
    fail(ErrorKind::invalid_argument, "BadArity", "[ElementwiseRegion]", "at least one input is expected");
  return emit(inputs[0].graph(), "ElementwiseRegion", inputs, {{"chain", AttributeValue(chain)}});
}

}  // namespace weft
