#include "weft/formats/gguf_part.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <unordered_set>
#include <utility>

#include "weft/base/byte_reader.h"
#include "weft/base/fail.h"
#include "weft/base/utf8.h"

namespace weft {
namespace {

constexpr std::uint64_t max_alignment = std::uint64_t{1} << 30;

class PartReader {
 public:
  PartReader(std::shared_ptr<const MappedFile> file, const GgufLimits& limits)
      : file_(std::move(file)), limits_(limits), reader_(file_->bytes(), file_->path().string()) {}

  GgufPart read() {
    GgufPart part;
    part.file = file_;
    part.version = read_version();
    const auto tensor_count = reader_.read<std::uint64_t>("the tensor count");
    expect_within(tensor_count, limits_.tensors, "tensors");
    const auto entry_count = reader_.read<std::uint64_t>("the metadata count");
    expect_within(entry_count, limits_.metadata_entries, "metadata entries");
    // The smallest entry: an empty key's length, a type and one byte.
    reader_.expect_items(entry_count, 8 + 4 + 1, "metadata entries");
    read_metadata(entry_count, part);
    read_tensors(tensor_count, part);
    check_layout(part);
    return part;
  }

 private:
  std::uint32_t read_version() {
    const auto bytes = file_->bytes();
    constexpr std::string_view magic = "GGUF";
    if (bytes.size() < magic.size() || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
      fail(ErrorKind::bad_file, "NotGguf", reader_.where(), "not a GGUF file: it does not begin with \"GGUF\"");
    reader_.skip(magic.size(), "the magic");
    const std::string where = reader_.where();
    const auto version = reader_.read<std::uint32_t>("the version");
    if (version == 2 || version == 3) return version;
    if (version == 0x02000000 || version == 0x03000000)
      fail(ErrorKind::unsupported, "UnsupportedVersion", where,
           "the GGUF file is big-endian; weft reads little-endian files");
    fail(ErrorKind::unsupported, "UnsupportedVersion", where, "GGUF version {} is not supported; weft reads 2 and 3",
         version);
  }

  void expect_within(std::uint64_t count, std::uint64_t limit, std::string_view what) const {
    if (count > limit)
      fail(ErrorKind::bad_file, "LimitExceeded", reader_.where(), "{} {}, more than the limit of {}", count, what,
           limit);
  }

  std::string_view read_string(std::string_view what, std::uint64_t limit) {
    const auto length = reader_.read<std::uint64_t>(what);
    if (length > limit)
      fail(ErrorKind::bad_file, "LimitExceeded", reader_.where(), "{} has {} bytes, more than the limit of {}", what,
           length, limit);
    return reader_.text(length, what);
  }

  std::string_view read_name(std::string_view what) {
    const std::uint64_t at = reader_.offset();
    const std::string_view name = read_string(what, limits_.name_bytes);
    if (name.empty()) fail(ErrorKind::bad_file, "InvalidField", reader_.where(at), "{} is empty", what);
    if (find_invalid_utf8(name)) fail(ErrorKind::bad_file, "NotUtf8", reader_.where(at), "{} is not valid UTF-8", what);
    return name;
  }

  GgufType read_type(std::string_view key) {
    const std::uint64_t at = reader_.offset();
    const auto id = reader_.read<std::uint32_t>("a value type");
    const auto type = gguf_type_from_id(id);
    if (!type)
      fail(ErrorKind::bad_file, "InvalidField", reader_.where(at), "metadata key \"{}\" has unknown value type {}", key,
           id);
    return *type;
  }

  void check_bools(std::span<const std::byte> bytes, std::string_view key) const {
    if (std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; }))
      fail(ErrorKind::bad_file, "InvalidField", reader_.where(),
           "metadata key \"{}\" has a bool that is neither 0 nor 1", key);
  }

