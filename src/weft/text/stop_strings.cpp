#include "weft/text/stop_strings.h"

#include <algorithm>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/utf8.h"

namespace weft {

StopStrings::StopStrings(std::vector<std::string> strings) {
  for (std::string& text : strings) {
    const auto where = [&] { return fmt::format("stop string {}", patterns_.size()); };
    if (text.empty()) fail(ErrorKind::invalid_argument, "EmptyStopString", where(), "it would stop every text at once");
    if (const auto bad = find_invalid_utf8(text))
      fail(ErrorKind::invalid_argument, "InvalidUtf8", where(), "byte {} does not belong to a character", *bad);
    std::vector<std::size_t> fallback(text.size() + 1, 0);
    for (std::size_t n = 1, k = 0; n < text.size(); ++n) {
      while (k > 0 && text[n] != text[k]) k = fallback[k];
      if (text[n] == text[k]) ++k;
      fallback[n + 1] = k;
    }
    patterns_.push_back({std::move(text), std::move(fallback), 0});
  }
}

std::string StopStrings::push(std::string_view text) {
  if (stopped_by_) return {};
  std::string out = std::exchange(held_, {});
  for (const char byte : text) {
    out += byte;
    for (Pattern& pattern : patterns_) {
      while (pattern.matched > 0 && pattern.text[pattern.matched] != byte)
        pattern.matched = pattern.fallback[pattern.matched];
      if (pattern.text[pattern.matched] == byte) ++pattern.matched;
    }
    std::size_t stop_length = 0;
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      const Pattern& pattern = patterns_[i];
      if (pattern.matched == pattern.text.size() && pattern.matched > stop_length) {
        stop_length = pattern.matched;
        stopped_by_ = i;
      }
    }
    if (stopped_by_) {
      out.resize(out.size() - stop_length);
      return out;
    }
  }
  std::size_t longest = 0;
  for (const Pattern& pattern : patterns_) longest = std::max(longest, pattern.matched);
  held_ = out.substr(out.size() - longest);
  out.resize(out.size() - longest);
  return out;
}

std::string StopStrings::finish() { return std::exchange(held_, {}); }

}  // namespace weft
