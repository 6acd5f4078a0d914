// Reorders rows of a file's block type into one panel (packed_layout.h). Internal to PackedMatrix.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/dtype.h"

namespace weft::cpu {

// `count` rows, 1 to 16, of row_bytes each, one after the other. The panel is zeroed before; the dtype packs.
void pack_panel(DType dtype, const std::uint8_t* rows, std::size_t row_bytes, int count, std::int64_t columns,
                std::uint8_t* panel);

}  // namespace weft::cpu
