// A dense row-major array: owned, a view of another tensor's bytes, or a range of a mapped file. Copying a Tensor
// copies the handle; the bytes live as long as any handle to them. Reading is safe from many threads; the owner of
// freshly allocated bytes may write them through mutable_data() before it shares the tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/base/dtype.h"
#include "weft/base/export.h"

namespace weft {

class MappedFile;

class WEFT_API Tensor {
 public:
  Tensor() = default;

  // Owning, 64-byte aligned, uninitialized.
  static Tensor allocate(DType dtype, std::vector<std::int64_t> dims);
  static Tensor zeros(DType dtype, std::vector<std::int64_t> dims);
  // Owning, copied from `values`; the element type of the span names the dtype (f32, f64, i32, i64, u8).
  static Tensor from(std::span<const float> values, std::vector<std::int64_t> dims);
  static Tensor from(std::span<const double> values, std::vector<std::int64_t> dims);
  static Tensor from(std::span<const std::int32_t> values, std::vector<std::int64_t> dims);
  static Tensor from(std::span<const std::int64_t> values, std::vector<std::int64_t> dims);
  static Tensor copy_bytes(std::span<const std::byte> bytes, DType dtype, std::vector<std::int64_t> dims);
  // Bytes that `owner` keeps alive. Throws when their count is not that of dtype and dims.
  static Tensor wrap(std::shared_ptr<const void> owner, std::span<const std::byte> bytes, DType dtype,
                     std::vector<std::int64_t> dims);
  // A range of a mapped file; the mapping lives as long as the tensor.
  static Tensor mapped(std::shared_ptr<const MappedFile> file, std::uint64_t offset, DType dtype,
                       std::vector<std::int64_t> dims);

  bool defined() const { return data_ != nullptr || owner_ != nullptr; }
  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  std::size_t rank() const { return dims_.size(); }
  std::int64_t dim(std::size_t axis) const { return dims_[axis]; }
  std::int64_t numel() const;
  std::size_t byte_size() const { return size_; }

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Elements as T, whose size must be that of the dtype.
  template <class T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(data_), size_ / sizeof(T)};
  }
  std::span<std::byte> mutable_bytes() { return {const_cast<std::byte*>(data_), size_}; }
  template <class T>
  std::span<T> mutable_values() {
    return {reinterpret_cast<T*>(const_cast<std::byte*>(data_)), size_ / sizeof(T)};
  }

  // The same bytes under other dims of equal byte size.
  Tensor reshaped(std::vector<std::int64_t> dims) const;
  // Rows [start, start + count) of axis 0, without a copy.
  Tensor rows(std::int64_t start, std::int64_t count) const;
  // The f32 values of any real dtype, block types decoded exactly; this tensor itself when it is f32 already.
  Tensor to_f32() const;
  // Whether two handles see the same bytes.
  bool shares_bytes_with(const Tensor& other) const { return data_ == other.data_ && size_ == other.size_; }

 private:
  std::shared_ptr<const void> owner_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  DType dtype_ = DType::f32;
  std::vector<std::int64_t> dims_;
};

WEFT_API std::string dims_text(std::span<const std::int64_t> dims);  // "[4, 8]"

}  // namespace weft
