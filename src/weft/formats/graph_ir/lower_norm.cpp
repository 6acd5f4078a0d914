// Norms as MIR.
#include "weft/base/fail.h"
#include "weft/formats/graph_ir/lower.h"

namespace weft::graph_ir {
namespace {

double eps_of(const Node& node) { return node.op.get<float>("eps"); }

Value rms_norm(LowerContext& c, Value x, Value gain) {
  std::vector<Value> inputs{x};
  if (gain.defined()) inputs.push_back(gain);
  return c.emit("RmsNorm", std::move(inputs), {{"eps", eps_of(c.node)}});
}

std::vector<Value> operands(LowerContext& c) {
  std::vector<Value> all;
  for (std::size_t i = 0; i < c.input_count(); ++i) all.push_back(c.real(i));
  return all;
}

}  // namespace

void lower_rms_norm(LowerContext& c) { c.result(0, rms_norm(c, c.real(0), c.input_count() > 1 ? c.real(1) : Value())); }

void lower_layer_norm(LowerContext& c) { c.result(0, c.emit("LayerNorm", operands(c), {{"eps", eps_of(c.node)}})); }

void lower_group_norm(LowerContext& c) {
  Attributes attributes{{"eps", eps_of(c.node)}};
  if (c.node.op.tag == Tag::group_norm)
    attributes.emplace_back("num_groups", std::int64_t{c.node.op.get<std::uint32_t>("num_groups")});
  c.result(0, c.emit("GroupNorm", operands(c), attributes));
}

void lower_batch_norm(LowerContext& c) {
  c.result(0, c.emit(c.input_count() == 5 ? "BatchNormInference" : "BatchNorm", operands(c),
                     {{"channel_axis", c.shape(c.raw(0)).rank() == 1 ? 0 : 1},
                      {"eps", eps_of(c.node)},
                      {"momentum", double{c.node.op.get<float>("momentum")}}}));
}

void lower_ada_ln(LowerContext& c) {
  c.result(0, c.emit("AdaLayerNorm", operands(c), {{"eps", double{attr_or_default<float>(c.node, "eps")}}}));
}

void lower_norm_matmul(LowerContext& c) { c.result(0, c.matmul(rms_norm(c, c.real(0), c.real(1)), c.matrix(2))); }

void lower_skip_norm(LowerContext& c) {
  const Value sum = c.binary("add", c.real(0), c.real(1));
  c.result(0, rms_norm(c, sum, c.real(2)));
  c.result(1, sum);
}

}  // namespace weft::graph_ir
