// Bytes and calls of the global operator new, over all threads of the test program. Zero under the sanitizers, which
// bring an allocator of their own.
#pragma once

#include <cstdint>

namespace weft::test {

struct AllocationCount {
  std::uint64_t bytes = 0, calls = 0;
  friend bool operator==(const AllocationCount&, const AllocationCount&) = default;
};

AllocationCount allocations();

}  // namespace weft::test
