// Places the arena buffers of a program: offsets for given sizes such that buffers that live at the same time do not
// overlap. Deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/lir/program.h"

namespace weft::lir {

inline constexpr std::uint64_t arena_alignment = 64;

struct ArenaPlan {
  std::vector<std::uint64_t> offsets;          // by BufferId; of buffers in the arena
  std::vector<std::uint64_t> sizes;            // by BufferId
  std::vector<std::uint64_t> scratch_offsets;  // by instruction
  std::vector<std::uint64_t> scratch_sizes;
  std::uint64_t arena_bytes = 0;
  std::uint64_t unshared_bytes = 0;        // what the buffers would take without sharing
  std::uint64_t thread_scratch_bytes = 0;  // of one thread
};

// First writes and last reads of all buffers, and which outputs take the place of an input that dies there.
void find_live_ranges(Program& program);

// `sizes` by SizeId, each the largest that a run may have. SizeOverflow where bytes exceed 64 bits.
ArenaPlan plan_arena(const Program& program, const std::int64_t* sizes, int threads);

}  // namespace weft::lir