  GgufArray read_array(std::string_view key, std::uint64_t depth) {
    if (depth > limits_.array_nesting)
      fail(ErrorKind::bad_file, "LimitExceeded", reader_.where(),
           "metadata key \"{}\" nests arrays deeper than the limit of {}", key, limits_.array_nesting);
    GgufArray array;
    array.type = read_type(key);
    array.count = reader_.read<std::uint64_t>("an array's length");
    if (array.count > limits_.array_entries || array.count > limits_.total_array_entries - array_entries_)
      fail(ErrorKind::bad_file, "LimitExceeded", reader_.where(),
           "metadata key \"{}\" is an array of {} values; the limits are {} for one array and {} for a file", key,
           array.count, limits_.array_entries, limits_.total_array_entries);
    array_entries_ += array.count;
    if (array.type == GgufType::string) {
      reader_.expect_items(array.count, 8, "strings");
      array.strings.reserve(array.count);
      for (std::uint64_t i = 0; i < array.count; ++i)
        array.strings.push_back(read_string("a string of an array", limits_.string_bytes));
    } else if (array.type == GgufType::array) {
      nested_arrays_ += array.count;  // no overflow: array.count is limited above
      expect_within(nested_arrays_, limits_.nested_arrays, "nested arrays");
      reader_.expect_items(array.count, 4 + 8, "nested arrays");
      for (std::uint64_t i = 0; i < array.count; ++i) array.arrays.push_back(read_array(key, depth + 1));
    } else {
      // No overflow: the count is limited and a number has at most eight bytes.
      array.numbers = reader_.take(array.count * gguf_type_size(array.type), "an array of numbers");
      if (array.type == GgufType::boolean) check_bools(array.numbers, key);
    }
    return array;
  }

  GgufValue read_value(std::string_view key) {
    const GgufType type = read_type(key);
    if (type == GgufType::string) return {type, read_string("a string value", limits_.string_bytes)};
    if (type == GgufType::array) return {type, read_array(key, 1)};
    const auto bytes = reader_.take(gguf_type_size(type), "a value");
    if (type == GgufType::boolean) check_bools(bytes, key);
    return gguf_number(type, bytes);
  }

  void read_metadata(std::uint64_t count, GgufPart& part) {
    std::unordered_set<std::string_view> seen;
    part.metadata.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      GgufEntry entry;
      entry.offset = reader_.offset();
      entry.key = read_name("a metadata key");
      if (!seen.insert(entry.key).second)
        fail(ErrorKind::bad_file, "DuplicateKey", reader_.where(entry.offset), "metadata key \"{}\" occurs twice",
             entry.key);
      entry.value = read_value(entry.key);
      if (entry.key == "general.alignment") part.alignment = alignment_of(entry);
      part.metadata.push_back(std::move(entry));
    }
  }

  std::uint64_t alignment_of(const GgufEntry& entry) const {
    const auto* unsigned_value = std::get_if<std::uint64_t>(&entry.value.value);
    const std::uint64_t alignment = unsigned_value != nullptr ? *unsigned_value : 0;
    if (!std::has_single_bit(alignment) || alignment > max_alignment)
      fail(ErrorKind::bad_file, "InvalidField", reader_.where(entry.offset),
           "metadata key \"general.alignment\" must be a power of two up to {}, found {}", max_alignment,
           gguf_text(entry.value));
    return alignment;
  }

