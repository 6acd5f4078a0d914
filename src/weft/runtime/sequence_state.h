// What one sequence has accumulated over its runs, taken out of a runner or put into one: rows, position, generators.
// A value. Rows lie as the runner keeps them, so a state fits runners that keep them alike: same graph, same backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "weft/base/random.h"

namespace weft {

struct SequenceState {
  struct Slot {
    std::string name, layout;  // layout: how its rows are kept
    std::int64_t rows = 0;
    std::vector<std::vector<std::byte>> planes;
  };

  std::int64_t past = 0, runs = 0;
  std::map<std::int32_t, Pcg32> generators;  // by node
  std::vector<Slot> slots;
};

// The bytes of a state, the same for the same state, and back. BadState for bytes that are no state.
std::vector<std::byte> to_bytes(const SequenceState& state);
SequenceState state_from_bytes(std::span<const std::byte> bytes);

// StateMismatch unless the slots of a state are those expected: names, layouts and the bytes of their planes.
struct ExpectedSlot {
  std::string name, layout;
  std::vector<std::uint64_t> plane_bytes;  // for the rows that the state has
};
void require_slots(const SequenceState& state, std::span<const ExpectedSlot> expected);

}  // namespace weft
