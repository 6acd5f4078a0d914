// The values a graph starts from: what the caller feeds, what is loaded once, what is written in the graph.
#include "weft/ir/infer.h"
#include "weft/ir/op_schema.h"

namespace weft::ops {
namespace {

AttributeSpec name_attribute(const char* doc) {
  return {.name = "name", .type = AttributeType::text, .required = true, .doc = doc};
}

void infer_declared(InferContext& context) {
  const Node& node = context.node();
  if (node.text("name").empty()) context.fail_attribute("name", "it may not be empty");
  context.output(node.shape("shape"), node.dtype("dtype"));
}

const OpRegistration input{{
    .name = "Input",
    .tag = 1,
    .family = "leaves",
    .maths = "A value that each run supplies. With source = position the executor supplies it: the positions past, "
             "past + 1, ... of the rows of the run.",
    .attributes = {name_attribute("how callers bind it"),
                   {.name = "shape", .type = AttributeType::shape, .required = true, .doc = "declared dims"},
                   {.name = "dtype", .type = AttributeType::dtype, .default_value = DType::f32, .doc = "element type"},
                   {.name = "source",
                    .type = AttributeType::choice,
                    .default_value = std::string("caller"),
                    .doc = "who supplies it",
                    .choices = {"caller", "position"}}},
    .op_class = OpClass::leaf,
    .infer = infer_declared,
    .vjp = Rule::not_applicable("a leaf: its cotangent is a result of differentiation"),
    .jvp = Rule::not_applicable("a leaf: its tangent is given"),
}};

const OpRegistration param{{
    .name = "Param",
    .tag = 2,
    .family = "leaves",
    .maths = "A weight, bound by name once when the graph is prepared. Block and fixed-point types stay packed.",
    .attributes = {name_attribute("the weight's name"),
                   {.name = "shape", .type = AttributeType::shape, .required = true, .doc = "static dims"},
                   {.name = "dtype", .type = AttributeType::dtype, .default_value = DType::f32, .doc = "element type"}},
    .op_class = OpClass::leaf,
    .infer =
        [](InferContext& context) {
          const auto dims = context.node().shape("shape").static_dims();
          if (!dims) context.fail_attribute("shape", "a weight has static dims only");
          byte_size(context.node().dtype("dtype"), *dims);  // whole blocks, no overflow
          infer_declared(context);
        },
    .vjp = Rule::not_applicable("a leaf: its cotangent is a result of differentiation"),
    .jvp = Rule::not_applicable("a leaf: its tangent is given"),
}};

const OpRegistration constant{{
    .name = "Constant",
    .tag = 3,
    .family = "leaves",
    .maths = "A value written in the graph itself.",
    .attributes = {{.name = "value", .type = AttributeType::tensor, .required = true, .doc = "dims, dtype and bytes"}},
    .op_class = OpClass::leaf,
    .infer =
        [](InferContext& context) {
          const auto& value = std::get<Tensor>(context.node().attribute("value"));
          context.output(Shape(value.dims()), value.dtype());
        },
    .vjp = Rule::not_applicable("a constant has no cotangent"),
    .jvp = Rule::not_applicable("a constant has a zero tangent"),
}};

}  // namespace
}  // namespace weft::ops
