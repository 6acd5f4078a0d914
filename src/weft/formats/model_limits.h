// What a `.model` file may hold at most. Nothing is allocated for a count or a size beyond these.
#pragma once

#include <cstdint>

#include "weft/formats/toml_limits.h"
#include "weft/formats/vocabulary_limits.h"

namespace weft {

struct ModelLimits {
  std::uint64_t text_bytes = 64u << 20;  // all before the weights
  std::uint64_t frontmatter_bytes = 1u << 20;
  std::uint64_t sections = 64;
  std::uint64_t tensors = 1u << 20;
  std::uint64_t tensor_name_bytes = 1024;
  std::uint64_t graph_text_bytes = 32u << 20;
  TomlLimits toml = {};  // of sections that are read whole: frontmatter, config, chat
  VocabularyLimits vocabulary = {};
};

}  // namespace weft
