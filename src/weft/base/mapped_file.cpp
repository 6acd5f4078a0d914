#include "weft/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "weft/base/fail.h"

namespace weft {

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
  }
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace weft
