#include "weft/formats/gguf_file.h"

#include <utility>

#include "weft/base/fail.h"
#include "weft/base/mapped_file.h"
#include "weft/formats/file_bytes.h"
#include "weft/formats/gguf_part.h"
#include "weft/formats/gguf_split.h"

namespace weft {

GgufFile GgufFile::open(const std::filesystem::path& path, const GgufLimits& limits) {
  std::vector<GgufPart> parts = read_gguf_parts(path, limits);
  GgufFile result;
  result.version_ = parts.front().version;
  result.alignment_ = parts.front().alignment;
  result.metadata_ = std::move(parts.front().metadata);
  for (std::size_t i = 0; i < result.metadata_.size(); ++i) result.keys_.emplace(result.metadata_[i].key, i);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (GgufTensor& tensor : parts[p].tensors) {
      tensor.part = p;
      result.tensors_.push_back(std::move(tensor));
    }
    result.files_.push_back(std::move(parts[p].file));
  }
  result.index_tensors();
  return result;
}

void GgufFile::index_tensors() {
  names_.reserve(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (!names_.emplace(tensors_[i].name, i).second)
      fail(ErrorKind::bad_file, "DuplicateTensor", files_[tensors_[i].part]->path().string(),
           "tensor \"{}\" occurs in {} as well", tensors_[i].name,
           files_[tensors_[names_[tensors_[i].name]].part]->path().string());
}

std::string GgufFile::where(std::string_view key) const {
  const std::string file = files_.front()->path().string();
  const GgufEntry* entry = find(key);
  return entry == nullptr ? file : fmt::format("{}@{:#x}", file, entry->offset);
}

const GgufEntry* GgufFile::find(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : &metadata_[found->second];
}

const GgufEntry& GgufFile::get(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) fail(ErrorKind::bad_file, "MissingField", where(key), "metadata key \"{}\" is missing", key);
  return *entry;
}

void GgufFile::refuse(const GgufEntry& entry, std::string_view expected) const {
  fail(ErrorKind::bad_file, "InvalidField", where(entry.key), "metadata key \"{}\" must be {}, found {} {}", entry.key,
       expected, gguf_type_text(entry.value), gguf_text(entry.value, 4, 60));
}

namespace {

std::optional<std::int64_t> as_int(const GgufValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) return *number;
  if (const auto* number = std::get_if<std::uint64_t>(&value.value))
    if (*number <= static_cast<std::uint64_t>(INT64_MAX)) return static_cast<std::int64_t>(*number);
  return std::nullopt;
}

std::optional<double> as_number(const GgufValue& value) {
  if (const auto* number = std::get_if<double>(&value.value)) return *number;
  if (const auto integer = as_int(value)) return static_cast<double>(*integer);
  return std::nullopt;
}

std::optional<bool> as_bool(const GgufValue& value) {
  if (const auto* flag = std::get_if<bool>(&value.value)) return *flag;
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> GgufFile::find_int(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  const auto value = as_int(entry->value);
  if (!value) refuse(*entry, "an integer");
  return value;
}

std::optional<double> GgufFile::find_number(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  const auto value = as_number(entry->value);
  if (!value) refuse(*entry, "a number");
  return value;
}

std::optional<bool> GgufFile::find_bool(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  const auto value = as_bool(entry->value);
  if (!value) refuse(*entry, "a bool");
  return value;
}

std::optional<std::string_view> GgufFile::find_string(std::string_view key) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return std::nullopt;
  const auto* value = std::get_if<std::string_view>(&entry->value.value);
  if (value == nullptr) refuse(*entry, "a string");
  return *value;
}

const GgufArray* GgufFile::find_array(std::string_view key, std::string_view expected) const {
  const GgufEntry* entry = find(key);
  if (entry == nullptr) return nullptr;
  const auto* array = std::get_if<GgufArray>(&entry->value.value);
  if (array == nullptr) refuse(*entry, expected);
  return array;
}

std::optional<std::vector<std::int64_t>> GgufFile::find_ints(std::string_view key) const {
  const GgufArray* array = find_array(key, "an array of integers");
  if (array == nullptr) return std::nullopt;
  if (!is_gguf_integer(array->type)) refuse(get(key), "an array of integers");
  std::vector<std::int64_t> values(array->count);
  for (std::uint64_t i = 0; i < array->count; ++i) {
    const auto value = as_int(gguf_number(*array, i));
    if (!value) refuse(get(key), "an array of integers below 2^63");
    values[i] = *value;
  }
  return values;
}

std::optional<std::vector<double>> GgufFile::find_numbers(std::string_view key) const {
  const GgufArray* array = find_array(key, "an array of numbers");
  if (array == nullptr) return std::nullopt;
  if (!is_gguf_integer(array->type) && array->type != GgufType::f32 && array->type != GgufType::f64)
    refuse(get(key), "an array of numbers");
  std::vector<double> values(array->count);
  for (std::uint64_t i = 0; i < array->count; ++i) {
    const auto value = as_number(gguf_number(*array, i));
    if (!value) refuse(get(key), "an array of numbers below 2^63");
    values[i] = *value;
  }
  return values;
}

std::optional<std::vector<bool>> GgufFile::find_bools(std::string_view key) const {
  const GgufArray* array = find_array(key, "an array of bools");
  if (array == nullptr) return std::nullopt;
  if (array->type != GgufType::boolean) refuse(get(key), "an array of bools");
  std::vector<bool> values(array->count);
  for (std::uint64_t i = 0; i < array->count; ++i) values[i] = array->numbers[i] != std::byte{0};
  return values;
}

const std::vector<std::string_view>* GgufFile::find_strings(std::string_view key) const {
  const GgufArray* array = find_array(key, "an array of strings");
  if (array == nullptr) return nullptr;
  if (array->type != GgufType::string) refuse(get(key), "an array of strings");
  return &array->strings;
}

std::int64_t GgufFile::get_int(std::string_view key) const { return get(key), *find_int(key); }
double GgufFile::get_number(std::string_view key) const { return get(key), *find_number(key); }
bool GgufFile::get_bool(std::string_view key) const { return get(key), *find_bool(key); }
std::string_view GgufFile::get_string(std::string_view key) const { return get(key), *find_string(key); }
const std::vector<std::string_view>& GgufFile::get_strings(std::string_view key) const {
  return get(key), *find_strings(key);
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &tensors_[found->second];
}

Tensor GgufFile::tensor(const GgufTensor& info) const {
  const auto& file = files_[info.part];
  return view_or_copy({file, file->bytes()}, info.offset, info.dtype, info.dims);
}

Tensor GgufFile::tensor(std::string_view name) const {
  const GgufTensor* info = find_tensor(name);
  if (info == nullptr)
    fail(ErrorKind::missing_tensor, "MissingTensor", files_.front()->path().string(), "the file has no tensor \"{}\"",
         name);
  return tensor(*info);
}

}  // namespace weft
