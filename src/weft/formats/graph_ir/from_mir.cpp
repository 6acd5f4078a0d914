#include "weft/formats/graph_ir/from_mir.h"

#include <algorithm>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/dims.h"
#include "weft/formats/graph_ir/lower.h"
#include "weft/formats/graph_ir/names.h"
#include "weft/formats/graph_ir/problems.h"
#include "weft/formats/graph_ir/raise.h"
#include "weft/formats/graph_ir/validate.h"

namespace weft::graph_ir {
namespace {

bool is_leaf(const weft::Node& node) { return node.schema->name == "Input" || node.schema->name == "Param"; }

bool is_position(const weft::Node& node) { return node.schema->name == "Input" && node.text("source") == "position"; }

}  // namespace

ValueNames::ValueNames(const weft::Graph& mir) : taken_{std::string(pos_name)} {
  for (const weft::Node& node : mir.nodes()) {
    std::vector<std::string>& names = names_.emplace_back(node.outputs.size());
    if (!is_leaf(node)) continue;
    names[0] = node.text("name");
    taken_.insert(names[0]);
  }
  for (const GraphOutput& output : mir.outputs()) {
    std::string& name =
        names_[static_cast<std::size_t>(output.value.node)][static_cast<std::size_t>(output.value.port)];
    if (name.empty() && taken_.insert(output.name).second) name = output.name;
  }
  for (std::size_t i = 0; i < names_.size(); ++i)
    for (std::size_t port = 0; port < names_[i].size(); ++port) {
      std::string& name = names_[i][port];
      if (!name.empty()) continue;
      const std::string& own = mir.nodes()[i].outputs[port].name;
      name = !own.empty() && taken_.insert(own).second
                 ? own
                 : fresh(port == 0 ? fmt::format("v{}", i) : fmt::format("v{}.{}", i, port));
    }
}

std::string ValueNames::fresh(std::string_view base) {
  std::string name(base);
  for (int count = 1; !taken_.insert(name).second; ++count) name = fmt::format("{}~{}", base, count);
  return name;
}

Exporter::Exporter(const weft::Graph& mir, const FromMirOptions& options) : mir_(mir), options_(options), names_(mir) {
  // Ids that the graph brought along are not given to other nodes.
  for (const weft::Node& node : mir.nodes())
    if (node.origin.format == "graph_ir" && node.origin.id)
      free_id_ = std::max(free_id_,
                          static_cast<std::uint32_t>(std::clamp<std::int64_t>(*node.origin.id, 0, UINT32_MAX - 1)) + 1);
}

FromMir Exporter::run() {
  const std::vector<Regrouped> groups = regrouped(mir_);
  std::vector<const Regrouped*> group_of(static_cast<std::size_t>(mir_.size()));
  for (const Regrouped& group : groups)
    for (const std::int32_t node : group.nodes) group_of[static_cast<std::size_t>(node)] = &group;
  for (std::int32_t i = 0; i < mir_.size(); ++i) {
    if (const Regrouped* group = group_of[static_cast<std::size_t>(i)]) {
      if (i == group->nodes.back()) append_group(*group);
      continue;
    }
    if (skips(i)) continue;
    const RaiseRule rule = find_raise_rule(mir_.node(i).schema->name);
    if (rule == nullptr) refuse(i, "the Graph IR has no such op");
    RaiseContext context(*this, i);
    rule(context);
  }
  add_outputs();
  check_positions();
  check_types();
  return std::move(result_);
}

void Exporter::refuse(std::int32_t node, const std::string& what) const {
  not_representable(mir_.where(node), "{}", what);
}

const weft::Node* Exporter::producer(Value value, std::string_view op) const {
  if (!value.defined()) return nullptr;
  const weft::Node& node = mir_.node(value.node);
  return node.schema->name == op ? &node : nullptr;
}

// Nodes that are raised with the one that reads them.
bool Exporter::skips(std::int32_t index) const {
  const weft::Node& node = mir_.node(index);
  if (node.schema->name == "ToIndex") return true;
  if (node.schema->name == "Gather") return node.outputs[0].type.dtype != DType::f32;
  const bool explicit_op = node.origin.format == "graph_ir" && node.origin.op == "Dequantize";
  return node.schema->name == "Decode" && !explicit_op && producer(node.inputs[0], "Gather") == nullptr;
}

std::string Exporter::operand(Value value, Role role, bool matrix_of_rank_2) {
  const weft::Node* decode = producer(value, "Decode");
  if (decode != nullptr && skips(value.node)) {
    const Value inner = decode->inputs[0];
    const DType dtype = mir_.type(inner).dtype;
    const bool from_weight = producer(inner, "Param") != nullptr || producer(inner, "Constant") != nullptr;
    // A matrix operand keeps its type, so a decoded one says that it should not.
    const bool reader_decodes = role != Role::stored && !(role == Role::packed && matrix_of_rank_2) &&
                                ((is_float(dtype) && role != Role::plain) || (is_packed(dtype) && from_weight));
    if (reader_decodes) return operand(inner, role, matrix_of_rank_2);
    if (decoded_.insert(value.node).second)
      append(*decode, make_op(Tag::dequantize), {operand(inner, Role::stored, false)}, {names_.of(value)}, {});
  } else if (producer(value, "ToIndex") != nullptr) {
    refuse(value.node, "indices are not a value of the Graph IR, only an operand of a lookup");
  } else if (producer(value, "Gather") != nullptr && skips(value.node)) {
    refuse(value.node, fmt::format("a lookup gives f32, not {}", to_string(mir_.type(value).dtype)));
  }
  return names_.of(value);
}

void Exporter::append_group(const Regrouped& group) {
  const Form& form = *form_for(op_def(group.op.tag), group.operands.size());
  std::vector<std::string> inputs, outputs;
  for (std::size_t i = 0; i < group.operands.size(); ++i) {
    const Role role = slot_of(form, i).role;
    const Value value = group.operands[i];
    const weft::Node* index = role == Role::ids ? producer(value, "ToIndex") : nullptr;
    inputs.push_back(operand(index == nullptr ? value : index->inputs[0], role, mir_.type(value).shape.rank() == 2));
  }
  for (const Value result : group.results) outputs.push_back(names_.of(result));
  append(mir_.node(group.nodes.back()), group.op, std::move(inputs), std::move(outputs), group.attrs);
}

std::uint32_t Exporter::next_id(const Origin& origin) {
  if (origin.format == "graph_ir" && origin.id && *origin.id >= 0 && *origin.id <= UINT32_MAX)
    if (const auto id = static_cast<std::uint32_t>(*origin.id); ids_.insert(id).second) return id;
  while (!ids_.insert(free_id_).second) ++free_id_;
  return free_id_;
}

void Exporter::append(const weft::Node& from, Op op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                      Attrs attrs) {
  Node node{next_id(from.origin), std::move(op), std::move(inputs), std::move(outputs), std::move(attrs), {}};
  if (!from.backend_hint.empty()) {
    node.backend_hint = backend_hint_from_name(from.backend_hint);
    if (!node.backend_hint)
      not_representable(fmt::format("[{}] \"{}\"", from.schema->name, node.outputs.front()),
                        "the Graph IR knows no backend \"{}\" to prefer", from.backend_hint);
  }
  result_.graph.nodes.push_back(std::move(node));
}

void Exporter::add_outputs() {
  for (const GraphOutput& output : mir_.outputs()) {
    const std::string name = operand(output.value, Role::stored, false);
    if (name != output.name) {
      // The value has another name: a clamp without bounds gives it a second one.
      if (mir_.type(output.value).dtype != DType::f32 || names_.fresh(output.name) != output.name)
        not_representable("graph outputs", "output \"{}\" is another name of \"{}\"", output.name, name);
      weft::Node unnamed;
      unnamed.schema = mir_.node(output.value.node).schema;
      append(unnamed, make_op(Tag::clamp), {name}, {output.name}, {});
    }
    result_.graph.outputs.push_back(output.name);
  }
}

// The executor supplies as many positions as the first looked-up input has tokens, or one.
void Exporter::check_positions() const {
  for (std::int32_t i = 0; i < mir_.size(); ++i) {
    if (!is_position(mir_.node(i))) continue;
    weft::Dim tokens(1);
    bool found = false;
    for (const NamedSpec& input : result_.graph.inputs)
      for (const Node& node : result_.graph.nodes)
        if (!found && node.op.tag == Tag::token_embed && node.inputs.front() == input.name) {
          const weft::Shape& shape = mir_.type({*mir_.find_input(input.name), 0}).shape;
          tokens = shape.rank() == 0 ? weft::Dim(1) : shape.back();
          found = true;
        }
    const weft::Shape& shape = mir_.node(i).outputs[0].type.shape;
    if (shape != weft::Shape{tokens})
      refuse(i, fmt::format("the positions of a run are [{}], not {}", tokens.text(), shape.text()));
  }
}

// The stored graph must be valid and mean what the MIR graph means, as far as types tell.
void Exporter::check_types() const {
  Validation valid;
  try {
    ValidateOptions strict;
    strict.weights_indexed = true;
    valid = validate(result_.graph, strict);
  } catch (const Error& error) {
    throw Error(ErrorKind::not_representable, "NotRepresentable", error.where(),
                fmt::format("{}: {}", error.code(), error.message()), error.details());
  }
  for (std::int32_t i = 0; i < mir_.size(); ++i)
    for (std::size_t port = 0; port < mir_.node(i).outputs.size(); ++port) {
      const auto found = valid.types.find(names_.of({i, static_cast<std::int32_t>(port)}));
      if (found == valid.types.end()) continue;  // raised with its reader
      const TensorType& type = mir_.node(i).outputs[port].type;
      const Shape shape = plain_shape(type.shape);
      bool same =
          found->second.dtype == type.dtype && found->second.shape && found->second.shape->size() == shape.size();
      for (std::size_t axis = 0; same && axis < shape.size(); ++axis)
        same = unified(shape[axis], (*found->second.shape)[axis]).has_value();
      if (!same)
        refuse(i, fmt::format("output {} is {}, and the Graph IR would make it {} {}", port, type.text(),
                              shape_text(found->second.shape.value_or(Shape())),
                              found->second.dtype ? to_string(*found->second.dtype) : "?"));
    }
}

float RaiseContext::f32_of(double value, std::string_view attribute) const {
  const auto narrowed = static_cast<float>(value);
  if (static_cast<double>(narrowed) != value && value == value && !exporter.options().round_reals)
    refuse(fmt::format("{} = {} is no f32; the nearest is {}", attribute, value, narrowed));
  return narrowed;
}

std::uint32_t RaiseContext::u32(std::int64_t value, std::string_view attribute) const {
  if (value < 0 || value > UINT32_MAX) refuse(fmt::format("{} = {} does not fit 32 bits", attribute, value));
  return static_cast<std::uint32_t>(value);
}

std::vector<std::uint32_t> RaiseContext::u32_list(const std::vector<std::int64_t>& values,
                                                  std::string_view attribute) const {
  std::vector<std::uint32_t> result;
  for (const std::int64_t value : values) result.push_back(u32(value, attribute));
  return result;
}

void RaiseContext::add(Op op, std::vector<std::string> inputs, Attrs attrs) {
  std::vector<std::string> outputs;
  for (std::size_t port = 0; port < node.outputs.size(); ++port) outputs.push_back(output(port));
  exporter.append(node, std::move(op), std::move(inputs), std::move(outputs), std::move(attrs));
}

std::string RaiseContext::step(Op op, std::vector<std::string> inputs) {
  std::string name = exporter.names().fresh(output() + "~");
  weft::Node unnamed;  // the id belongs to the last node of the steps
  unnamed.schema = node.schema;
  unnamed.backend_hint = node.backend_hint;
  exporter.append(unnamed, std::move(op), std::move(inputs), {name}, {});
  return name;
}

FromMir from_mir(const weft::Graph& mir, const FromMirOptions& options) { return Exporter(mir, options).run(); }

}  // namespace weft::graph_ir
