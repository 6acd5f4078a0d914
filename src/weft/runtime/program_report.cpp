#include "weft/runtime/program_report.h"

#include <algorithm>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"

namespace weft {

ProgramReport program_report(const CompiledProgram& compiled, const std::map<std::string, std::int64_t>& symbols) {
  const lir::Program& program = compiled.program;
  const std::vector<std::string>& names = program.sizes.symbols();
  std::vector<std::int64_t> values(names.size()), bounds(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto it = symbols.find(names[i]);
    if (it == symbols.end())
      fail(ErrorKind::invalid_argument, "UnboundSymbol", compiled.graph.name(), "dimension {} has no value", names[i]);
    values[i] = it->second;
    bounds[i] = std::max(values[i], compiled.symbol_bounds[i].value_or(values[i]));
  }
  std::vector<std::int64_t> sizes(program.sizes.size()), largest(program.sizes.size());
  program.sizes.eval(values, sizes);
  program.sizes.eval_upper(bounds, largest);

  ProgramReport report;
  report.passes = compiled.pass_reports;
  const lir::ArenaPlan plan = lir::plan_arena(program, largest.data(), compiled.pool->size());
  report.arena_bytes = plan.arena_bytes;
  report.unshared_bytes = plan.unshared_bytes;
  report.thread_scratch_bytes = plan.thread_scratch_bytes;
  const auto name_of = [&](const lir::Operand& operand) {
    return program.buffers[static_cast<std::size_t>(operand.buffer)].name;
  };
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const lir::Instruction& instruction = program.instructions[i];
    InstructionReport line{.op = instruction.op,
                           .kernel = instruction.kernel,
                           .backend = instruction.backend,
                           .label = compiled.graph.node(instruction.node).origin.label,
                           .inputs = {},
                           .outputs = {},
                           .cost = instruction.step->cost(sizes.data()),
                           .integer = instruction.kernel.starts_with("linear q")};
    for (const lir::Operand& operand : instruction.inputs)
      if (operand.defined()) line.inputs.push_back(name_of(operand));
    for (const lir::Operand& operand : instruction.outputs) line.outputs.push_back(name_of(operand));
    report.total.flops += line.cost.flops;
    report.total.weight_bytes += line.cost.weight_bytes;
    report.total.state_bytes += line.cost.state_bytes;
    report.total.activation_bytes += line.cost.activation_bytes;
    if (line.integer) report.integer_flops += line.cost.flops;
    report.instructions.push_back(std::move(line));
    if (plan.scratch_sizes[i] > 0) {
      const auto at = static_cast<std::int32_t>(i);
      report.buffers.push_back(
          {"scratch of " + instruction.kernel, plan.scratch_offsets[i], plan.scratch_sizes[i], at, at});
    }
  }
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const lir::Buffer& buffer = program.buffers[i];
    if (buffer.storage != lir::Storage::arena || buffer.last < 0) continue;
    report.buffers.push_back(
        {buffer.name, plan.offsets[i], plan.sizes[i], buffer.first, buffer.last, buffer.root != lir::none});
  }
  std::stable_sort(report.buffers.begin(), report.buffers.end(),
                   [](const BufferReport& a, const BufferReport& b) { return a.offset < b.offset; });
  for (const lir::Weight& weight : program.weights)
    report.weight_bytes += weight.form->byte_size(compiled.graph.type(weight.value));
  for (const lir::Slot& slot : program.slots) report.state_row_bytes += slot.layout->row_bytes();
  return report;
}

}  // namespace weft
