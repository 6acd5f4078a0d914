// Finding and joining the parts of a split GGUF set ("name-00001-of-00003.gguf"). Internal to formats/.
#pragma once

#include <filesystem>
#include <vector>

#include "weft/formats/gguf_part.h"

namespace weft {

// The file itself when it is whole, else all parts of the set it belongs to, in order.
std::vector<GgufPart> read_gguf_parts(const std::filesystem::path& path, const GgufLimits& limits);

}  // namespace weft
