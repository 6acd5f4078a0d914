// Ctrl-C as a question that a long task asks. A second Ctrl-C ends the process as usual.
#pragma once

namespace weft::cli {

class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  static bool interrupted();
};

inline constexpr int interrupted_status = 130;

}  // namespace weft::cli
