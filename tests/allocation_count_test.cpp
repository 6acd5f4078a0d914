#include "allocation_count.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

namespace weft::test {
namespace {

std::atomic<std::uint64_t> bytes_asked{0}, calls_made{0};

}  // namespace

AllocationCount allocations() { return {bytes_asked, calls_made}; }

#if !defined(WEFT_SANITIZED)
TEST(AllocationCount, CountsWhatIsAllocated) {
  const AllocationCount before = allocations();
  const std::vector<char> block(1000);
  EXPECT_EQ(allocations().bytes - before.bytes, 1000u);
  EXPECT_EQ(allocations().calls - before.calls, 1u);
}
#endif

}  // namespace weft::test

#if !defined(WEFT_SANITIZED)

namespace {

void* counted(std::size_t size, std::size_t alignment) {
  weft::test::bytes_asked += size;
  ++weft::test::calls_made;
  void* memory = alignment == 0 ? std::malloc(size == 0 ? 1 : size)
                                : std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return counted(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#endif
