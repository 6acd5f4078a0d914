#include "weft/ir/infer.h"

#include <algorithm>

#include "weft/base/fail.h"
#include "weft/ir/kernel.h"

namespace weft {
namespace {

std::size_t resolve_axis(std::int64_t axis, std::size_t rank, const std::string& where, std::string_view attribute) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  const std::int64_t resolved = axis < 0 ? axis + signed_rank : axis;
  if (resolved < 0 || resolved >= signed_rank)
    fail(ErrorKind::invalid_argument, "BadAttribute", where, "{} = {} is outside a rank of {}", attribute, axis, rank);
  return static_cast<std::size_t>(resolved);
}

}  // namespace

InferContext::InferContext(const Graph& graph, Node& node, std::string where)
    : graph_(graph), node_(node), where_(std::move(where)) {
  for (const Value& value : node.inputs) types_.push_back(value.defined() ? &graph.type(value) : nullptr);
}

const TensorType& InferContext::input(std::size_t index) const {
  if (!has(index))
    fail(ErrorKind::invalid_graph, "BadArity", where_, "input {} ({}) is missing", index,
         index < node_.schema->inputs.size() ? node_.schema->inputs[index].name : "");
  return *types_[index];
}

const StateDecl& InferContext::state(std::string_view slot) const {
  const StateDecl* state = graph_.state(slot);
  if (state == nullptr) fail(ErrorKind::invalid_graph, "UnknownState", where_, "the graph declares no state @{}", slot);
  return *state;
}

std::size_t InferContext::axis(std::string_view attribute, std::size_t rank) const {
  return resolve_axis(node_.integer(attribute), rank, where_, attribute);
}

void InferContext::set_attribute(std::string_view name, AttributeValue value) {
  node_.attributes[*node_.schema->attribute_index(name)] = std::move(value);
}

void InferContext::require_equal(const Dim& a, const Dim& b, std::string_view what) {
  if (a == b) return;
  if (a.is_static() && b.is_static())
    fail(ErrorKind::shape_mismatch, "ShapeMismatch", where_, "{}: {} and {} must be equal", what, a.text(), b.text());
  constraints_.push_back({a, b, std::string(what)});
}

void InferContext::require_dtype(std::size_t index, std::initializer_list<DType> dtypes) const {
  const DType found = dtype(index);
  if (std::find(dtypes.begin(), dtypes.end(), found) != dtypes.end()) return;
  std::string expected;
  for (const DType dtype : dtypes) expected += (expected.empty() ? "" : ", ") + std::string(to_string(dtype));
  fail_dtype(fmt::format("input {} is {}, expected {}", index, to_string(found), expected));
}

void InferContext::require_float(std::size_t index) const {
  if (!is_float(dtype(index)))
    fail_dtype(fmt::format("input {} is {}, expected a floating type", index, to_string(dtype(index))));
}

void InferContext::require_integer(std::size_t index) const {
  if (!is_integer(dtype(index)))
    fail_dtype(fmt::format("input {} is {}, expected an integer type", index, to_string(dtype(index))));
}

void InferContext::require_same_dtype(std::size_t a, std::size_t b) const {
  if (dtype(a) != dtype(b))
    fail_dtype(fmt::format("inputs {} and {} are {} and {}, expected one type", a, b, to_string(dtype(a)),
                           to_string(dtype(b))));
}

void InferContext::require_rank(std::size_t index, std::size_t low, std::size_t high) const {
  const std::size_t found = rank(index);
  if (found >= low && found <= high) return;
  fail_shape(low == high
                 ? fmt::format("input {} has shape {}, expected rank {}", index, shape(index).text(), low)
                 : fmt::format("input {} has shape {}, expected rank {} to {}", index, shape(index).text(), low, high));
}

void InferContext::fail_attribute(std::string_view attribute, std::string reason) const {
  fail(ErrorKind::invalid_argument, "BadAttribute", where_, "{}: {}", attribute, reason);
}

