// A weight matrix [N, K] in the order that the linear kernels read: panels of 16 rows, the last one filled up with
// zeros. One layout serves every kernel level (packed_layout.h). Immutable; a copy is a handle to the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "weft/base/dtype.h"
#include "weft/base/function_ref.h"
#include "weft/base/tensor.h"
#include "weft/base/thread_pool.h"

namespace weft::cpu {

class WEFT_API PackedMatrix {
 public:
  static constexpr std::int64_t panel_rows = 16;

  PackedMatrix() = default;

  // Whether there are kernels for rows of `columns` values of this type: f32, f16, bf16, fixed point and, in whole
  // blocks, q4_0, q4_1, q5_0, q5_1, q8_0, q2_k to q6_k, q4, q8 and, in groups of 32, ternary.
  static bool packs(DType dtype, std::int64_t columns);
  // What pack allocates; throws PackSize beyond what memory can address.
  static std::size_t packed_bytes(DType dtype, std::int64_t rows, std::int64_t columns);
  // `packed` is called from the workers, one call at a time, with each range of the source that is done.
  static PackedMatrix pack(const Tensor& weight, ThreadPool& pool,
                           FunctionRef<void(std::span<const std::byte>)> packed);
  static PackedMatrix pack(const Tensor& weight, ThreadPool& pool);

  bool defined() const { return data_ != nullptr; }
  DType dtype() const { return dtype_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t panels() const { return (rows_ + panel_rows - 1) / panel_rows; }
  std::span<const std::byte> panel(std::int64_t index) const {
    return {data_.get() + static_cast<std::size_t>(index) * panel_bytes_, panel_bytes_};
  }
  // Whether the kernels take QuantizedRows; else they take f32.
  bool integer() const { return is_block(dtype_); }
  std::size_t byte_size() const { return static_cast<std::size_t>(panels()) * panel_bytes_; }

  // The f32 values of one row, those of decode_to_f32.
  void decode_row(std::int64_t row, float* out) const;

 private:
  std::shared_ptr<const std::byte> data_;
  std::size_t panel_bytes_ = 0;
  std::int64_t rows_ = 0, columns_ = 0;
  DType dtype_ = DType::f32;
};

}  // namespace weft::cpu
