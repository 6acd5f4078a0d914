// Leaves, casts, elementwise ops, products, norms and reductions of MIR in the Graph IR.
#include <algorithm>
#include <array>
#include <limits>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/lower.h"
#include "weft/formats/graph_ir/names.h"
#include "weft/formats/graph_ir/raise.h"

namespace weft::graph_ir {
namespace {

constexpr std::pair<std::string_view, RaiseRule> rules[] = {{"Input", raise_input},
                                                            {"Param", raise_param},
                                                            {"Constant", raise_constant},
                                                            {"Cast", raise_cast},
                                                            {"Encode", raise_encode},
                                                            {"Decode", raise_decode},
                                                            {"Activation", raise_activation},
                                                            {"Binary", raise_binary},
                                                            {"Clamp", raise_clamp},
                                                            {"NanToNum", raise_nan_to_num},
                                                            {"Softmax", raise_softmax},
                                                            {"ArgMax", raise_arg_max},
                                                            {"MatMul", raise_matmul},
                                                            {"RmsNorm", raise_rms_norm},
                                                            {"LayerNorm", raise_layer_norm},
                                                            {"Conv", raise_conv},
                                                            {"Pool", raise_pool},
                                                            {"ConvTranspose", raise_conv_transpose},
                                                            {"Resize", raise_resize},
                                                            {"Unpatchify", raise_unpatchify},
                                                            {"GroupNorm", raise_group_norm},
                                                            {"BatchNorm", raise_batch_norm},
                                                            {"AdaLayerNorm", raise_ada_layer_norm},
                                                            {"BatchNormInference", raise_batch_norm_inference},
                                                            {"Reshape", raise_reshape},
                                                            {"Transpose", raise_transpose},
                                                            {"Concat", raise_concat},
                                                            {"Split", raise_split},
                                                            {"Narrow", raise_narrow},
                                                            {"Gather", raise_gather},
                                                            {"Rope", raise_rope},
                                                            {"Attention", raise_attention},
                                                            {"KvAppend", raise_kv_append},
                                                            {"Sample", raise_sample},
                                                            {"Chunk", raise_chunk},
                                                            {"Kron", raise_kron},
                                                            {"MatrixInverse", raise_inverse},
                                                            {"InterpolateTable", raise_interpolate_table},
                                                            {"SinusoidalEmbed", raise_sinusoid},
                                                            {"RelativePositionBias", raise_relative_bias},
                                                            {"WindowAttention", raise_window_attention},
                                                            {"KvCompress", raise_kv_compress},
                                                            {"KvDecompress", raise_kv_compress}};

DType storable(const RaiseContext& c, DType dtype) {
  if (!dtype_text(dtype)) c.refuse(fmt::format("the Graph IR has no dtype tag for {}", to_string(dtype)));
  return dtype;
}

// The last two axes swapped.
std::string turned(RaiseContext& c, std::size_t input) {
  const std::size_t rank = c.shape(input).rank();
  if (rank < 2) c.refuse("a vector on the right side of a product; make it a matrix of one row");
  std::vector<std::uint32_t> axes(rank);
  for (std::size_t i = 0; i < rank; ++i) axes[i] = static_cast<std::uint32_t>(i);
  std::swap(axes[rank - 1], axes[rank - 2]);
  return c.step(make_op(Tag::permute, {{"dims", axes}}), {c.plain(input)});
}

}  // namespace

RaiseRule find_raise_rule(std::string_view op) {
  for (const auto& [name, rule] : rules)
    if (name == op) return rule;
  return nullptr;
}

void raise_input(RaiseContext& c) {
  const std::string& name = c.node.text("name");
  if (c.node.text("source") == "position") {
    if (name != pos_name) c.refuse(fmt::format("the positions of a run are called \"pos\", not \"{}\"", name));
    return;
  }
  const TensorType& type = c.node.outputs[0].type;
  c.exporter.graph().inputs.push_back({name, {plain_shape(type.shape), storable(c, type.dtype), {}, {}}});
}

void raise_param(RaiseContext& c) {
  const TensorType& type = c.node.outputs[0].type;
  c.exporter.graph().weights[c.output()] = {plain_shape(type.shape), storable(c, type.dtype), {}, {}};
}

void raise_constant(RaiseContext& c) {
  raise_param(c);
  c.exporter.result().constants[c.output()] = std::get<Tensor>(c.node.attribute("value"));
}

void raise_cast(RaiseContext& c) {
  const DType from = c.dtype(0), to = c.node.dtype("to");
  const bool exact =
      (is_float(from) && from != DType::f64) || from == DType::boolean || from == DType::i8 || from == DType::u8;
  if (to == DType::f32 && exact) return c.add(make_op(Tag::dequantize), {c.stored(0)});
  if (from == DType::f32 && (to == DType::f16 || to == DType::bf16))
    return c.add(make_op(Tag::quantize, {{"dtype", to}}), {c.real(0)});
  c.refuse(fmt::format("a cast from {} to {} truncates or wraps, which no op of the Graph IR does", to_string(from),
                       to_string(to)));
}

void raise_encode(RaiseContext& c) {
  c.add(make_op(Tag::quantize, {{"dtype", storable(c, c.node.dtype("dtype"))}}), {c.real(0)});
}

void raise_decode(RaiseContext& c) {
  if (c.exporter.producer(c.node.inputs[0], "Gather") != nullptr && c.exporter.skips(c.node.inputs[0].node)) {
    // A lookup in a table of narrow floats.
    if (c.mir.use_count(c.node.inputs[0]) != 1) c.refuse("a lookup gives f32; its rows are also used undecoded");
    RaiseContext gather(c.exporter, c.node.inputs[0].node);
    raise_gather(gather);
    c.exporter.graph().nodes.back().outputs = {c.output()};
    return;
  }
  c.add(make_op(Tag::dequantize), {c.stored(0)});
}

void raise_activation(RaiseContext& c) {
  static constexpr std::pair<std::string_view, Tag> plain_kinds[] = {
      {"silu", Tag::silu}, {"relu", Tag::relu}, {"sigmoid", Tag::sigmoid}, {"tanh", Tag::tanh}};
  const std::string& kind = c.node.text("kind");
  for (const auto& [name, tag] : plain_kinds)
    if (name == kind) return c.add(make_op(tag), {c.real(0)});
  if (kind == "gelu" || kind == "gelu_approx")
    return c.add(make_op(Tag::gelu, {{"approximate", kind == "gelu_approx"}}), {c.real(0)});
  if (kind == "leaky_relu")
    return c.add(make_op(Tag::leaky_relu, {{"slope", c.f32_of(c.node.optional_real("alpha").value_or(0.01), "alpha")}}),
                 {c.real(0)});
  c.refuse(fmt::format("the Graph IR has no activation {}", kind));
}

void raise_binary(RaiseContext& c) {
  static constexpr std::pair<std::string_view, Tag> kinds[] = {
      {"add", Tag::add}, {"sub", Tag::sub}, {"mul", Tag::mul}, {"div", Tag::div}};
  for (const auto& [name, tag] : kinds)
    if (name == c.node.text("kind")) return c.add(make_op(tag), {c.real(0), c.real(1)});
  c.refuse(fmt::format("the Graph IR has no elementwise {}", c.node.text("kind")));
}

void raise_clamp(RaiseContext& c) {
  const auto bound = [&](const char* name) {
    const auto value = c.node.optional_real(name);
    return value ? std::optional<float>(c.f32_of(*value, name)) : std::nullopt;
  };
  c.add(make_op(Tag::clamp, {{"min", bound("min")}, {"max", bound("max")}}), {c.real(0)});
}

void raise_nan_to_num(RaiseContext& c) {
  constexpr double largest = std::numeric_limits<float>::max();
  c.add(make_op(Tag::nan_to_num, {{"nan", c.f32("nan")},
                                  {"posinf", c.f32_of(c.node.optional_real("posinf").value_or(largest), "posinf")},
                                  {"neginf", c.f32_of(c.node.optional_real("neginf").value_or(-largest), "neginf")}}),
        {c.real(0)});
}

void raise_softmax(RaiseContext& c) {
  if (c.node.text("empty_row") != "nan") c.refuse("a row of -inf gives NaN in the Graph IR; set empty_row = nan");
  c.add(make_op(Tag::softmax, {{"dim", static_cast<std::int32_t>(c.node.integer("axis"))}}), {c.real(0)});
}

void raise_arg_max(RaiseContext& c) {
  if (c.node.boolean("keep_dim")) c.refuse("the Graph IR drops the axis of an Argmax");
  if (c.node.dtype("index_dtype") != DType::f32)
    c.refuse(fmt::format("the Graph IR gives indices as f32, not {}", to_string(c.node.dtype("index_dtype"))));
  if (c.node.text("nan") != "wins") c.refuse("NaN counts as the largest in the Graph IR");
  Attrs attrs;
  if (const std::int64_t axis = c.node.integer("axis"); axis != -1) attrs["dim"] = axis;
  c.add(make_op(Tag::argmax), {c.real(0)}, std::move(attrs));
}

void raise_matmul(RaiseContext& c) {
  std::string left = c.node.boolean("transpose_a") ? turned(c, 0) : c.real(0);
  std::string right = c.node.boolean("transpose_b") ? c.matrix(1) : turned(c, 1);
  c.add(make_op(Tag::matmul), {std::move(left), std::move(right)});
}

void raise_kron(RaiseContext& c) { c.add(make_op(Tag::kron), {c.real(0), c.real(1)}); }

void raise_inverse(RaiseContext& c) { c.add(make_op(Tag::matrix_inverse), {c.real(0)}); }

void raise_interpolate_table(RaiseContext& c) { c.add(make_op(Tag::noise_schedule), {c.real(0), c.real(1)}); }

}  // namespace weft::graph_ir
