#include "weft/backend/generic_step.h"

#include <cstring>
#include <utility>

#include "weft/base/fail.h"
#include "weft/lir/program_builder.h"

namespace weft {
namespace {

class GenericStep final : public lir::Step {
 public:
  GenericStep(const Graph& graph, std::int32_t node, const Backend& backend, std::vector<lir::Operand> inputs,
              std::vector<lir::Operand> outputs)
      : graph_(graph), node_(node), backend_(backend), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

  void run(const lir::Frame& frame) const override {
    std::vector<Tensor> inputs, outputs;
    for (const lir::Operand& operand : inputs_) inputs.push_back(tensor(frame, operand));
    for (const lir::Operand& operand : outputs_) outputs.push_back(tensor(frame, operand));
    backend_.execute(KernelContext(graph_, node_, inputs, outputs, *frame.state, *frame.pool));
    // A kernel may hand out a tensor of its own.
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      auto* target = frame.data<std::byte>(outputs_[i]);
      if (outputs[i].bytes().data() != target && outputs[i].byte_size() > 0)
        std::memcpy(target, outputs[i].bytes().data(), outputs[i].byte_size());
    }
  }

 private:
  static Tensor tensor(const lir::Frame& frame, const lir::Operand& operand) {
    if (!operand.defined()) return {};
    std::vector<std::int64_t> dims;
    for (const lir::SizeId id : operand.dims) dims.push_back(frame.size(id));
    const std::size_t bytes = byte_size(operand.dtype, dims);
    return Tensor::wrap(nullptr, {frame.data<std::byte>(operand), bytes}, operand.dtype, std::move(dims));
  }

  const Graph& graph_;
  std::int32_t node_;
  const Backend& backend_;
  std::vector<lir::Operand> inputs_, outputs_;
};

}  // namespace

void emit_generic(lir::ProgramBuilder& builder, std::int32_t index, const Backend& backend) {
  const Node& node = builder.graph().node(index);
  lir::Instruction instruction{.op = node.schema->name,
                               .kernel = node.schema->name,
                               .backend = std::string(backend.name()),
                               .node = index,
                               .inputs = {},
                               .outputs = {}};
  for (const Value& input : node.inputs) instruction.inputs.push_back(builder.operand(input));
  for (std::size_t port = 0; port < node.outputs.size(); ++port)
    instruction.outputs.push_back(builder.allocate({index, static_cast<std::int32_t>(port)}));
  instruction.step =
      std::make_unique<GenericStep>(builder.graph(), index, backend, instruction.inputs, instruction.outputs);
  builder.emit(std::move(instruction));
}

}  // namespace weft
