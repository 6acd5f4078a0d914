#include "weft/lir/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "weft/base/fail.h"
#include "weft/base/round_up.h"

namespace weft::lir {
namespace {

// Bytes that live over a range of instructions.
struct Item {
  std::uint64_t size = 0;
  std::int32_t first = 0, last = 0;
  std::uint64_t* offset = nullptr;
};

std::uint64_t aligned(std::uint64_t bytes) {
  if (bytes > UINT64_MAX - arena_alignment)
    fail(ErrorKind::out_of_memory, "SizeOverflow", "arena", "it exceeds 64 bits");
  return round_up<std::uint64_t>(bytes, arena_alignment);
}

// Largest first, each at the lowest offset of the tightest gap between those that live with it.
std::uint64_t place(std::vector<Item>& items) {
  std::vector<Item*> order;
  for (Item& item : items) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](const Item* a, const Item* b) { return a->size > b->size; });
  std::uint64_t end = 0;
  std::vector<const Item*> placed;  // ascending offsets
  for (Item* item : order) {
    std::uint64_t cursor = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
    for (const Item* other : placed) {
      if (other->last < item->first || item->last < other->first) continue;
      if (*other->offset >= cursor) {
        const std::uint64_t gap = *other->offset - cursor;
        if (gap >= item->size && gap < best_gap) {
          best_gap = gap;
          best = cursor;
        }
      }
      cursor = std::max(cursor, *other->offset + other->size);
    }
    *item->offset = best == UINT64_MAX ? cursor : best;
    end = std::max(end, *item->offset + item->size);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), item,
                                   [](const Item* a, const Item* b) { return *a->offset < *b->offset; }),
                  item);
  }
  return end;
}

}  // namespace

void find_live_ranges(Program& program) {
  const auto count = static_cast<std::int32_t>(program.instructions.size());
  for (Buffer& buffer : program.buffers) {
    buffer.first = count;
    buffer.last = -1;
    buffer.root = none;
  }
  const auto touch = [&](const Operand& operand, std::int32_t at) {
    if (!operand.defined()) return;
    Buffer& buffer = program.buffers[static_cast<std::size_t>(operand.buffer)];
    buffer.first = std::min(buffer.first, at);
    buffer.last = std::max(buffer.last, at);
  };
  for (std::int32_t i = 0; i < count; ++i) {
    for (const Operand& operand : program.instructions[static_cast<std::size_t>(i)].inputs) touch(operand, i);
    for (const Operand& operand : program.instructions[static_cast<std::size_t>(i)].outputs) touch(operand, i);
  }
  for (const ProgramOutput& output : program.outputs) touch(output.operand, count);

  // In place: the chain's first buffer stands for all, and lives until the last of them dies.
  const auto root_of = [&](BufferId id) {
    while (program.buffers[static_cast<std::size_t>(id)].root != none)
      id = program.buffers[static_cast<std::size_t>(id)].root;
    return id;
  };
  for (std::int32_t i = 0; i < count; ++i) {
    const Instruction& instruction = program.instructions[static_cast<std::size_t>(i)];
    if (instruction.in_place_input == none) continue;
    const Operand& input = instruction.inputs[static_cast<std::size_t>(instruction.in_place_input)];
    const Operand& output = instruction.outputs[0];
    const BufferId from = root_of(input.buffer), to = output.buffer;
    // Another operand in the same bytes may still be read when they are written.
    bool alone = true;
    for (std::size_t k = 0; k < instruction.inputs.size(); ++k)
      alone = alone && (static_cast<std::int32_t>(k) == instruction.in_place_input ||
                        !instruction.inputs[k].defined() || root_of(instruction.inputs[k].buffer) != from);
    if (!alone) continue;
    Buffer& source = program.buffers[static_cast<std::size_t>(from)];
    Buffer& target = program.buffers[static_cast<std::size_t>(to)];
    if (from == to || source.storage != Storage::arena || target.storage != Storage::arena || source.last != i ||
        target.first != i || source.bytes != target.bytes || input.offset != 0 || output.offset != 0)
      continue;
    target.root = from;
    source.last = target.last;
  }
}

ArenaPlan plan_arena(const Program& program, const std::int64_t* sizes, int threads) {
  ArenaPlan plan;
  plan.offsets.assign(program.buffers.size(), 0);
  plan.sizes.assign(program.buffers.size(), 0);
  plan.scratch_offsets.assign(program.instructions.size(), 0);
  plan.scratch_sizes.assign(program.instructions.size(), 0);
  std::vector<Item> items;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (buffer.storage != Storage::arena) continue;
    plan.sizes[i] = aligned(static_cast<std::uint64_t>(std::max<std::int64_t>(sizes[buffer.bytes], 0)));
    plan.unshared_bytes += plan.sizes[i];
    if (buffer.root != none || buffer.last < 0) continue;
    items.push_back({plan.sizes[i], buffer.first, buffer.last, &plan.offsets[i]});
  }
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Step& step = *program.instructions[i].step;
    plan.thread_scratch_bytes = std::max(plan.thread_scratch_bytes, aligned(step.thread_scratch_bytes(sizes)));
    plan.scratch_sizes[i] = aligned(step.scratch_bytes(sizes, threads));
    plan.unshared_bytes += plan.scratch_sizes[i];
    const auto at = static_cast<std::int32_t>(i);
    if (plan.scratch_sizes[i] > 0) items.push_back({plan.scratch_sizes[i], at, at, &plan.scratch_offsets[i]});
  }
  plan.arena_bytes = place(items);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    BufferId root = program.buffers[i].root;
    if (root == none) continue;
    while (program.buffers[static_cast<std::size_t>(root)].root != none)
      root = program.buffers[static_cast<std::size_t>(root)].root;
    plan.offsets[i] = plan.offsets[static_cast<std::size_t>(root)];
  }
  return plan;
}

}  // namespace weft::lir
