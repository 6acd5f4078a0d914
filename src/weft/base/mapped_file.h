// A whole file mapped read-only. Shared by every tensor that views it; unmapped with the last of them.
// The file must not be changed while it is mapped.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "weft/base/export.h"

namespace weft {

class WEFT_API MappedFile {
 public:
  // Throws io errors NotFound, IsDirectory, Io with the system's reason.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Lets the system take back the memory of the whole pages in a range. Reading them again brings them back. Does
  // nothing for bytes that are not of a mapped file.
  static void release(std::span<const std::byte> range);
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile() = default;
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace weft
