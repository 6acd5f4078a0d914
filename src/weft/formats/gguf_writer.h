// Writing GGUF, version 3. Metadata and the descriptions of tensors are gathered first; write() then streams the
// tensors in the order in which they were added, as much of one in memory as its producer hands over at a time, and the
// file appears when all of it is on disk, or not at all. The same calls give the same bytes. One writer belongs to one
// thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"
#include "weft/base/function_ref.h"
#include "weft/base/tensor.h"
#include "weft/formats/gguf_value.h"

namespace weft {

class WEFT_API GgufWriter {
 public:
  // Of every tensor within the file: a power of two from 8 on; written as "general.alignment" unless it is 32, the
  // default.
  explicit GgufWriter(std::uint64_t alignment = 32);

  // Metadata, in the order of the first call for each key; a second call replaces the value. The value is copied.
  // NotUtf8 and InvalidField for keys that no reader takes, for numbers outside their type and for arrays that
  // contradict themselves.
  void set(std::string_view key, const GgufValue& value);
  void set_u32(std::string_view key, std::uint32_t value);
  void set_i32(std::string_view key, std::int32_t value);
  void set_f32(std::string_view key, float value);
  void set_bool(std::string_view key, bool value);
  void set_string(std::string_view key, std::string_view value);
  void set_strings(std::string_view key, std::span<const std::string> values);
  void set_i32s(std::string_view key, std::span<const std::int32_t> values);
  void set_f32s(std::string_view key, std::span<const float> values);
  bool has(std::string_view key) const;

  // Takes the next bytes of a tensor.
  using Sink = FunctionRef<void(std::span<const std::byte>)>;
  // Called while the file is written; hands the tensor's bytes over, all of them, in pieces of any size.
  using Producer = std::function<void(Sink)>;
  // DuplicateTensor, BadTensorShape, BlockMisaligned, NotUtf8, and NotRepresentable for a dtype that ggml has no type
  // for.
  void add_tensor(std::string name, DType dtype, std::vector<std::int64_t> dims, Producer producer);
  void add_tensor(std::string name, Tensor tensor);

  std::uint64_t tensor_bytes() const { return data_bytes_; }  // with the gaps between tensors

  // Io, TensorSizeMismatch for a producer that gave too little or too much, and what the producers throw.
  void write(const std::filesystem::path& path) const;

 private:
  struct Entry {
    std::string key, value;  // the value as it stands in the file, its type in front
  };
  struct Description {
    std::string name;
    std::uint32_t type = 0;
    std::vector<std::int64_t> dims;
    std::uint64_t offset = 0, bytes = 0;
    Producer producer;
  };
  void put(std::string_view key, std::string value);
  std::string header() const;

  std::uint64_t alignment_ = 32;
  std::vector<Entry> entries_;
  std::vector<Description> tensors_;
  std::uint64_t data_bytes_ = 0;
};

}  // namespace weft
