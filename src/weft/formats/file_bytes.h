// The bytes of a file with what keeps them: a mapping, or a copy in memory. Internal to formats/.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "weft/base/tensor.h"

namespace weft {

struct FileBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

FileBytes map_file(const std::filesystem::path& path);
FileBytes read_file(const std::filesystem::path& path);

// A tensor in these bytes, as a view wherever its address suits its element type. The range must lie within them.
Tensor view_or_copy(const FileBytes& file, std::uint64_t offset, DType dtype, std::vector<std::int64_t> dims);

}  // namespace weft
