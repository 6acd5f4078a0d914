// Builds a Program from a graph, node by node: where each value is, which weights and slots are needed, what is
// emitted. Backends lower nodes through it. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/ir/graph.h"
#include "weft/lir/program.h"

namespace weft::lir {

class ProgramBuilder {
 public:
  explicit ProgramBuilder(const Graph& graph);

  const Graph& graph() const { return graph_; }
  SizeTable& sizes() { return program_.sizes; }

  // Who reads a value: {node, operand index}, graph outputs not among them.
  const std::vector<Value>& users(Value value) const { return users_[at(value)][port(value)]; }
  bool is_output(Value value) const { return is_output_[at(value)][port(value)]; }
  // The node that reads a value when there is exactly one edge and the value is no output; none otherwise.
  std::int32_t only_user(Value value) const;

  // Whether a value is known once the weights are: a Param, a Constant, or what depends on those alone.
  bool is_weight(Value value) const { return is_weight_[at(value)]; }
  // The weight in a form; the same id for the same value and form.
  WeightId weight(Value value, std::shared_ptr<const WeightForm> form);

  // Where a value's bytes are. A weight is there as f32 or as it is stored, whatever its type says.
  Operand operand(Value value);
  bool has_operand(Value value) const { return operands_[at(value)][port(value)].defined(); }
  // A new arena buffer for a value.
  Operand allocate(Value value);
  // The value is (part of) another's bytes.
  void bind(Value value, Operand operand);
  // A new arena buffer that is no value of the graph.
  Operand helper(std::string name, const Dim& bytes, DType dtype, const std::vector<Dim>& dims);
  // One that several instructions share, made at the first call for its key.
  Operand shared_helper(const std::string& key, const std::function<Operand()>& make);

  SlotId add_slot(Slot slot);
  SlotId slot(std::string_view name) const;  // none when it was not added
  std::shared_ptr<const SlotLayout> slot_layout(SlotId slot) const;
  // A plane of a slot as a value of the graph.
  Operand state_operand(SlotId slot, std::int32_t plane, const TensorType& type);

  void emit(Instruction instruction);

  // Adds the outputs and constraints; the builder is empty afterwards.
  Program finish();

 private:
  static std::size_t at(Value value) { return static_cast<std::size_t>(value.node); }
  static std::size_t port(Value value) { return static_cast<std::size_t>(value.port); }

  const Graph& graph_;
  Program program_;
  std::vector<std::vector<std::vector<Value>>> users_;
  std::vector<std::vector<bool>> is_output_;
  std::vector<bool> is_weight_;
  std::vector<std::vector<Operand>> operands_;
  std::map<std::string, Operand> shared_;
};

// The bytes of a weight as the file or the graph has them.
std::shared_ptr<const WeightForm> stored_form();

}  // namespace weft::lir
