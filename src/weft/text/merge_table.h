// Which two neighboring symbols become which third one, and how early. Filled by one thread, then read by any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::text {

class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank = 0;    // the lowest goes first
    std::uint32_t symbol = 0;  // what the pair becomes
  };

  void reserve(std::size_t count);  // makes room for `count` merges in all; more may come
  // Of two merges of one pair the first stays. Neither symbol may be StringTable::none.
  void add(std::uint32_t left, std::uint32_t right, Merge merge);
  const Merge* find(std::uint32_t left, std::uint32_t right) const;
  std::uint32_t size() const { return size_; }

 private:
  static constexpr std::uint64_t free = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t pair = free;
    Merge merge;
  };
  std::size_t locate(std::uint64_t pair) const;
  void rehash(std::size_t slots);

  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
  std::uint32_t size_ = 0;
};

}  // namespace weft::text
