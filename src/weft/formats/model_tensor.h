// One weight of a `.model` file: what it is and where its bytes lie. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/dtype.h"

namespace weft {

struct ModelTensor {
  std::string name;  // canonical: aliases are resolved
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  std::uint64_t offset = 0;  // within the weights
  std::uint64_t bytes = 0;
  // Blocks that run across the ends of rows (older importers wrote such tensors). Decoded to f32 when handed out.
  bool flat = false;
  bool legacy_ternary = false;
};

}  // namespace weft
