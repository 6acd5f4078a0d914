// A compiled program as a reader wants to see it: what runs, where each byte lives, what it costs at given sizes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weft/lir/memory_plan.h"
#include "weft/runtime/compiled_program.h"

namespace weft {

struct InstructionReport {
  std::string op, kernel, backend, label;
  std::vector<std::string> inputs, outputs;  // names of buffers
  lir::Cost cost;
  bool integer = false;  // its multiplications are of int8
};

struct BufferReport {
  std::string name;
  std::uint64_t offset = 0, size = 0;
  std::int32_t first = 0, last = 0;  // instructions
  bool shared = false;               // lies where another one was, in place
};

struct ProgramReport {
  std::vector<InstructionReport> instructions;
  std::vector<BufferReport> buffers;  // of the arena, by offset
  PipelineReport passes;
  std::uint64_t arena_bytes = 0, unshared_bytes = 0, thread_scratch_bytes = 0;
  std::uint64_t weight_bytes = 0, state_row_bytes = 0;
  lir::Cost total;
  double integer_flops = 0;
};

// At these values of the symbols; slots' lengths among them. The arena is the one planned for the program's bounds.
ProgramReport program_report(const CompiledProgram& compiled, const std::map<std::string, std::int64_t>& symbols);

}  // namespace weft
