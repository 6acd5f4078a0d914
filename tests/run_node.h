// Runs graphs in tests with nothing but the ops' own definitions: every node by its schema's reference kernel, and
// where the schema also offers a view of its inputs, checks that the view holds the same bytes. No planning, no reuse.
// Single-threaded use; each call owns its tensors.
#pragma once

#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/random.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/builder.h"
#include "weft/ir/graph.h"
#include "weft/ir/kernel.h"
#include "weft/ir/op_schema.h"

namespace weft::test {

// Row planes kept as plain tensors that grow by copying, and generators per node.
class RunState : public StateAccess {
 public:
  // Rows that a slot holds before the run.
  void hold(const std::string& slot, std::vector<Tensor> planes) { planes_[slot] = std::move(planes); }
  std::int64_t held(const std::string& slot) const {
    const auto it = planes_.find(slot);
    return it == planes_.end() || it->second.empty() ? 0 : it->second[0].dim(0);
  }

  std::vector<Tensor> append(std::string_view slot, std::span<const Tensor> rows) override {
    std::vector<Tensor>& planes = planes_[std::string(slot)];
    if (planes.empty())
      for (const Tensor& fresh : rows) planes.push_back(Tensor::zeros(fresh.dtype(), {0, fresh.dim(1)}));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Tensor joined = Tensor::allocate(rows[i].dtype(), {planes.at(i).dim(0) + rows[i].dim(0), planes.at(i).dim(1)});
      copy(planes[i], joined, 0);
      copy(rows[i], joined, planes[i].byte_size());
      planes[i] = joined;
    }
    return planes;
  }
  Pcg32& generator(std::int32_t node, std::int64_t seed) override {
    return generators_.try_emplace(node, static_cast<std::uint64_t>(seed)).first->second;
  }
  std::int64_t run_index() const override { return runs_; }
  void next_run() { ++runs_; }

 private:
  static void copy(const Tensor& from, Tensor& to, std::size_t offset) {
    if (from.byte_size() != 0) std::memcpy(to.mutable_bytes().data() + offset, from.bytes().data(), from.byte_size());
  }

  std::map<std::string, std::vector<Tensor>, std::less<>> planes_;
  std::map<std::int32_t, Pcg32> generators_;
  std::int64_t runs_ = 0;
};

using Bindings = std::map<std::string, Tensor>;  // Input and Param values by name

// The sizes of all symbols: from the bound tensors where a declared dim is a bare symbol, and from the states.
inline DimBinding symbol_sizes(const Graph& graph, const Bindings& bindings, const RunState& state) {
  DimBinding sizes;
  for (const Node& node : graph.nodes()) {
    if (node.schema->name != "Input") continue;
    const auto it = bindings.find(node.text("name"));
    if (it == bindings.end()) continue;
    const Shape& shape = node.shape("shape");
    for (std::size_t axis = 0; axis < shape.rank() && axis < it->second.rank(); ++axis) {
      std::set<std::string> names;
      shape[axis].collect_symbols(names);
      if (names.size() == 1 && shape[axis] == Dim::symbol(*names.begin()))
        sizes.try_emplace(*names.begin(), it->second.dim(axis));
    }
  }
  for (const StateDecl& declared : graph.states()) {
    std::set<std::string> names;
    declared.length.collect_symbols(names);
    if (names.size() == 1) sizes.try_emplace(*names.begin(), state.held(declared.name));
  }
  return sizes;
}

