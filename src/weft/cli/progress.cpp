#include "weft/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace weft::cli {

ProgressBar::ProgressBar(std::string title) : title_(std::move(title)), visible_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
}

void ProgressBar::update(std::uint64_t done, std::uint64_t total) {
  if (!visible_) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && done < total && now - last_ < std::chrono::milliseconds(50)) return;
  last_ = now;
  drawn_ = true;
  constexpr int width = 32;
  const double fraction = total == 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const int filled = static_cast<int>(fraction * width);
  fmt::print(stderr, "\r{} [{}{}] {:3.0f} %", title_, std::string(static_cast<std::size_t>(filled), '#'),
             std::string(static_cast<std::size_t>(width - filled), '.'), fraction * 100);
  std::fflush(stderr);
}

}  // namespace weft::cli
