#include "weft/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include "weft/base/fail.h"

namespace weft {
namespace {

// The mappings of this process, start to end.
struct Mappings {
  std::mutex mutex;
  std::map<const std::byte*, const std::byte*> ranges;
};

Mappings& mappings() {
  static Mappings* all = new Mappings;  // outlives every file
  return *all;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const auto refuse = [&](const char* code, const char* reason) {
    fail(ErrorKind::io, code, path.string(), "cannot read the file: {}", reason);
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) refuse(errno == ENOENT ? "NotFound" : "Io", std::strerror(errno));
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  struct stat status {};
  if (::fstat(fd, &status) != 0) refuse("Io", std::strerror(errno));
  if (S_ISDIR(status.st_mode)) refuse("IsDirectory", "it is a directory");
  if (!S_ISREG(status.st_mode)) refuse("Io", "it is not a regular file");

  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = path;
  file->size_ = static_cast<std::size_t>(status.st_size);
  if (file->size_ > 0) {
    void* data = ::mmap(nullptr, file->size_, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) refuse("Io", std::strerror(errno));
    file->data_ = static_cast<const std::byte*>(data);
    const std::lock_guard lock(mappings().mutex);
    mappings().ranges[file->data_] = file->data_ + file->size_;
  }
  return file;
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  const std::lock_guard lock(mappings().mutex);
  mappings().ranges.erase(data_);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(std::span<const std::byte> range) {
  if (range.empty()) return;
  const std::lock_guard lock(mappings().mutex);
  auto it = mappings().ranges.upper_bound(range.data());
  if (it == mappings().ranges.begin()) return;
  --it;
  if (range.data() + range.size() > it->second) return;
  // A page that other bytes share stays.
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(range.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(range.data() + range.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace weft
