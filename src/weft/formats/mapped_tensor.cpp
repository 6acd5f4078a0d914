#include "weft/formats/mapped_tensor.h"

#include <utility>

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

Tensor view_or_copy(std::shared_ptr<const MappedFile> file, std::uint64_t offset, DType dtype,
                    std::vector<std::int64_t> dims) {
  Tensor view = Tensor::mapped(std::move(file), offset, dtype, std::move(dims));
  if (reinterpret_cast<std::uintptr_t>(view.bytes().data()) % alignment_of(dtype) == 0) return view;
  return Tensor::copy_bytes(view.bytes(), dtype, view.dims());
}

}  // namespace weft
