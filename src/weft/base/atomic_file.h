// Writing a file that appears whole or not at all: bytes go to a temporary file in the same directory, which
// commit() syncs and renames. Destroyed without commit(), nothing is left behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "weft/base/export.h"

namespace weft {

class WEFT_API AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // Replaces bytes that were written before.
  void overwrite(std::uint64_t offset, std::string_view text);
  std::uint64_t size() const { return size_; }  // bytes written so far
  void commit();

 private:
  [[noreturn]] void refuse(int error) const;
  std::filesystem::path path_, temporary_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace weft
