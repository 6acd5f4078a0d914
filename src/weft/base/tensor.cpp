#include "weft/base/tensor.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "weft/base/block_codec.h"
#include "weft/base/fail.h"
#include "weft/base/mapped_file.h"

namespace weft {
namespace {

constexpr std::size_t alignment = 64;

std::int64_t count_of(std::span<const std::int64_t> dims) {
  // Beside a 0 the other dims may be of any size.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

template <class T>
Tensor copy_of(std::span<const T> values, DType dtype, std::vector<std::int64_t> dims) {
  return Tensor::copy_bytes(std::as_bytes(values), dtype, std::move(dims));
}

}  // namespace

std::string dims_text(std::span<const std::int64_t> dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

std::int64_t Tensor::numel() const { return count_of(dims_); }

Tensor Tensor::allocate(DType dtype, std::vector<std::int64_t> dims) {
  Tensor tensor;
  tensor.size_ = static_cast<std::size_t>(weft::byte_size(dtype, dims));
  void* data = ::operator new (tensor.size_ == 0 ? 1 : tensor.size_, std::align_val_t{alignment}, std::nothrow);
  if (data == nullptr)
    fail(ErrorKind::out_of_memory, "OutOfMemory", "", "cannot allocate {} bytes for a {} tensor of {}", tensor.size_,
         dims_text(dims), to_string(dtype));
  tensor.owner_ = std::shared_ptr<void>(data, [](void* p) { ::operator delete (p, std::align_val_t{alignment}); });
  tensor.data_ = static_cast<const std::byte*>(data);
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  return tensor;
}

Tensor Tensor::zeros(DType dtype, std::vector<std::int64_t> dims) {
  Tensor tensor = allocate(dtype, std::move(dims));
  std::memset(tensor.mutable_bytes().data(), 0, tensor.size_);
  return tensor;
}

Tensor Tensor::from(std::span<const float> values, std::vector<std::int64_t> dims) {
  return copy_of(values, DType::f32, std::move(dims));
}
Tensor Tensor::from(std::span<const double> values, std::vector<std::int64_t> dims) {
  return copy_of(values, DType::f64, std::move(dims));
}
Tensor Tensor::from(std::span<const std::int32_t> values, std::vector<std::int64_t> dims) {
  return copy_of(values, DType::i32, std::move(dims));
}
Tensor Tensor::from(std::span<const std::int64_t> values, std::vector<std::int64_t> dims) {
  return copy_of(values, DType::i64, std::move(dims));
}

Tensor Tensor::copy_bytes(std::span<const std::byte> bytes, DType dtype, std::vector<std::int64_t> dims) {
  Tensor tensor = allocate(dtype, std::move(dims));
  if (bytes.size() != tensor.size_)
    fail(ErrorKind::invalid_argument, "TensorSizeMismatch", "", "a {} tensor of {} has {} bytes, {} were given",
         dims_text(tensor.dims_), to_string(dtype), tensor.size_, bytes.size());
  if (!bytes.empty()) std::memcpy(tensor.mutable_bytes().data(), bytes.data(), bytes.size());
  return tensor;
}

Tensor Tensor::wrap(std::shared_ptr<const void> owner, std::span<const std::byte> bytes, DType dtype,
                    std::vector<std::int64_t> dims) {
  const std::uint64_t size = weft::byte_size(dtype, dims);
  if (bytes.size() != size)
    fail(ErrorKind::invalid_argument, "TensorSizeMismatch", "", "a {} tensor of {} has {} bytes, {} were given",
         dims_text(dims), to_string(dtype), size, bytes.size());
  Tensor tensor;
  tensor.owner_ = std::move(owner);
  tensor.data_ = bytes.data();
  tensor.size_ = bytes.size();
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  return tensor;
}

Tensor Tensor::mapped(std::shared_ptr<const MappedFile> file, std::uint64_t offset, DType dtype,
                      std::vector<std::int64_t> dims) {
  const std::uint64_t size = weft::byte_size(dtype, dims);
  const auto all = file->bytes();
  if (offset > all.size() || size > all.size() - offset)
    fail(ErrorKind::bad_file, "TensorOutOfRange", fmt::format("{}@{:#x}", file->path().string(), offset),
         "a tensor of {} bytes ends beyond the file's {} bytes", size, all.size());
  const auto bytes = all.subspan(offset, size);
  return wrap(std::move(file), bytes, dtype, std::move(dims));
}

Tensor Tensor::reshaped(std::vector<std::int64_t> dims) const {
  if (weft::byte_size(dtype_, dims) != size_)
    fail(ErrorKind::shape_mismatch, "ShapeMismatch", "", "{} cannot be reshaped to {}", dims_text(dims_),
         dims_text(dims));
  Tensor view = *this;
  view.dims_ = std::move(dims);
  return view;
}

Tensor Tensor::rows(std::int64_t start, std::int64_t count) const {
  if (rank() == 0 || start < 0 || count < 0 || start > dims_[0] || count > dims_[0] - start)
    fail(ErrorKind::out_of_range, "IndexOutOfRange", "", "{} rows from {} on of a tensor of {}", count, start,
         dims_text(dims_));
  const DTypeInfo& info = dtype_info(dtype_);
  // Along the last axis a row is a part of a block.
  const std::int64_t unit = rank() == 1 ? info.block : 1;
  if (start % unit != 0 || count % unit != 0)
    fail(ErrorKind::out_of_range, "BlockMisaligned", "", "values {}..{} of a {} tensor cut a block of {}", start,
         start + count, info.name, unit);
  const std::size_t unit_bytes = dims_[0] == 0 ? 0 : size_ / static_cast<std::size_t>(dims_[0] / unit);
  Tensor view = *this;
  view.dims_[0] = count;
  view.size_ = unit_bytes * static_cast<std::size_t>(count / unit);
  view.data_ += unit_bytes * static_cast<std::size_t>(start / unit);
  return view;
}

Tensor Tensor::to_f32() const {
  if (dtype_ == DType::f32) return *this;
  Tensor out = allocate(DType::f32, dims_);
  decode_to_f32(dtype_, bytes(), out.mutable_values<float>());
  return out;
}

}  // namespace weft
