#include "weft/formats/file_bytes.h"

#include <fstream>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/mapped_file.h"

namespace weft {
namespace {

// The address must be a multiple of this for the bytes to be read as the type's words.
std::uintptr_t alignment_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
    case DType::u64: return 8;
    case DType::i8:
    case DType::u8:
    case DType::boolean:
    case DType::ternary: return 1;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16:
    case DType::fx8_8: return 2;
    default: return 4;  // c64 is two f32; blocks hold words of up to four bytes
  }
}

}  // namespace

FileBytes map_file(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  return {std::move(file), bytes};
}

FileBytes read_file(const std::filesystem::path& path) {
  const std::size_t size = MappedFile::open(path)->bytes().size();  // with its errors for what is no file
  auto copy = std::make_shared<Tensor>(Tensor::allocate(DType::u8, {static_cast<std::int64_t>(size)}));
  const auto bytes = copy->mutable_bytes();
  std::ifstream stream(path, std::ios::binary);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (!stream || static_cast<std::size_t>(stream.gcount()) != size)
    fail(ErrorKind::io, "Io", path.string(), "cannot read the file: only {} of {} bytes came", stream.gcount(), size);
  return {std::move(copy), bytes};
}

Tensor view_or_copy(const FileBytes& file, std::uint64_t offset, DType dtype, std::vector<std::int64_t> dims) {
  const std::uint64_t size = byte_size(dtype, dims);
  if (offset > file.bytes.size() || size > file.bytes.size() - offset)
    fail(ErrorKind::bad_file, "TensorOutOfRange", "", "a tensor of {} bytes at {} ends beyond the file's {} bytes",
         size, offset, file.bytes.size());
  const auto bytes = file.bytes.subspan(offset, size);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment_of(dtype) == 0)
    return Tensor::wrap(file.owner, bytes, dtype, std::move(dims));
  return Tensor::copy_bytes(bytes, dtype, std::move(dims));
}

}  // namespace weft