// The values of every node, by node and port.
inline std::vector<std::vector<Tensor>> run_all(const Graph& graph, const Bindings& bindings, RunState& state) {
  static ThreadPool pool(2);
  const DimBinding sizes = symbol_sizes(graph, bindings, state);
  std::vector<std::vector<Tensor>> values(static_cast<std::size_t>(graph.size()));
  for (std::int32_t index = 0; index < graph.size(); ++index) {
    const Node& node = graph.node(index);
    auto& outputs = values[static_cast<std::size_t>(index)];
    if (node.schema->name == "Constant") {
      outputs.push_back(std::get<Tensor>(node.attribute("value")));
      continue;
    }
    if (node.schema->op_class == OpClass::leaf) {
      const auto it = bindings.find(node.text("name"));
      if (it == bindings.end()) throw std::runtime_error("nothing is bound to " + node.text("name"));
      if (it->second.dims() != node.shape("shape").eval(sizes) || it->second.dtype() != node.dtype("dtype"))
        throw std::runtime_error("what is bound to " + node.text("name") + " has another type");
      outputs.push_back(it->second);
      continue;
    }
    for (const Constraint& constraint : node.constraints)
      if (constraint.a.eval(sizes) != constraint.b.eval(sizes))
        throw Error(ErrorKind::shape_mismatch, "ShapeMismatch", graph.where(index), constraint.what);
    std::vector<Tensor> inputs;
    for (const Value& input : node.inputs)
      inputs.push_back(input.defined()
                           ? values[static_cast<std::size_t>(input.node)].at(static_cast<std::size_t>(input.port))
                           : Tensor());
    const bool returns_state = !node.schema->effects.slots.empty();
    for (const OutputInfo& output : node.outputs)
      outputs.push_back(returns_state ? Tensor() : Tensor::allocate(output.type.dtype, output.type.shape.eval(sizes)));
    KernelContext context(graph, index, inputs, outputs, state, pool);
    node.schema->reference(context);
    for (std::size_t port = 0; port < outputs.size(); ++port) {
      const Shape& shape = node.outputs[port].type.shape;
      if (outputs[port].dims() != shape.eval(sizes) || outputs[port].dtype() != node.outputs[port].type.dtype)
        throw std::runtime_error(graph.where(index) + ": the kernel's result has another type than inferred");
      if (!node.schema->view) continue;
      std::vector<std::vector<std::int64_t>> input_dims, output_dims;
      for (const Tensor& input : inputs) input_dims.push_back(input.dims());
      for (const Tensor& output : outputs) output_dims.push_back(output.dims());
      const auto view = node.schema->view(node, {input_dims, output_dims}, port);
      if (!view) continue;
      const Tensor& viewed = inputs.at(view->input);
      const DTypeInfo& info = dtype_info(viewed.dtype());
      const std::size_t offset = static_cast<std::size_t>(view->first_element) / info.block * info.block_bytes;
      if (offset > viewed.byte_size() || outputs[port].byte_size() > viewed.byte_size() - offset ||
          std::memcmp(viewed.bytes().data() + offset, outputs[port].bytes().data(), outputs[port].byte_size()) != 0)
        throw std::runtime_error(graph.where(index) + ": the view differs from the kernel's result");
    }
  }
  return values;
}

// The graph's outputs in order.
inline std::vector<Tensor> run_graph(const Graph& graph, const Bindings& bindings, RunState& state) {
  const auto values = run_all(graph, bindings, state);
  std::vector<Tensor> outputs;
  for (const GraphOutput& output : graph.outputs())
    outputs.push_back(values[static_cast<std::size_t>(output.value.node)][static_cast<std::size_t>(output.value.port)]);
  return outputs;
}

inline std::vector<Tensor> run_graph(const Graph& graph, const Bindings& bindings = {}) {
  RunState state;
  return run_graph(graph, bindings, state);
}

// One node on these operands (an undefined tensor is an absent one), all its outputs. `states` declares the slots that
// its attributes name.
inline std::vector<Tensor> run_node(std::string_view op, const std::vector<Tensor>& inputs,
                                    const Attributes& attributes, RunState& state,
                                    const std::vector<StateDecl>& states = {}) {
  Graph graph("node");
  for (const StateDecl& declared : states) graph.add_state(declared);
  Bindings bindings;
  std::vector<Var> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) {
      operands.emplace_back();
      continue;
    }
    const std::string name = "x" + std::to_string(i);
    bindings[name] = inputs[i];
    operands.push_back(
        emit(graph, "Input", {}, {{"name", name}, {"shape", Shape(inputs[i].dims())}, {"dtype", inputs[i].dtype()}}));
  }
  for (const Var& output : emit_all(graph, op, operands, attributes)) graph.add_output("y", output.value());
  return run_graph(graph, bindings, state);
}

inline std::vector<Tensor> run_node(std::string_view op, const std::vector<Tensor>& inputs,
                                    const Attributes& attributes = {}) {
  RunState state;
  return run_node(op, inputs, attributes, state);
}

}  // namespace weft::test
