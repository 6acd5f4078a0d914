// Where the time of a program's runs went. Instructions are announced before the runs; what one execution took is then
// recorded without allocating: sums per instruction are kept exactly, single executions in a ring that holds the
// latest. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/base/export.h"

namespace weft {

class WEFT_API Profile {
 public:
  // The ring holds `capacity` executions of 40 bytes each.
  explicit Profile(std::size_t capacity = std::size_t{1} << 17);

  // Returns the index to record under. `name` is the kernel ("linear.q4_0.avx512-vnni"), `op` what the table groups by
  // ("MatMul"), `label` the place in the model ("layers.3.q").
  std::uint32_t add_instruction(std::string name, std::string op, std::string label);
  std::size_t instruction_count() const { return instructions_.size(); }

  static std::int64_t now_ns();  // on the clock of start_ns
  // What was read and written, and the floating-point or integer operations done; 0: not known.
  void record(std::uint32_t instruction, std::int64_t start_ns, std::int64_t duration_ns, std::uint64_t bytes,
              std::uint64_t flops) noexcept;
  // Forgets what was recorded, not the instructions.
  void clear() noexcept;

  struct Totals {
    std::string op;
    std::uint64_t calls = 0, bytes = 0, flops = 0;
    std::int64_t ns = 0;
  };
  // Per op, the longest first.
  std::vector<Totals> by_op() const;
  // The same as text: calls, time, GB/s, GFLOP/s, share of the time. The last line is the sum.
  std::string table() const;

  std::uint64_t recorded() const { return recorded_; }
  // Executions that no longer are in the ring.
  std::uint64_t dropped() const;
  // For Chrome's about:tracing and Perfetto: complete events, microseconds from the first one, in the order recorded.
  std::string trace_json() const;
  void write_trace(const std::filesystem::path& path) const;

 private:
  struct Instruction {
    std::string name, op, label;
    std::uint64_t calls = 0, bytes = 0, flops = 0;
    std::int64_t ns = 0;
  };
  struct Execution {
    std::int64_t start_ns, duration_ns;
    std::uint64_t bytes, flops;
    std::uint32_t instruction;
  };
  std::vector<Instruction> instructions_;
  std::vector<Execution> ring_;
  std::uint64_t recorded_ = 0;
};

}  // namespace weft
