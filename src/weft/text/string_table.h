// Distinct strings under dense numbers, in the order in which they came. Owns their bytes in one buffer.
// Not synchronized: filled by one thread, then read by any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

class StringTable {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFF;

  // Makes room for `count` strings in all; more may come.
  void reserve(std::size_t count);
  // The number of `text`, a new one if it was not here. `text` must not view this table's own bytes.
  std::uint32_t intern(std::string_view text);
  std::uint32_t find(std::string_view text) const;           // none if it is not here
  std::string_view operator[](std::uint32_t number) const {  // valid until the next intern
    const std::uint64_t begin = number == 0 ? 0 : ends_[number - 1];
    return std::string_view(bytes_).substr(begin, ends_[number] - begin);
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size()); }

 private:
  struct Slot {
    std::uint32_t number = none;
    std::uint32_t tag = 0;  // upper bits of the hash: most strangers are told apart without looking at the bytes
  };
  // The slot that holds `text`, or the free one where it belongs.
  std::size_t locate(std::string_view text, std::uint64_t hash) const;
  void rehash(std::size_t slots);

  std::string bytes_;
  std::vector<std::uint64_t> ends_;
  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
};

}  // namespace weft::text
