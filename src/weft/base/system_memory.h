// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/base/export.h"

namespace weft {

// Bytes that the system, or the cgroup of this process where it leaves less, can give; nothing when it does not say.
WEFT_API std::optional<std::uint64_t> available_memory();

}  // namespace weft
