// Memory for packed weights. Internal to PackedMatrix.
#pragma once

#include <cstddef>
#include <memory>

namespace weft::cpu {

// Zeroed bytes, 64-byte aligned. All matrices of a process share a few regions of huge pages: a fault per 2 MB in place
// of one per 4 KB while packing, fewer TLB misses while reading, and no rounding up per matrix. A region is unmapped
// with the last matrix in it. Safe from any thread; throws std::bad_alloc.
std::shared_ptr<std::byte> allocate_packed(std::size_t size);

}  // namespace weft::cpu
