// Ops that read and write state slots.
#include "weft/base/fail.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"

namespace weft::ops {
namespace {

void infer_kv_append(InferContext& context) {
  const std::string& slot = context.node().text("slot");
  const StateDecl& state = context.state(slot);
  if (state.kind != StateKind::rows && state.kind != StateKind::paged_rows)
    context.fail_attribute("slot", fmt::format("state @{} holds no rows", slot));
  if (state.planes.size() != 2)
    context.fail_attribute(
        "slot", fmt::format("state @{} has {} planes, expected one for k and one for v", slot, state.planes.size()));
  for (const std::size_t operand : {0, 1}) {
    context.require_rank(operand, 2, 2);
    if (context.dtype(operand) != state.dtype)
      context.fail_dtype(fmt::format("input {} is {}, state @{} keeps {}: put a Cast or Encode in front", operand,
                                     to_string(context.dtype(operand)), slot, to_string(state.dtype)));
    context.require_equal(
        context.shape(operand)[1], Dim(state.planes[operand]),
        fmt::format("the row width of {} and plane {} of state @{}", operand == 0 ? "k" : "v", operand, slot));
  }
  const Dim rows = context.shape(0)[0];
  context.require_equal(rows, context.shape(1)[0], "the rows of k and v");
  for (const std::size_t plane : {0, 1}) context.output({state.length + rows, Dim(state.planes[plane])}, state.dtype);
}

const OpRegistration kv_append{{
    .name = "KvAppend",
    .tag = 140,
    .family = "state",
    .maths =
        "Appends the rows of k and v to the two planes of a state slot and gives all rows that the planes then hold, "
        "the oldest first. The results are views of the state's storage; nothing held before is copied.",
    .attributes = {{.name = "slot", .type = AttributeType::text, .required = true, .doc = "the state's name"}},
    .inputs = {{.name = "k", .doc = "[rows, Wk]"}, {.name = "v", .doc = "[rows, Wv]"}},
    .outputs = {{.name = "k_full", .doc = "[held + rows, Wk]"}, {.name = "v_full", .doc = "[held + rows, Wv]"}},
    .op_class = OpClass::boundary,
    .effects = {.slots = {"slot"}},
    .infer = infer_kv_append,
    .reference =
        [](const KernelContext& context) {
          const Tensor rows[] = {context.input(0), context.input(1)};
          const std::vector<Tensor> planes = context.state().append(context.node().text("slot"), rows);
          for (std::size_t plane = 0; plane < planes.size(); ++plane) context.set_output(plane, planes[plane]);
        },
    .flops = [](const InferContext&) { return Dim(0); },
    .vjp = Rule::not_applicable("a state outlives the run, so no cotangent reaches the rows of earlier runs"),
    .jvp = Rule::not_applicable("the rows of earlier runs have no tangent"),
    .vmap = Rule::not_applicable("a slot belongs to one sequence; a batch of sequences has a slot each"),
    .unfuse = Rule::not_applicable("appending in place has no pure form"),
}};

}  // namespace
}  // namespace weft::ops
