// What a vocabulary from a file may hold at most.
#pragma once

#include <cstddef>

namespace weft {

struct VocabularyLimits {
  std::size_t tokens = 4194304, merges = 8388608, token_bytes = 64 * 1024;
};

}  // namespace weft
