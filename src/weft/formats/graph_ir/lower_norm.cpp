// Norms as MIR: all but two are LayerNorm over a reshaped operand.
#include "weft/base/fail.h"
#include "weft/formats/graph_ir/lower.h"

namespace weft::graph_ir {
namespace {

double eps_of(const Node& node) { return node.op.get<float>("eps"); }

weft::Dim product(const weft::Shape& shape, std::size_t begin, std::size_t end) {
  weft::Dim result(1);
  for (std::size_t i = begin; i < end; ++i) result = result * shape[i];
  return result;
}

Value rms_norm(LowerContext& c, Value x, Value gain) {
  std::vector<Value> inputs{x};
  if (gain.defined()) inputs.push_back(gain);
  return c.emit("RmsNorm", std::move(inputs), {{"eps", eps_of(c.node)}});
}

Value plain_layer_norm(LowerContext& c, Value x, double eps) { return c.emit("LayerNorm", {x}, {{"eps", eps}}); }

// A vector over the channels (axis 1, or axis 0 of a vector) so that it broadcasts to x.
Value per_channel(LowerContext& c, Value vector, std::size_t rank) {
  weft::Shape dims{c.shape(vector)[0]};
  for (std::size_t i = 2; i < rank; ++i) dims.push_back(weft::Dim(1));
  return c.reshape(vector, dims);
}

// The normalized value times gain plus bias, where the node has them.
Value affine(LowerContext& c, Value normalized) {
  const std::size_t rank = c.shape(normalized).rank();
  if (c.input_count() > 1) normalized = c.binary("mul", normalized, per_channel(c, c.real(1), rank));
  if (c.input_count() > 2) normalized = c.binary("add", normalized, per_channel(c, c.real(2), rank));
  return normalized;
}

}  // namespace

void lower_rms_norm(LowerContext& c) { c.result(0, rms_norm(c, c.real(0), c.input_count() > 1 ? c.real(1) : Value())); }

void lower_layer_norm(LowerContext& c) {
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < c.input_count(); ++i) inputs.push_back(c.real(i));
  c.result(0, c.emit("LayerNorm", std::move(inputs), {{"eps", eps_of(c.node)}}));
}

void lower_group_norm(LowerContext& c) {
  const Value x = c.real(0);
  const weft::Shape shape = c.shape(x);
  const std::int64_t channels = c.known_size(shape[1], "the channels");
  const std::int64_t groups = c.node.op.tag == Tag::group_norm ? c.node.op.get<std::uint32_t>("num_groups") : channels;
  const weft::Dim group_size = weft::Dim(groups == 0 ? 0 : channels / groups) * product(shape, 2, shape.rank());
  const Value grouped = c.reshape(x, {shape[0], weft::Dim(groups), group_size});
  // Even a plain copy is a node of its own, so that the result never renames the operand.
  c.result(0, affine(c, c.reshape(plain_layer_norm(c, grouped, eps_of(c.node)), shape)));
}

void lower_batch_norm(LowerContext& c) {
  const Value x = c.real(0);
  const weft::Shape shape = c.shape(x);
  const std::size_t rank = shape.rank();
  if (c.input_count() == 5) {
    const Value mean = per_channel(c, c.real(3), rank), variance = c.real(4);
    const Value deviation = c.activation("sqrt", c.binary("add", variance, c.scalar(eps_of(c.node))));
    const Value centered = c.binary("sub", x, mean);
    const Value normalized = c.binary("div", centered, per_channel(c, deviation, rank));
    const Value scaled = c.binary("mul", normalized, per_channel(c, c.real(1), rank));
    return c.result(0, c.binary("add", scaled, per_channel(c, c.real(2), rank)));
  }
  if (rank == 1) {
    const Value columns = c.reshape(x, {shape[0], weft::Dim(1)});
    return c.result(0, affine(c, c.reshape(plain_layer_norm(c, columns, eps_of(c.node)), shape)));
  }
  std::vector<std::int64_t> swap{1, 0};
  for (std::size_t i = 2; i < rank; ++i) swap.push_back(static_cast<std::int64_t>(i));
  const Value channels_first = c.transpose(x, swap);
  const weft::Shape turned = c.shape(channels_first);
  const Value rows = c.reshape(channels_first, {turned[0], product(turned, 1, rank)});
  const Value normalized = c.reshape(plain_layer_norm(c, rows, eps_of(c.node)), turned);
  c.result(0, affine(c, c.transpose(normalized, swap)));
}

void lower_ada_ln(LowerContext& c) {
  const Value x = c.real(0);
  const std::size_t rank = c.shape(x).rank();
  const auto modulation = [&](std::size_t input) {
    const Value value = c.real(input);
    const weft::Shape& shape = c.shape(value);
    if (shape.rank() != 2 || rank <= 2) return value;
    weft::Shape spread{shape[0]};
    for (std::size_t i = 2; i < rank; ++i) spread.push_back(weft::Dim(1));
    spread.push_back(shape[1]);
    return c.reshape(value, spread);
  };
  const Value normalized = plain_layer_norm(c, x, attr_or_default<float>(c.node, "eps"));
  const Value factor = c.binary("add", modulation(1), c.scalar(1));
  c.result(0, c.binary("add", c.binary("mul", normalized, factor), modulation(2)));
}

void lower_norm_matmul(LowerContext& c) { c.result(0, c.matmul(rms_norm(c, c.real(0), c.real(1)), c.matrix(2))); }

void lower_skip_norm(LowerContext& c) {
  const Value sum = c.binary("add", c.real(0), c.real(1));
  c.result(0, rms_norm(c, sum, c.real(2)));
  c.result(1, sum);
}

}  // namespace weft::graph_ir
