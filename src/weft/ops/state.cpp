// Ops that read and write state slots.
#include "weft/base/fail.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"

namespace weft::ops {
namespace {

const StateDecl& rows_state(const InferContext& context, std::size_t planes, std::string_view expected) {
  const std::string& slot = context.node().text("slot");
  const StateDecl& state = context.state(slot);
  if (state.kind != StateKind::rows && state.kind != StateKind::paged_rows)
    context.fail_attribute("slot", fmt::format("state @{} holds no rows", slot));
  if (state.planes.size() != planes)
    context.fail_attribute("slot",
                           fmt::format("state @{} has {} planes, expected {}", slot, state.planes.size(), expected));
  return state;
}

void require_rows_of(InferContext& context, std::size_t operand, const StateDecl& state, std::string_view name) {
  context.require_rank(operand, 2, 2);
  if (context.dtype(operand) != state.dtype)
    context.fail_dtype(fmt::format("input {} is {}, state @{} keeps {}: put a Cast or Encode in front", operand,
                                   to_string(context.dtype(operand)), state.name, to_string(state.dtype)));
  context.require_equal(context.shape(operand)[1], Dim(state.planes[operand]),
                        fmt::format("the row width of {} and plane {} of state @{}", name, operand, state.name));
}

void infer_kv_append(InferContext& context) {
  const StateDecl& state = rows_state(context, 2, "one for k and one for v");
  for (const std::size_t operand : {0, 1}) require_rows_of(context, operand, state, operand == 0 ? "k" : "v");
  const Dim rows = context.shape(0)[0];
  context.require_equal(rows, context.shape(1)[0], "the rows of k and v");
  for (const std::size_t plane : {0, 1}) context.output({state.length + rows, Dim(state.planes[plane])}, state.dtype);
}

void infer_rows_append(InferContext& context) {
  const StateDecl& state = rows_state(context, 1, "one");
  require_rows_of(context, 0, state, "rows");
  const Dim rows = context.shape(0)[0];
  if (context.has(1)) {
    context.require_rank(1, 2, 2);
    context.require_equal(rows, context.shape(1)[0], "the rows that are appended and those beside them");
  }
  context.output({state.length + rows, Dim(state.planes[0])}, state.dtype);
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

const OpRegistration rows_append{{
    .name = "RowsAppend",
    .tag = 143,
    .family = "state",
    .maths = "Appends rows to a state slot of one plane and gives all rows that it then holds, the oldest first. The "
             "result is a view of the state's storage; nothing held before is copied.",
    .attributes = {{.name = "slot", .type = AttributeType::text, .required = true, .doc = "the state's name"}},
    .inputs = {{.name = "rows", .doc = "[rows, W]"},
               {.name = "beside",
                .presence = Presence::optional,
                .doc = "rows that another slot gets at the same time: expected to be as many, not read otherwise"}},
    .outputs = {{.name = "full", .doc = "[held + rows, W]"}},
    .op_class = OpClass::boundary,
    .effects = {.slots = {"slot"}},
    .infer = infer_rows_append,
    .reference =
        [](const KernelContext& context) {
          context.set_output(0, context.state().append(context.node().text("slot"), {&context.input(0), 1})[0]);
        },
    .flops = [](const InferContext&) { return Dim(0); },
    .vjp = Rule::not_applicable("a state outlives the run, so no cotangent reaches the rows of earlier runs"),
    .jvp = Rule::not_applicable("the rows of earlier runs have no tangent"),
    .vmap = Rule::not_applicable("a slot belongs to one sequence; a batch of sequences has a slot each"),
    .unfuse = Rule::not_applicable("appending in place has no pure form"),
}};

}  // namespace
}  // namespace weft::ops
