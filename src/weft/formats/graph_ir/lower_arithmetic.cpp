// Elementwise ops, products and reductions as MIR.
#include <cmath>
#include <numbers>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/lower.h"

namespace weft::graph_ir {
namespace {

// The two halves of an axis.
std::pair<Value, Value> halves(LowerContext& c, Value x, std::int64_t axis) {
  const weft::Shape& shape = c.shape(x);
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.rank()) : axis);
  const std::int64_t half = c.known_size(shape[at], "the axis that is cut into halves") / 2;
  const std::int32_t split =
      c.emit_node("Split", {x}, {{"axis", axis}, {"sizes", std::vector<std::int64_t>{half, half}}});
  return {{split, 0}, {split, 1}};
}

const char* activation_kind(const Node& node) {
  switch (node.op.tag) {
    case Tag::silu: return "silu";
    case Tag::relu: return "relu";
    case Tag::sigmoid: return "sigmoid";
    case Tag::tanh: return "tanh";
    case Tag::leaky_relu: return "leaky_relu";
    default: return node.op.get<bool>("approximate") ? "gelu_approx" : "gelu";
  }
}

const char* gate_kind(const Node& node) {
  if (node.op.tag == Tag::glu) return "sigmoid";
  if (node.op.tag != Tag::ge_glu) return "silu";
  return attr_or_default<bool>(node, "approximate") ? "gelu_approx" : "gelu";
}

}  // namespace

void lower_matmul(LowerContext& c) { c.result(0, c.matmul(c.real(0), c.matrix(1))); }

void lower_binary(LowerContext& c) {
  const Tag tag = c.node.op.tag;
  c.result(0, c.binary(tag == Tag::add   ? "add"
                       : tag == Tag::sub ? "sub"
                       : tag == Tag::mul ? "mul"
                                         : "div",
                       c.real(0), c.real(1)));
}

void lower_clamp(LowerContext& c) {
  Attributes bounds;
  for (const char* bound : {"min", "max"})
    if (const auto value = c.node.op.get<std::optional<float>>(bound)) bounds.emplace_back(bound, double{*value});
  c.result(0, c.emit("Clamp", {c.real(0)}, bounds));
}

void lower_nan_to_num(LowerContext& c) {
  Attributes values;
  for (const char* field : {"nan", "posinf", "neginf"}) values.emplace_back(field, double{c.node.op.get<float>(field)});
  c.result(0, c.emit("NanToNum", {c.real(0)}, values));
}

void lower_activation(LowerContext& c) {
  Attributes attributes{{"kind", activation_kind(c.node)}};
  if (c.node.op.tag == Tag::leaky_relu) attributes.emplace_back("alpha", double{c.node.op.get<float>("slope")});
  c.result(0, c.emit("Activation", {c.real(0)}, attributes));
}

void lower_gated(LowerContext& c) {
  const Tag tag = c.node.op.tag;
  Value gate, up;
  if (c.input_count() == 1) {
    std::tie(gate, up) = halves(c, c.real(0), tag == Tag::glu ? attr_or_default<std::int64_t>(c.node, "dim") : -1);
  } else if (c.input_count() == 2) {
    gate = c.real(0);
    up = c.real(1);
  } else {
    const Value x = c.real(0);
    gate = c.matmul(x, c.matrix(1));
    up = c.matmul(x, c.matrix(2));
  }
  // Glu gates its first operand by the second, and so do the halves of a GeGlu; the others the second by the first.
  if (tag == Tag::glu || (tag == Tag::ge_glu && c.input_count() == 1)) std::swap(gate, up);
  const Value product = c.binary("mul", c.activation(gate_kind(c.node), gate), up);
  c.result(0, c.input_count() == 4 ? c.matmul(product, c.matrix(3)) : product);
}

void lower_p_relu(LowerContext& c) {
  const Value x = c.real(0);
  Value slope = c.real(1);
  const std::size_t rank = c.shape(x).rank();
  if (c.shape(slope)[0] != weft::Dim(1) && rank > 2) {
    weft::Shape per_channel{c.shape(slope)[0]};
    for (std::size_t i = 2; i < rank; ++i) per_channel.push_back(weft::Dim(1));
    slope = c.reshape(slope, per_channel);
  }
  // max(x, 0) + a min(x, 0), of ops that the Graph IR can say again.
  const Value below = c.emit("Clamp", {x}, {{"max", 0.0}});
  c.result(0, c.binary("add", c.activation("relu", x), c.binary("mul", slope, below)));
}

