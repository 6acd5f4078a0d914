// Schemas for tests of the graph itself, outside the registry: what a graph does with an op must not depend on which
// ops weft has. Their inference is as plain as it can be; none can run.
#pragma once

#include "weft/base/error.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ir/op_schema.h"

namespace weft::test {

// (a, b) -> their broadcast; attributes of several types.
inline const OpSchema& join_schema() {
  static const OpSchema schema{
      .name = "Join",
      .tag = 1,
      .family = "tests",
      .maths = "y = a + b",
      .attributes = {{.name = "scale", .type = AttributeType::real, .default_value = 1.0},
                     {.name = "axis", .type = AttributeType::integer, .default_value = std::int64_t{-1}},
                     {.name = "mode",
                      .type = AttributeType::choice,
                      .default_value = std::string("auto"),
                      .choices = {"auto", "fast"}}},
      .inputs = {{"a"}, {"b"}, {"bias", Presence::optional}},
      .infer =
          [](InferContext& context) {
            context.require_same_dtype(0, 1);
            context.axis("axis", context.rank(0));
            if (context.node().text("mode") == "auto") context.set_attribute("mode", std::string("fast"));
            context.output(broadcast(context.shape(0), context.shape(1)), context.dtype(0));
          },
  };
  return schema;
}

// x -> two outputs; the second is the first dim alone.
inline const OpSchema& part_schema() {
  static const OpSchema schema{
      .name = "Part",
      .tag = 2,
      .family = "tests",
      .maths = "y, z = x, x[0]",
      .inputs = {{"x"}},
      .outputs = {{"y"}, {"z"}},
      .infer =
          [](InferContext& context) {
            context.require_rank(0, 1, 4);
            context.output(context.shape(0), context.dtype(0));
            context.output(Shape{context.shape(0)[0]}, DType::i32);
          },
  };
  return schema;
}

// Any number of operands whose first dims must be equal.
inline const OpSchema& stack_schema() {
  static const OpSchema schema{
      .name = "Stack",
      .tag = 3,
      .family = "tests",
      .maths = "y = all operands",
      .inputs = {{"x"}, {"more", Presence::variadic}},
      .infer =
          [](InferContext& context) {
            for (std::size_t i = 1; i < context.input_count(); ++i)
              context.require_equal(context.shape(0)[0], context.shape(i)[0], "the first dims");
            context.output(context.shape(0), context.dtype(0));
          },
  };
  return schema;
}

// Appends to a state slot.
inline const OpSchema& keep_schema() {
  static const OpSchema schema{
      .name = "Keep",
      .tag = 4,
      .family = "tests",
      .maths = "y = the slot's rows",
      .attributes = {{.name = "slot", .type = AttributeType::text, .required = true}},
      .inputs = {{"x"}},
      .effects = {.slots = {"slot"}},
      .infer =
          [](InferContext& context) {
            const StateDecl& state = context.state(context.node().text("slot"));
            context.output({state.length + context.shape(0)[0], state.planes.at(0)}, state.dtype);
          },
  };
  return schema;
}

template <class F>
std::string code_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

inline Value input(Graph& graph, const std::string& name, Shape shape, DType dtype = DType::f32) {
  return {graph.add("Input", {}, {{"name", name}, {"shape", std::move(shape)}, {"dtype", dtype}}), 0};
}

}  // namespace weft::test
