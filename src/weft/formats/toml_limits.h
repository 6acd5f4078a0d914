// What a TOML text may hold at most.
#pragma once

#include <cstddef>

namespace weft {

struct TomlLimits {
  std::size_t nesting = 32;
  std::size_t values = 1u << 20;  // in one value (a reader) or one document (parse_toml)
};

}  // namespace weft
