// A progress bar on stderr, drawn on a terminal only; elsewhere nothing is printed.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace weft::cli {

class ProgressBar {
 public:
  explicit ProgressBar(std::string title);
  ~ProgressBar();  // clears the line
  void update(std::uint64_t done, std::uint64_t total);

 private:
  std::string title_;
  bool visible_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace weft::cli
