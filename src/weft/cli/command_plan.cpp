// weft plan: what a model compiles to, where each byte lives, and what the machine allows.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "weft/backend/cpu/machine_rates.h"
#include "weft/base/cpu_features.h"
#include "weft/base/thread_pool.h"
#include "weft/cli/json_output.h"
#include "weft/cli/plan_ceilings.h"
#include "weft/cli/program.h"
#include "weft/models/checkpoint.h"
#include "weft/models/language_program.h"
#include "weft/runtime/program_report.h"

namespace weft::cli {
namespace {

void print_passes(const PipelineReport& passes) {
  fmt::print("passes\n");
  for (const PassReport& pass : passes) {
    fmt::print("  {:<20} {:>5}", pass.name, pass.ran ? std::to_string(pass.matches) : "off");
    std::map<std::string, std::pair<int, std::string>> misses;  // reason -> how often, where first
    for (const PassMiss& miss : pass.misses) {
      auto& [count, where] = misses[miss.reason];
      if (count++ == 0) where = miss.where;
    }
    for (const auto& [reason, miss] : misses) fmt::print("   {} ×{}, first {}", reason, miss.first, miss.second);
    fmt::print("\n");
  }
}

void print_instructions(const ProgramReport& report) {
  fmt::print("\ninstructions\n  {:>4} {:<20} {:<34} {:>10} {:>10}  {}\n", "", "op", "kernel", "KB", "kflop",
             "label: inputs -> outputs");
  for (std::size_t i = 0; i < report.instructions.size(); ++i) {
    const InstructionReport& line = report.instructions[i];
    fmt::print("  {:>4} {:<20} {:<34} {:>10.1f} {:>10.1f}  {}: {} -> {}\n", i, line.op, line.kernel,
               line.cost.bytes() / 1e3, line.cost.flops / 1e3, line.label, fmt::join(line.inputs, ", "),
               fmt::join(line.outputs, ", "));
  }
}

void print_buffers(const ProgramReport& report) {
  fmt::print("\nbuffers of the arena\n  {:>12} {:>12}  {:>11}  name\n", "offset", "bytes", "lives");
  for (const BufferReport& buffer : report.buffers)
    fmt::print("  {:>12} {:>12}  {:>5}-{:<5}  {}{}\n", buffer.offset, buffer.size, buffer.first, buffer.last,
               buffer.name, buffer.shared ? " (in place)" : "");
  fmt::print("  {} bytes for the largest run; {} without sharing; {} more for each thread\n", report.arena_bytes,
             report.unshared_bytes, report.thread_scratch_bytes);
}

}  // namespace

PlanCeilings plan_ceilings(const ProgramReport& report, std::int64_t rows, double bandwidth, double integer_rate,
                           double float_rate) {
  PlanCeilings ceilings{.bandwidth = bandwidth, .integer_rate = integer_rate, .float_rate = float_rate};
  const double memory = (report.total.weight_bytes + report.total.state_bytes) / bandwidth;
  const double integer = integer_rate > 0 ? integer_rate : float_rate;
  const double compute = report.integer_flops / integer + (report.total.flops - report.integer_flops) / float_rate;
  ceilings.memory_tok_s = static_cast<double>(rows) / memory;
  ceilings.compute_tok_s = static_cast<double>(rows) / compute;
  return ceilings;
}

int plan(const PlanArguments& arguments) {
  const auto checkpoint = Checkpoint::open(arguments.model);
  LanguageProgram language = language_program(
      *checkpoint, {.context = std::max<std::int64_t>(arguments.context, arguments.past + arguments.rows),
                    .threads = arguments.threads,
                    .kv_type = *dtype_from_name(arguments.kv_type),
                    .without_passes = arguments.without,
                    .chunk = std::max<std::int64_t>(arguments.rows, 512)});
  const CompiledProgram compiled(std::move(language.graph), std::move(language.config));
  std::map<std::string, std::int64_t> symbols{{language.rows_symbol, arguments.rows}, {rows_input, 1}};
  for (const lir::Slot& slot : compiled.program.slots)
    symbols[compiled.program.sizes.symbols()[static_cast<std::size_t>(slot.length_symbol)]] = arguments.past;
  const ProgramReport report = program_report(compiled, symbols);
  const CpuLevel level = selected_cpu_level();
  const cpu::LevelRates rates = cpu::matrix_rates(*compiled.pool).best(level);
  const PlanCeilings ceilings =
      plan_ceilings(report, arguments.rows, cpu::read_bandwidth(*compiled.pool), rates.int8, rates.f32);
  if (arguments.json) {
    fmt::print("{}\n", plan_json(report, ceilings, arguments));
    return 0;
  }
  print_passes(report.passes);
  print_instructions(report);
  print_buffers(report);
  fmt::print("\na run of {} rows after {}, logits of the last, {} threads, level {}\n", arguments.rows, arguments.past,
             compiled.pool->size(), to_string(level));
  fmt::print(
      "  weights {:.1f} MB read (of {:.1f} MB held) · keys and values {:.1f} MB · other {:.1f} MB · {:.2f} GFLOP\n",
      report.total.weight_bytes / 1e6, static_cast<double>(report.weight_bytes) / 1e6, report.total.state_bytes / 1e6,
      report.total.activation_bytes / 1e6, report.total.flops / 1e9);
  fmt::print("  memory   {:>9.1f} tok/s at {:.1f} GB/s\n", ceilings.memory_tok_s, ceilings.bandwidth / 1e9);
  fmt::print("  compute  {:>9.1f} tok/s at {:.0f} int8 GOP/s and {:.0f} f32 GFLOP/s\n", ceilings.compute_tok_s,
             ceilings.integer_rate / 1e9, ceilings.float_rate / 1e9);
  fmt::print("  at most  {:>9.1f} tok/s: {} decides\n", ceilings.predicted(),
             ceilings.memory_tok_s < ceilings.compute_tok_s ? "memory" : "compute");
  return 0;
}

}  // namespace weft::cli
