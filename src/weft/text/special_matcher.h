// Finds the tokens that are cut out of a text before anything else: at each position the longest one that starts
// there. Immutable after construction; safe to share between threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

class SpecialMatcher {
 public:
  struct Entry {
    std::string text;  // not empty
    std::int32_t id = 0;
  };
  struct Match {
    std::size_t begin = 0, end = 0;
    std::int32_t id = 0;
  };

  SpecialMatcher() = default;
  // Of two entries with one text the lower id counts.
  explicit SpecialMatcher(std::vector<Entry> entries);

  // The first match at or after `from`.
  std::optional<Match> find(std::string_view text, std::size_t from) const;

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  std::uint32_t longest_prefix_of(std::string_view text) const;

  std::vector<Entry> entries_;              // sorted by text
  std::vector<std::uint32_t> shorter_;      // per entry: the longest other entry that it starts with, or none
  std::array<std::uint32_t, 257> first_{};  // entries that start with byte b: [first_[b], first_[b + 1])
};

}  // namespace weft::text