void InferContext::fail_shape(std::string reason) const {
  throw Error(ErrorKind::shape_mismatch, "ShapeMismatch", where_, std::move(reason));
}

void InferContext::fail_dtype(std::string reason) const {
  throw Error(ErrorKind::dtype_mismatch, "DTypeMismatch", where_, std::move(reason));
}

void InferContext::output(Shape shape, DType dtype) { outputs_.push_back({std::move(shape), dtype}); }

namespace {

void check_attributes(const Node& node, const std::string& where) {
  for (std::size_t i = 0; i < node.schema->attributes.size(); ++i) {
    const AttributeSpec& spec = node.schema->attributes[i];
    const AttributeValue& value = node.attributes[i];
    const auto refuse = [&](const std::string& reason) {
      fail(ErrorKind::invalid_argument, "BadAttribute", where, "{}: {}", spec.name, reason);
    };
    if (std::holds_alternative<std::monostate>(value)) {
      if (spec.required || !std::holds_alternative<std::monostate>(spec.default_value)) refuse("it must be given");
      continue;
    }
    if (!holds(value, spec.type)) refuse(fmt::format("a value of type {} is expected", to_string(spec.type)));
    if (spec.type != AttributeType::choice) continue;
    const auto& chosen = std::get<std::string>(value);
    if (std::find(spec.choices.begin(), spec.choices.end(), chosen) == spec.choices.end())
      refuse(fmt::format("\"{}\" is none of {}", chosen, fmt::join(spec.choices, ", ")));
  }
}

}  // namespace

void check_type(const TensorType& type, const DimBounds& symbols) {
  for (const Dim& dim : type.shape) {
    const auto range = dim.bounds(symbols);
    if (range && range->high < 0)
      fail(ErrorKind::shape_mismatch, "BadShape", "", "dimension {} of {} is negative", dim.text(), type.text());
  }
  const auto dims = type.shape.static_dims();
  // Of a shape with symbols the last size alone says whether rows are whole blocks; 0 stands for one that may be.
  const std::int64_t last = type.shape.rank() == 0 ? 1 : type.shape.back().value().value_or(0);
  byte_size(type.dtype, dims ? *dims : std::vector{last});
}

void infer_node(const Graph& graph, Node& node, const std::string& where) {
  const OpSchema& schema = *node.schema;
  if (node.inputs.size() < schema.min_inputs() || node.inputs.size() > schema.max_inputs())
    fail(ErrorKind::invalid_graph, "BadArity", where, "{} inputs are given, expected {}", node.inputs.size(),
         schema.max_inputs() == SIZE_MAX ? fmt::format("at least {}", schema.min_inputs())
         : schema.min_inputs() == schema.max_inputs()
             ? fmt::format("{}", schema.min_inputs())
             : fmt::format("{} to {}", schema.min_inputs(), schema.max_inputs()));
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (!node.inputs[i].defined() && (i >= schema.inputs.size() || schema.inputs[i].presence != Presence::optional))
      fail(ErrorKind::invalid_graph, "BadArity", where, "input {} is missing", i);
  check_attributes(node, where);
  InferContext context(graph, node, where);
  try {
    for (const Value& input : node.inputs)
      if (input.defined()) check_type(graph.type(input), graph.symbols());
    schema.infer(context);
    for (const TensorType& type : context.outputs()) check_type(type, graph.symbols());
  } catch (const Error& error) {
    // Dim arithmetic knows no place; give it this node's.
    if (error.where().empty()) throw Error(error.kind(), error.code(), where, error.message());
    throw;
  }
  node.outputs.resize(context.outputs().size());
  for (std::size_t port = 0; port < node.outputs.size(); ++port) node.outputs[port].type = context.outputs()[port];
  node.constraints = context.take_constraints();
}

std::size_t KernelContext::axis(std::string_view attribute, std::size_t rank) const {
  return resolve_axis(node().integer(attribute), rank, where(), attribute);
}

}  // namespace weft
