// One GGUF file read into its entries and tensors, before parts are joined. Internal to formats/.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/base/mapped_file.h"
#include "weft/formats/gguf_file.h"

namespace weft {

struct GgufPart {
  std::shared_ptr<const MappedFile> file;
  std::uint32_t version = 0;
  std::uint64_t alignment = 32;
  std::vector<GgufEntry> metadata;  // keys are unique
  std::vector<GgufTensor> tensors;  // checked one by one and against each other, `part` left at 0
};

GgufPart read_gguf_part(std::shared_ptr<const MappedFile> file, const GgufLimits& limits);

}  // namespace weft
