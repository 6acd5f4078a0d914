// Reading GGUF, versions 2 and 3, one file or a set of split parts. The files stay mapped: metadata strings and
// tensors are views into them, so no weight is copied. Everything in the header is checked before open() returns.
// Copies share the mappings; immutable, safe to read from many threads.
//
// Errors of open(): NotGguf, UnsupportedVersion, Truncated, LimitExceeded, InvalidField, DuplicateKey,
// DuplicateTensor, BadTensorShape, BlockMisaligned, SizeOverflow, MisalignedTensor, TensorOutOfRange, TensorOverlap,
// UnsupportedSourceType, NotUtf8, MissingPart, BadSplit, and those of MappedFile. Messages carry file@offset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/base/export.h"
#include "weft/base/tensor.h"
#include "weft/formats/gguf_value.h"

namespace weft {

struct GgufLimits {
  std::uint64_t metadata_entries = 65536;
  std::uint64_t string_bytes = 16u << 20;
  std::uint64_t array_entries = 16u << 20;
  std::uint64_t total_array_entries = 32u << 20;  // over all arrays of a file
  std::uint64_t array_nesting = 4;
  std::uint64_t nested_arrays = 65536;  // arrays inside arrays, over a file
  std::uint64_t tensors = 1u << 20;
  std::uint64_t name_bytes = 1024;
};

struct GgufTensor {
  std::string_view name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;  // row-major: the file's order reversed
  std::uint64_t offset = 0;        // of the first byte within its file
  std::uint64_t bytes = 0;
  std::size_t part = 0;  // index into files()
};

class WEFT_API GgufFile {
 public:
  // Any part of a split set opens the whole set.
  static GgufFile open(const std::filesystem::path& path, const GgufLimits& limits = {});

  std::uint32_t version() const { return version_; }
  std::uint64_t alignment() const { return alignment_; }
  const std::vector<std::shared_ptr<const MappedFile>>& files() const { return files_; }

  // Metadata in file order; of a split set, that of its first part.
  const std::vector<GgufEntry>& metadata() const { return metadata_; }
  const GgufEntry* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // Values by key. find_* gives nothing when the key is absent, get_* fails with MissingField; a value of another
  // type is InvalidField, naming key, expected and found. Integers may be of any width; a number may be an integer.
  std::optional<std::int64_t> find_int(std::string_view key) const;
  std::optional<double> find_number(std::string_view key) const;
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<std::string_view> find_string(std::string_view key) const;
  std::optional<std::vector<std::int64_t>> find_ints(std::string_view key) const;
  std::optional<std::vector<double>> find_numbers(std::string_view key) const;
  std::optional<std::vector<bool>> find_bools(std::string_view key) const;
  const std::vector<std::string_view>* find_strings(std::string_view key) const;

  std::int64_t get_int(std::string_view key) const;
  double get_number(std::string_view key) const;
  bool get_bool(std::string_view key) const;
  std::string_view get_string(std::string_view key) const;
  const std::vector<std::string_view>& get_strings(std::string_view key) const;

  // Tensors in file order, those of part 1 first.
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufTensor* find_tensor(std::string_view name) const;
  // The tensor's bytes as they lie in the mapping (copied only where the file leaves them unaligned for their type).
  Tensor tensor(const GgufTensor& info) const;
  Tensor tensor(std::string_view name) const;  // MissingTensor

  // "model.gguf@0x1a4", where the key is, or the file's name when it has none; for messages about metadata.
  std::string where(std::string_view key) const;

 private:
  GgufFile() = default;
  const GgufEntry& get(std::string_view key) const;
  [[noreturn]] void refuse(const GgufEntry& entry, std::string_view expected) const;
  const GgufArray* find_array(std::string_view key, std::string_view expected) const;
  void index_tensors();

  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::vector<GgufEntry> metadata_;
  std::vector<GgufTensor> tensors_;
  std::unordered_map<std::string_view, std::size_t> keys_, names_;
  std::uint32_t version_ = 0;
  std::uint64_t alignment_ = 32;
};

}  // namespace weft
