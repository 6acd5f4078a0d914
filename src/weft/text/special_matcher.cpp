#include "weft/text/special_matcher.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <tuple>
#include <utility>

namespace weft::text {
namespace {

// Bytes that `a` and `b` have in common at their start, of which `known` are known. Eight at a time: a hostile
// vocabulary and text can make every position of the text compare 64 KiB.
std::size_t common_prefix(std::string_view a, std::string_view b, std::size_t known) {
  const std::size_t length = std::min(a.size(), b.size());
  std::size_t at = known;
  for (std::uint64_t x = 0, y = 0; at + sizeof(x) <= length; at += sizeof(x)) {
    std::memcpy(&x, a.data() + at, sizeof(x));
    std::memcpy(&y, b.data() + at, sizeof(y));
    if (x != y) return at + static_cast<std::size_t>(std::countr_zero(x ^ y)) / 8;
  }
  while (at < length && a[at] == b[at]) ++at;
  return at;
}

}  // namespace

SpecialMatcher::SpecialMatcher(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.text, a.id) < std::tie(b.text, b.id); });
  entries_.erase(
      std::unique(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.text == b.text; }),
      entries_.end());
  shorter_.resize(entries_.size(), none);
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    assert(!entries_[i].text.empty());
    ++first_[static_cast<unsigned char>(entries_[i].text[0]) + 1u];
    // In sorted order every prefix of an entry is its predecessor or a prefix of that.
    std::uint32_t candidate = i == 0 ? none : i - 1;
    while (candidate != none && !entries_[i].text.starts_with(entries_[candidate].text))
      candidate = shorter_[candidate];
    shorter_[i] = candidate;
  }
  for (std::size_t b = 1; b < first_.size(); ++b) first_[b] += first_[b - 1];
}

// The last entry that does not sort after `text` starts with every entry that `text` starts with: those lie between
// the longest of them and `text`. So the answer is that entry or one of its own prefixes.
std::uint32_t SpecialMatcher::longest_prefix_of(std::string_view text) const {
  const auto byte = static_cast<unsigned char>(text[0]);
  std::uint32_t low = first_[byte], high = first_[byte + 1u];
  if (low == high) return none;
  // Upper bound. What the bounds have in common with `text`, all entries between them have too: no byte of it is
  // compared twice.
  const std::uint32_t begin = low;
  std::size_t low_common = 1, high_common = 1, best_common = 0;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    const std::string_view entry = entries_[middle].text;
    const std::size_t common = common_prefix(entry, text, std::min(low_common, high_common));
    const bool after = common < entry.size() && (common == text.size() || static_cast<unsigned char>(entry[common]) >
                                                                              static_cast<unsigned char>(text[common]));
    if (after) {
      high = middle;
      high_common = common;
    } else {
      low = middle + 1;
      low_common = best_common = common;
    }
  }
  if (low == begin) return none;
  std::uint32_t answer = low - 1;
  while (answer != none && entries_[answer].text.size() > best_common) answer = shorter_[answer];
  return answer;
}

std::optional<SpecialMatcher::Match> SpecialMatcher::find(std::string_view text, std::size_t from) const {
  if (entries_.empty()) return std::nullopt;
  for (std::size_t at = from; at < text.size(); ++at) {
    const std::uint32_t entry = longest_prefix_of(text.substr(at));
    if (entry != none) return Match{at, at + entries_[entry].text.size(), entries_[entry].id};
  }
  return std::nullopt;
}

}  // namespace weft::text
