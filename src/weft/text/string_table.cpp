#include "weft/text/string_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "weft/text/hash.h"

namespace weft::text {
namespace {
std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
}  // namespace

std::size_t StringTable::locate(std::string_view text, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].number != none && !(slots_[at].tag == tag_of(hash) && (*this)[slots_[at].number] == text))
    at = (at + 1) & mask;
  return at;
}

std::uint32_t StringTable::intern(std::string_view text) {
  if (2 * (ends_.size() + 1) > slots_.size()) rehash(std::max<std::size_t>(64, 2 * slots_.size()));
  const std::uint64_t hash = hash_bytes(text);
  Slot& slot = slots_[locate(text, hash)];
  if (slot.number == none) {
    slot = {size(), tag_of(hash)};
    bytes_ += text;
    ends_.push_back(bytes_.size());
  }
  return slot.number;
}

std::uint32_t StringTable::find(std::string_view text) const {
  return slots_.empty() ? none : slots_[locate(text, hash_bytes(text))].number;
}

void StringTable::reserve(std::size_t count) {
  if (2 * count > slots_.size()) rehash(std::bit_ceil(2 * count));
  ends_.reserve(count);
}

void StringTable::rehash(std::size_t count) {
  std::vector<Slot> slots(count);
  const std::size_t mask = slots.size() - 1;
  for (std::uint32_t number = 0; number < size(); ++number) {
    const std::uint64_t hash = hash_bytes((*this)[number]);
    std::size_t at = hash & mask;
    while (slots[at].number != none) at = (at + 1) & mask;
    slots[at] = {number, tag_of(hash)};
  }
  slots_ = std::move(slots);
}

}  // namespace weft::text
