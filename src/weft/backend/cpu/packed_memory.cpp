#include "weft/backend/cpu/packed_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>

#include "weft/base/round_up.h"

namespace weft::cpu {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t region_size = 32 * huge_page;  // of address space; what is not touched costs nothing

class Region {
 public:
  explicit Region(std::size_t size) : capacity_((size + huge_page - 1) / huge_page * huge_page) {
    mapped_ = capacity_ + huge_page;
    if (mapped_ < size) throw std::bad_alloc();
    mapping_ = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping_ == MAP_FAILED) throw std::bad_alloc();
    const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
    begin_ = reinterpret_cast<std::byte*>((address + huge_page - 1) / huge_page * huge_page);
    ::madvise(begin_, capacity_, MADV_HUGEPAGE);
  }
  ~Region() { ::munmap(mapping_, mapped_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // Null when it does not fit.
  std::byte* take(std::size_t size) {
    const std::size_t rounded = round_up<std::size_t>(size, 64);
    if (rounded > capacity_ - used_) return nullptr;
    std::byte* bytes = begin_ + used_;
    used_ += rounded;
    return bytes;
  }

 private:
  std::size_t capacity_, mapped_ = 0, used_ = 0;
  void* mapping_ = nullptr;
  std::byte* begin_ = nullptr;
};

}  // namespace

std::shared_ptr<std::byte> allocate_packed(std::size_t size) {
  static std::mutex mutex;
  static std::weak_ptr<Region> current;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Region> region = current.lock();
  std::byte* bytes = region == nullptr ? nullptr : region->take(size);
  if (bytes == nullptr) {
    region = std::make_shared<Region>(std::max(size, region_size));
    bytes = region->take(size);
    current = region;
  }
  return {region, bytes};
}

}  // namespace weft::cpu
