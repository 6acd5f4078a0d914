// GGUF's tensor names in weft's canonical (Hugging Face) ones, and what has to happen to a tensor on the way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/tensor.h"

namespace weft {

// GGUF files of architecture `llama` keep the rows of Q and K in (head, pair, half) order for interleaved rotation;
// canonical is (head, half, pair). Whole rows move, so packed rows stay packed. No other change is needed here.
enum class TensorTransform { none, unpermute_rope };

struct CanonicalName {
  std::string name;
  TensorTransform transform = TensorTransform::none;
};

// Nothing for a name that no rule maps.
std::optional<CanonicalName> canonical_name(std::string_view gguf_name, std::string_view architecture);

// Rows [heads * head_dim, ...] with the first `rotary_dim` rows of each head reordered.
Tensor unpermute_rope(const Tensor& rows, std::int64_t heads, std::int64_t rotary_dim);

}  // namespace weft