  void read_tensors(std::uint64_t count, GgufPart& part) {
    // The smallest description: a name's length and one byte, a rank, a type and an offset.
    reader_.expect_items(count, 8 + 1 + 4 + 4 + 8, "tensor descriptions");
    std::unordered_set<std::string_view> seen;
    part.tensors.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string where = reader_.where();
      GgufTensor tensor;
      tensor.name = read_name("a tensor's name");
      if (!seen.insert(tensor.name).second)
        fail(ErrorKind::bad_file, "DuplicateTensor", where, "tensor \"{}\" occurs twice", tensor.name);
      tensor.dims = read_dims(tensor.name, where);
      const auto type = reader_.read<std::uint32_t>("a tensor's type");
      tensor.offset = reader_.read<std::uint64_t>("a tensor's offset");
      const auto dtype = dtype_from_ggml_id(type);
      if (dtype) {
        tensor.dtype = *dtype;
        tensor.bytes = size_of(tensor, where);
      } else if (++unsupported_[type].count == 1) {
        unsupported_[type].first = tensor.name;
        unsupported_[type].where = where;
      }
      part.tensors.push_back(std::move(tensor));
    }
    if (!unsupported_.empty()) refuse_types(count);
  }

  std::vector<std::int64_t> read_dims(std::string_view name, const std::string& where) {
    const auto rank = reader_.read<std::uint32_t>("a tensor's rank");
    if (rank > 8)
      fail(ErrorKind::bad_file, "BadTensorShape", where, "tensor \"{}\" has rank {}; the most is 8", name, rank);
    std::vector<std::int64_t> dims(rank);
    for (std::int64_t& dim : dims) {
      const auto size = reader_.read<std::uint64_t>("a tensor's dimension");
      if (size == 0 || size >= std::uint64_t{1} << 62)
        fail(ErrorKind::bad_file, "BadTensorShape", where, "tensor \"{}\" has a dimension of {}", name, size);
      dim = static_cast<std::int64_t>(size);
    }
    std::reverse(dims.begin(), dims.end());
    return dims;
  }

  // byte_size() knows no place; the error is given the tensor's.
  static std::uint64_t size_of(const GgufTensor& tensor, const std::string& where) {
    try {
      return byte_size(tensor.dtype, tensor.dims);
    } catch (const Error& error) {
      throw Error(ErrorKind::bad_file, error.code(), where,
                  fmt::format("tensor \"{}\" {}: {}", tensor.name, dims_text(tensor.dims), error.message()));
    }
  }

  [[noreturn]] void refuse_types(std::uint64_t count) const {
    std::string kinds;
    for (const auto& [id, use] : unsupported_)
      kinds += fmt::format("{}{} of {} tensors have {} (id {})", kinds.empty() ? "" : "; ", use.count, count,
                           ggml_type_text(id), id);
    const Unsupported& first = unsupported_.begin()->second;
    fail(ErrorKind::unsupported, "UnsupportedSourceType", first.where,
         "{}, the first is \"{}\"; weft reads {}. Convert the model to one of these types", kinds, first.first,
         readable_ggml_types());
  }

  void check_layout(GgufPart& part) {
    const std::uint64_t header_end = reader_.offset(), file_size = file_->bytes().size();
    const std::uint64_t data = (header_end + part.alignment - 1) & ~(part.alignment - 1);
    for (GgufTensor& tensor : part.tensors) {
      if (tensor.offset % part.alignment != 0)
        fail(ErrorKind::bad_file, "MisalignedTensor", reader_.where(header_end),
             "tensor \"{}\" has offset {}, which is no multiple of the file's alignment {}", tensor.name, tensor.offset,
             part.alignment);
      if (data > file_size || tensor.offset > file_size - data || tensor.bytes > file_size - data - tensor.offset)
        fail(ErrorKind::bad_file, "TensorOutOfRange", reader_.where(data),
             "tensor \"{}\" needs {} bytes at offset {} of the data, but the file ends after {} bytes of data; is it "
             "incomplete?",
             tensor.name, tensor.bytes, tensor.offset, file_size > data ? file_size - data : 0);
      tensor.offset += data;
    }
    std::vector<const GgufTensor*> by_offset;
    for (const GgufTensor& tensor : part.tensors) by_offset.push_back(&tensor);
    std::sort(by_offset.begin(), by_offset.end(),
              [](const GgufTensor* a, const GgufTensor* b) { return a->offset < b->offset; });
    for (std::size_t i = 1; i < by_offset.size(); ++i) {
      const GgufTensor &before = *by_offset[i - 1], &after = *by_offset[i];
      if (before.offset + before.bytes > after.offset)
        fail(ErrorKind::bad_file, "TensorOverlap", reader_.where(after.offset),
             "tensor \"{}\" begins inside tensor \"{}\"", after.name, before.name);
    }
  }

  struct Unsupported {
    std::uint64_t count = 0;
    std::string_view first;
    std::string where;
  };

  std::shared_ptr<const MappedFile> file_;
  const GgufLimits& limits_;
  ByteReader reader_;
  std::uint64_t array_entries_ = 0, nested_arrays_ = 0;
  std::map<std::uint32_t, Unsupported> unsupported_;
};

}  // namespace

GgufPart read_gguf_part(std::shared_ptr<const MappedFile> file, const GgufLimits& limits) {
  return PartReader(std::move(file), limits).read();
}

}  // namespace weft