void lower_softmax(LowerContext& c) {
  c.result(0, c.emit("Softmax", {c.real(0)},
                     {{"axis", std::int64_t{c.node.op.get<std::int32_t>("dim")}}, {"empty_row", "nan"}}));
}

void lower_argmax(LowerContext& c) {
  c.result(0, c.emit("ArgMax", {c.real(0)},
                     {{"axis", attr_or_default<std::int64_t>(c.node, "dim")}, {"index_dtype", DType::f32}}));
}

void lower_noise_schedule(LowerContext& c) {
  if (c.input_count() > 1)
    c.unsupported("interpolation in a table has no MIR ops; evaluate the schedule outside the graph");
  const Value t = c.real(0);
  const auto kind = attr_or_default<std::string>(c.node, "kind");
  if (kind == "flow") return c.result(0, c.emit("Clamp", {t}));  // without bounds: the same values
  if (kind == "linear") return c.result(0, c.binary("mul", t, c.scalar(attr_or_default<float>(c.node, "max_sigma"))));
  // sqrt((1 - a) / a) with a = cos^2(pi t / 2) is |tan(pi t / 2)|.
  const Value angle = c.binary("mul", t, c.scalar(std::numbers::pi / 2));
  c.result(0, c.activation("abs", c.activation("tan", angle)));
}

void lower_flow_step(LowerContext& c) {
  const Value x = c.real(0);
  if (c.input_count() == 3) return c.result(0, c.binary("add", x, c.binary("mul", c.real(1), c.real(2))));
  const Value mean = c.real(1), log_scale = c.real(2), bias = c.real(3);
  if (attr_or_default<bool>(c.node, "inverse")) {
    const Value scale = c.activation("exp", c.activation("neg", log_scale));
    return c.result(0, c.binary("add", c.binary("mul", c.binary("sub", x, bias), scale), mean));
  }
  const Value scaled = c.binary("mul", c.binary("sub", x, mean), c.activation("exp", log_scale));
  c.result(0, c.binary("add", scaled, bias));
}

void lower_quantize(LowerContext& c) {
  c.result(0, c.emit("Encode", {c.real(0)}, {{"dtype", c.node.op.get<DType>("dtype")}}));
}

void lower_dequantize(LowerContext& c) { c.result(0, c.emit("Decode", {c.raw(0)})); }

void lower_lora(LowerContext& c) {
  const std::size_t x_input = c.input_count() == 4 ? 1 : 0;
  const Value x = c.real(x_input);
  const Value product = c.matmul(c.matmul(x, c.matrix(x_input + 1)), c.matrix(x_input + 2));
  const float scale = c.node.op.get<float>("alpha") / static_cast<float>(c.node.op.get<std::uint32_t>("rank"));
  c.result(0, c.binary("add", c.real(0), c.binary("mul", product, c.scalar(scale))));
}

void lower_kron(LowerContext& c) {
  const Value a = c.real(0), b = c.real(1);
  const std::size_t rank = std::max(c.shape(a).rank(), c.shape(b).rank());
  // a with an axis of 1 behind each of its axes, b with one in front: their product broadcasts to all pairs.
  weft::Shape wide_a, wide_b, joined;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto size_of = [&](Value value) {
      const weft::Shape& shape = c.shape(value);
      return i + shape.rank() < rank ? weft::Dim(1) : shape[i + shape.rank() - rank];
    };
    for (const weft::Dim& dim : {size_of(a), weft::Dim(1)}) wide_a.push_back(dim);
    for (const weft::Dim& dim : {weft::Dim(1), size_of(b)}) wide_b.push_back(dim);
    joined.push_back(size_of(a) * size_of(b));
  }
  const Value product = c.binary("mul", c.reshape(a, wide_a), c.reshape(b, wide_b));
  c.result(0,
           c.emit("Reshape", {product}, {{"shape", [&] {
                                            std::vector<std::int64_t> sizes;
                                            for (const weft::Dim& dim : joined)
                                              sizes.push_back(c.known_size(dim, "every size of a Kronecker product"));
                                            return sizes;
                                          }()}}));
}

}  // namespace weft::graph_ir
