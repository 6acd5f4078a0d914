#include "weft/text/merge_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "weft/text/hash.h"

namespace weft::text {
namespace {
std::uint64_t pair_of(std::uint32_t left, std::uint32_t right) { return std::uint64_t{left} << 32 | right; }
}  // namespace

std::size_t MergeTable::locate(std::uint64_t pair) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash_word(pair) & mask;
  while (slots_[at].pair != free && slots_[at].pair != pair) at = (at + 1) & mask;
  return at;
}

void MergeTable::add(std::uint32_t left, std::uint32_t right, Merge merge) {
  if (2 * (std::size_t{size_} + 1) > slots_.size()) rehash(std::max<std::size_t>(64, 2 * slots_.size()));
  Slot& slot = slots_[locate(pair_of(left, right))];
  if (slot.pair != free) return;
  slot = {pair_of(left, right), merge};
  ++size_;
}

const MergeTable::Merge* MergeTable::find(std::uint32_t left, std::uint32_t right) const {
  if (slots_.empty()) return nullptr;
  const Slot& slot = slots_[locate(pair_of(left, right))];
  return slot.pair == free ? nullptr : &slot.merge;
}

void MergeTable::reserve(std::size_t count) {
  if (2 * count > slots_.size()) rehash(std::bit_ceil(2 * count));
}

void MergeTable::rehash(std::size_t count) {
  std::vector<Slot> old(count);
  old.swap(slots_);
  for (const Slot& slot : old)
    if (slot.pair != free) slots_[locate(slot.pair)] = slot;
}

}  // namespace weft::text
