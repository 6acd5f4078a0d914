// What the fuzz targets share.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/log.h"

namespace weft::fuzz {

// libFuzzer takes an abort as a finding.
inline void expect(bool holds) {
  if (!holds) std::abort();
}

// Whether the action takes its input; it may refuse it with an Error and do nothing else.
template <class Action>
bool accepts(Action&& action) {
  try {
    std::forward<Action>(action)();
    return true;
  } catch (const Error& error) {
    expect(!error.code().empty() && !error.message().empty());
    return false;
  }
}

// Most inputs are odd and would say so.
inline void be_quiet() {
  static const bool quiet = [] {
    log().set_level(spdlog::level::off);
    return true;
  }();
  static_cast<void>(quiet);
}

// A file in memory that holds one input after the other, for readers that map a file.
class InputFile {
 public:
  InputFile() : fd_(::memfd_create("input", MFD_CLOEXEC)) { expect(fd_ >= 0); }
  ~InputFile() { ::close(fd_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::filesystem::path hold(const std::uint8_t* data, std::size_t size) {
    expect(::ftruncate(fd_, 0) == 0);
    expect(::pwrite(fd_, data, size, 0) == static_cast<ssize_t>(size));
    return "/proc/self/fd/" + std::to_string(fd_);
  }

 private:
  int fd_;
};

}  // namespace weft::fuzz
