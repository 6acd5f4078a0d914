#include "weft/lir/program_builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "weft/base/fail.h"
#include "weft/lir/memory_plan.h"

namespace weft::lir {
namespace {

class StoredForm final : public WeightForm {
 public:
  std::string name() const override { return "stored"; }
  std::size_t byte_size(const TensorType& type) const override {
    const auto dims = type.shape.static_dims();
    return dims ? weft::byte_size(type.dtype, *dims) : 0;
  }
  std::shared_ptr<const void> prepare(const Tensor& weight, ThreadPool&) const override {
    return std::make_shared<Tensor>(weight);
  }
};

// Bytes of a value as a dim, whole blocks per row for block types.
Dim bytes_of(const TensorType& type) {
  const DTypeInfo& info = dtype_info(type.dtype);
  const Dim elements = type.shape.numel();
  const auto block = static_cast<std::int64_t>(info.block), bytes = static_cast<std::int64_t>(info.block_bytes);
  if (block == 1) return elements * Dim(bytes);
  return ceil_div(elements, block) * Dim(bytes);
}

// The symbol that a dim is, or a dim that it is not.
Dim symbol_of(const Dim& dim) {
  std::set<std::string> names;
  dim.collect_symbols(names);
  return names.size() == 1 ? Dim::symbol(*names.begin()) : Dim(-1);
}

}  // namespace

std::shared_ptr<const WeightForm> stored_form() {
  static const auto form = std::make_shared<const StoredForm>();
  return form;
}

ProgramBuilder::ProgramBuilder(const Graph& graph) : graph_(graph), is_weight_(graph.nodes().size(), false) {
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    users_.emplace_back(node.outputs.size());
    is_output_.emplace_back(node.outputs.size(), false);
    operands_.emplace_back(node.outputs.size());
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k].defined())
        users_[at(node.inputs[k])][port(node.inputs[k])].push_back({i, static_cast<std::int32_t>(k)});
    const std::string& op = node.schema->name;
    const bool computed = node.schema->op_class != OpClass::leaf && node.schema->effects.pure() &&
                          std::all_of(node.inputs.begin(), node.inputs.end(),
                                      [&](Value input) { return !input.defined() || is_weight_[at(input)]; });
    const bool sized = std::all_of(node.outputs.begin(), node.outputs.end(),
                                   [](const OutputInfo& output) { return output.type.shape.is_static(); });
    is_weight_[static_cast<std::size_t>(i)] =
        op == "Param" || op == "Constant" || (computed && sized && !node.inputs.empty());
    if (op == "Input") {
      Buffer buffer{.name = node.text("name"), .storage = Storage::input};
      buffer.index = static_cast<std::int32_t>(program_.inputs.size());
      const auto id = static_cast<BufferId>(program_.buffers.size());
      program_.buffers.push_back(std::move(buffer));
      const TensorType& type = node.outputs[0].type;
      program_.inputs.push_back({i, id, type.dtype, program_.sizes.add(type.shape), {}});
      for (const Dim& dim : type.shape)
        program_.inputs.back().symbols.push_back(
            !dim.is_static() && dim == symbol_of(dim) ? program_.sizes.symbol(dim.text()) : none);
      operands_.back()[0] = {id, 0, type.dtype, program_.inputs.back().dims};
    }
    for (const Constraint& constraint : node.constraints)
      program_.constraints.push_back(
          {program_.sizes.add(constraint.a), program_.sizes.add(constraint.b), i, constraint.what});
  }
  for (const GraphOutput& output : graph.outputs()) is_output_[at(output.value)][port(output.value)] = true;
}

std::int32_t ProgramBuilder::only_user(Value value) const {
  const auto& all = users(value);
  return all.size() == 1 && !is_output(value) ? all[0].node : none;
}

WeightId ProgramBuilder::weight(Value value, std::shared_ptr<const WeightForm> form) {
  for (std::size_t i = 0; i < program_.weights.size(); ++i)
    if (program_.weights[i].value == value && program_.weights[i].form->name() == form->name())
      return static_cast<WeightId>(i);
  program_.weights.push_back({value, std::move(form)});
  return static_cast<WeightId>(program_.weights.size()) - 1;
}

Operand ProgramBuilder::operand(Value value) {
  if (!value.defined()) return {};
  Operand& known = operands_[at(value)][port(value)];
  if (!known.defined() && is_weight(value)) {
    Buffer buffer{.name = graph_.label(value), .storage = Storage::weight};
    buffer.index = weight(value, stored_form());
    const TensorType& type = graph_.type(value);
    known = {static_cast<BufferId>(program_.buffers.size()), 0, type.dtype, program_.sizes.add(type.shape)};
    program_.buffers.push_back(std::move(buffer));
  }
  if (!known.defined())
    fail(ErrorKind::invalid_graph, "NotLowered", graph_.where(value.node), "its output {} is read but never computed",
         value.port);
  return known;
}

Operand ProgramBuilder::allocate(Value value) {
  const TensorType& type = graph_.type(value);
  std::vector<Dim> dims(type.shape.begin(), type.shape.end());
  Operand operand = helper(graph_.label(value), bytes_of(type), type.dtype, dims);
  bind(value, operand);
  return operand;
}

void ProgramBuilder::bind(Value value, Operand operand) { operands_[at(value)][port(value)] = std::move(operand); }

Operand ProgramBuilder::helper(std::string name, const Dim& bytes, DType dtype, const std::vector<Dim>& dims) {
  Operand operand{static_cast<BufferId>(program_.buffers.size()), 0, dtype, program_.sizes.add(Shape(dims))};
  program_.buffers.push_back({.name = std::move(name), .bytes = program_.sizes.add(bytes)});
  return operand;
}

Operand ProgramBuilder::shared_helper(const std::string& key, const std::function<Operand()>& make) {
  const auto it = shared_.find(key);
  if (it != shared_.end()) return it->second;
  Operand operand = make();
  shared_.emplace(key, operand);
  return operand;
}

SlotId ProgramBuilder::add_slot(Slot slot) {
  program_.slots.push_back(std::move(slot));
  return static_cast<SlotId>(program_.slots.size()) - 1;
}

SlotId ProgramBuilder::slot(std::string_view name) const {
  for (std::size_t i = 0; i < program_.slots.size(); ++i)
    if (program_.slots[i].name == name) return static_cast<SlotId>(i);
  return none;
}

std::shared_ptr<const SlotLayout> ProgramBuilder::slot_layout(SlotId slot) const {
  return program_.slots[static_cast<std::size_t>(slot)].layout;
}

Operand ProgramBuilder::state_operand(SlotId slot, std::int32_t plane, const TensorType& type) {
  Buffer buffer{.name = program_.slots[static_cast<std::size_t>(slot)].name, .storage = Storage::state};
  buffer.index = slot;
  buffer.plane = plane;
  Operand operand{static_cast<BufferId>(program_.buffers.size()), 0, type.dtype, program_.sizes.add(type.shape)};
  program_.buffers.push_back(std::move(buffer));
  return operand;
}

void ProgramBuilder::emit(Instruction instruction) { program_.instructions.push_back(std::move(instruction)); }

Program ProgramBuilder::finish() {
  for (const GraphOutput& output : graph_.outputs()) program_.outputs.push_back({output.name, operand(output.value)});
  find_live_ranges(program_);
  return std::move(program_);
}

}  // namespace weft::lir
