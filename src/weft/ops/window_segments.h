// How tokens fall into windows that are attended to one by one, the tokens rolled left beforehand. Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::ops {

// Consecutive tokens that see each other and nobody else: a window, or one of the two parts of the window in which a
// roll has put the last tokens beside the first.
struct WindowSegment {
  std::int64_t first = 0, count = 0;  // tokens
  std::int64_t window = 0, at = 0;    // the window, and the place in it of the first token
};

template <class Body>
void each_window_segment(std::int64_t tokens, std::int64_t window_size, std::int64_t shift, Body body) {
  if (tokens == 0) return;
  const std::int64_t roll = shift % tokens, seam = tokens - roll;
  for (std::int64_t begin = 0, window = 0; begin < tokens; begin += window_size, ++window) {
    const std::int64_t end = std::min(begin + window_size, tokens);
    if (begin < seam) body(WindowSegment{begin + roll, std::min(end, seam) - begin, window, 0});
    const std::int64_t wrapped = std::max(begin, seam);
    if (wrapped < end) body(WindowSegment{wrapped - seam, end - wrapped, window, wrapped - begin});
  }
}

}  // namespace weft::ops
