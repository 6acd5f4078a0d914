#include "weft/formats/safetensors.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/byte_reader.h"
#include "weft/base/fail.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t most_header_bytes = 100'000'000;  // the format's own limit
constexpr std::size_t most_depth = 4;                     // the index needs three

constexpr std::array<std::pair<std::string_view, DType>, 13> element_types{{{"F32", DType::f32},
                                                                            {"F16", DType::f16},
                                                                            {"BF16", DType::bf16},
                                                                            {"F64", DType::f64},
                                                                            {"I8", DType::i8},
                                                                            {"U8", DType::u8},
                                                                            {"BOOL", DType::boolean},
                                                                            {"I16", DType::i16},
                                                                            {"U16", DType::u16},
                                                                            {"I32", DType::i32},
                                                                            {"U32", DType::u32},
                                                                            {"I64", DType::i64},
                                                                            {"U64", DType::u64}}};

struct StoredTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  std::uint64_t begin = 0, end = 0;
};

Json parse_index(std::string_view text, const std::string& where) {
  std::set<std::string> names;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > static_cast<int>(most_depth))
      fail(ErrorKind::bad_file, "InvalidField", where, "the index nests too deep");
    if (event == Json::parse_event_t::key && depth == 1 && !names.insert(value.get<std::string>()).second)
      fail(ErrorKind::bad_file, "DuplicateTensor", where, "tensor \"{}\" occurs twice", value.get<std::string>());
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    fail(ErrorKind::bad_file, "InvalidJson", where, "the index is no valid JSON: {}", error.what());
  }
}

std::vector<std::uint64_t> numbers(const Json& entry, const char* key, std::size_t most, const std::string& where) {
  std::vector<std::uint64_t> values;
  const auto found = entry.find(key);
  bool good = found != entry.end() && found->is_array() && found->size() <= most;
  for (std::size_t i = 0; good && i < found->size(); ++i) {
    good = (*found)[i].is_number_unsigned() && (*found)[i].get<std::uint64_t>() <= std::uint64_t{1} << 62;
    if (good) values.push_back((*found)[i].get<std::uint64_t>());
  }
  if (!good) fail(ErrorKind::bad_file, "InvalidField", where, "\"{}\" must be a list of up to {} sizes", key, most);
  return values;
}

StoredTensor entry_of(const std::string& name, const Json& json, const std::string& where) {
  if (!json.is_object()) fail(ErrorKind::bad_file, "InvalidField", where, "expected an object");
  const auto type = json.find("dtype");
  if (type == json.end() || !type->is_string())
    fail(ErrorKind::bad_file, "InvalidField", where, "\"dtype\" must be a string");
  const auto& spelled = type->get_ref<const std::string&>();
  const auto known = std::find_if(element_types.begin(), element_types.end(),
                                  [&](const auto& candidate) { return candidate.first == spelled; });
  if (known == element_types.end())
    fail(ErrorKind::unsupported, "UnsupportedSourceType", where, "weft does not read element type \"{}\"", spelled);
  StoredTensor entry{.name = name, .dtype = known->second, .dims = {}};
  for (const std::uint64_t dim : numbers(json, "shape", 32, where))
    entry.dims.push_back(static_cast<std::int64_t>(dim));
  const auto offsets = numbers(json, "data_offsets", 2, where);
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    fail(ErrorKind::bad_file, "InvalidField", where, "\"data_offsets\" must be a begin and an end");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  if (const std::uint64_t size = byte_size(entry.dtype, entry.dims); size != entry.end - entry.begin)
    fail(ErrorKind::bad_file, "TensorSizeMismatch", where, "{} of {} takes {} bytes, the index gives it {}",
         dims_text(entry.dims), to_string(entry.dtype), size, entry.end - entry.begin);
  return entry;
}

// The data is all of the tensors' bytes, each once.
void expect_tiled(std::vector<StoredTensor>& entries, std::uint64_t size, const std::string& source) {
  std::sort(entries.begin(), entries.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  for (const StoredTensor& entry : entries) {
    if (entry.begin != at)
      fail(ErrorKind::bad_file, "TensorOverlap", fmt::format("{}, tensor \"{}\"", source, entry.name),
           "its data begins at {}, where the tensor before it ends at {}", entry.begin, at);
    at = entry.end;
  }
  if (at != size)
    fail(ErrorKind::bad_file, "TensorSizeMismatch", source, "the tensors take {} bytes, the file holds {}", at, size);
}

}  // namespace

std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path) {
  return read_safetensors(map_file(path), path.string());
}

std::map<std::string, Tensor> read_safetensors(const FileBytes& file, const std::string& source) {
  ByteReader reader(file.bytes, source);
  const auto length = reader.read<std::uint64_t>("the index's length");
  if (length > most_header_bytes)
    fail(ErrorKind::bad_file, "LimitExceeded", reader.where(0), "an index of {} bytes, the limit is {}", length,
         most_header_bytes);
  const std::string where = reader.where();
  const Json index = parse_index(reader.text(length, "the index"), where);
  if (!index.is_object()) fail(ErrorKind::bad_file, "InvalidField", where, "the index must be an object");
  std::vector<StoredTensor> entries;
  for (const auto& [name, json] : index.items())
    if (name != "__metadata__") entries.push_back(entry_of(name, json, fmt::format("{}, tensor \"{}\"", source, name)));
  expect_tiled(entries, reader.remaining(), source);
  std::map<std::string, Tensor> tensors;
  for (StoredTensor& entry : entries)
    tensors.emplace(std::move(entry.name),
                    view_or_copy(file, reader.offset() + entry.begin, entry.dtype, std::move(entry.dims)));
  return tensors;
}

}  // namespace weft
