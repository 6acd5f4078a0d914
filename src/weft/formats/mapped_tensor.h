// A tensor in a mapped file, as a view wherever its address suits its element type. Internal to formats/.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/base/mapped_file.h"
#include "weft/base/tensor.h"

namespace weft {

Tensor view_or_copy(std::shared_ptr<const MappedFile> file, std::uint64_t offset, DType dtype,
                    std::vector<std::int64_t> dims);

}  // namespace weft
