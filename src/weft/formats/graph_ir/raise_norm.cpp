// Norms of MIR in the Graph IR.
#include "weft/base/fail.h"
#include "weft/formats/graph_ir/raise.h"

namespace weft::graph_ir {
namespace {

// x and as many of gain and bias as there are.
std::vector<std::string> norm_operands(RaiseContext& c) {
  if (c.has(2) && !c.has(1)) c.refuse("a bias needs a gain in the Graph IR");
  std::vector<std::string> names{c.real(0)};
  for (const std::size_t input : {1, 2})
    if (c.has(input)) names.push_back(c.real(input));
  return names;
}

Op batch_norm(const RaiseContext& c) {
  const std::size_t rank = c.shape(0).rank();
  if (c.axis(c.node.integer("channel_axis"), rank) != (rank == 1 ? 0 : 1))
    c.refuse("channels are axis 1 in the Graph IR, axis 0 of a vector");
  return make_op(Tag::batch_norm, {{"eps", c.f32("eps")}, {"momentum", c.f32("momentum")}});
}

}  // namespace

void raise_rms_norm(RaiseContext& c) {
  if (c.has(2)) c.refuse("RmsNorm has no bias in the Graph IR");
  c.add(make_op(Tag::rms_norm, {{"eps", c.f32("eps")}}), norm_operands(c));
}

void raise_layer_norm(RaiseContext& c) {
  const std::size_t rank = c.shape(0).rank();
  if (c.axis(c.node.integer("axis"), rank) + 1 != rank) c.refuse("the Graph IR normalizes the last axis alone");
  c.add(make_op(Tag::layer_norm, {{"eps", c.f32("eps")}}), norm_operands(c));
}

void raise_group_norm(RaiseContext& c) {
  if (const auto groups = c.node.optional_integer("num_groups"))
    return c.add(make_op(Tag::group_norm, {{"eps", c.f32("eps")}, {"num_groups", c.u32(*groups, "num_groups")}}),
                 norm_operands(c));
  c.add(make_op(Tag::instance_norm, {{"eps", c.f32("eps")}}), norm_operands(c));
}

void raise_batch_norm(RaiseContext& c) {
  if (c.has(1) && !c.has(2)) c.refuse("a gain needs a bias in a BatchNorm of the Graph IR");
  c.add(batch_norm(c), norm_operands(c));
}

void raise_batch_norm_inference(RaiseContext& c) {
  std::vector<std::string> names = norm_operands(c);
  for (const std::size_t input : {3, 4}) names.push_back(c.real(input));
  c.add(batch_norm(c), std::move(names));
}

void raise_ada_layer_norm(RaiseContext& c) {
  if (c.node.text("norm") != "layer_norm") c.refuse("the Graph IR modulates a layer norm alone");
  Attrs attrs;
  if (const float eps = c.f32("eps"); eps != 1e-6f) attrs["eps"] = eps;
  c.add(make_op(Tag::ada_ln), {c.real(0), c.real(1), c.real(2)}, std::move(attrs));
}

}  // namespace weft::graph_ir
