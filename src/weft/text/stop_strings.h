// Cuts a stream of text at the first of several stop strings. Text that may be the start of one is held back.
// One per stream, used by one thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"

namespace weft {

class WEFT_API StopStrings {
 public:
  // Each must be UTF-8 (InvalidUtf8) and not empty (EmptyStopString). None at all is allowed: then all text passes.
  explicit StopStrings(std::vector<std::string> strings);

  // The text that can be emitted now. The string that is complete first stops the stream; of several that are
  // complete at the same byte, the longest. Where pushes are cut has no influence. Once stopped, nothing passes.
  std::string push(std::string_view text);
  // The end of the stream: what was held back and can no longer become a stop string.
  std::string finish();
  // Which string stopped the stream.
  std::optional<std::size_t> stopped_by() const { return stopped_by_; }

 private:
  struct Pattern {
    std::string text;
    std::vector<std::size_t> fallback;  // fallback[n]: longest proper suffix of the first n bytes that is a prefix
    std::size_t matched = 0;            // bytes at the end of the stream so far that are its start
  };

  std::vector<Pattern> patterns_;
  std::string held_;  // the longest `matched` bytes
  std::optional<std::size_t> stopped_by_;
};

}  // namespace weft
