// NumPy's .npy files: one array, little-endian, written in C order, read in either. Plain element types only; a packed
// tensor is decoded first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "weft/base/atomic_file.h"
#include "weft/base/export.h"
#include "weft/base/tensor.h"

namespace weft {

// Writes an array piece by piece. The file appears with commit(), or not at all.
class WEFT_API NpyWriter {
 public:
  // NotRepresentable for a dtype that NumPy has no type for (bf16, fixed point and block types).
  NpyWriter(std::filesystem::path path, DType dtype, std::vector<std::int64_t> dims);
  // The next elements, in row-major order. ShapeMismatch beyond the end of the array.
  void append(std::span<const std::byte> bytes);
  // ShapeMismatch while elements are missing.
  void commit();

 private:
  AtomicFile file_;
  std::filesystem::path path_;
  std::uint64_t remaining_;
};

WEFT_API void write_npy(const std::filesystem::path& path, const Tensor& tensor);

// Versions 1 to 3 of the format. Errors: NotNpy, Truncated, InvalidField, UnsupportedVersion, UnsupportedSourceType
// (big-endian, a type weft lacks), TensorSizeMismatch.
WEFT_API Tensor read_npy(const std::filesystem::path& path);
WEFT_API Tensor read_npy(std::span<const std::byte> bytes, const std::string& source);

}  // namespace weft
