#include "weft/formats/model_tensors.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/tensor.h"
#include "weft/formats/model_encoding.h"
#include "weft/formats/toml_text.h"

namespace weft {
namespace {

// A tensor's four keys as they come; all are required.
struct Entry {
  std::string name;
  std::optional<std::vector<std::int64_t>> dims;
  std::optional<std::string> encoding;
  std::optional<std::uint64_t> offset, bytes;
  bool closed = false;  // by an inline table or a header of its own
  std::string where;
};

class IndexReader {
 public:
  IndexReader(std::string_view text, TomlSource source, const TensorIndexOptions& options, const ModelLimits& limits,
              std::vector<Warning>& warnings)
      : where_(source.file + ", section tensors"),
        reader_(text, std::move(source)),
        options_(options),
        limits_(limits),
        warnings_(warnings) {}

  std::vector<ModelTensor> read() {
    collect();
    std::vector<ModelTensor> tensors;
    tensors.reserve(entries_.size());
    for (Entry& entry : entries_) attempt(options_.problems, [&] { tensors.push_back(checked(entry)); });
    entries_.clear();
    check_overlap(tensors);
    if (options_.version == 1) check_scales(tensors);
    for (const std::string& key : unknown_keys_)
      warnings_.push_back({"IgnoredKey", where_, fmt::format("key \"{}\" of tensors is not known", key)});
    return tensors;
  }

 private:
  // A name in the text: the path's parts joined, since an unquoted header splits it at its dots.
  static std::string joined(const std::vector<std::string>& path, std::size_t parts) {
    std::string name = path[0];
    for (std::size_t i = 1; i < parts; ++i) name.append(1, '.').append(path[i]);
    return name;
  }

  Entry& entry(const std::string& raw_name, bool whole) {
    if (raw_name.empty() || raw_name.size() > limits_.tensor_name_bytes)
      fail(ErrorKind::bad_file, "LimitExceeded", reader_.where(), "a tensor's name has 1 to {} bytes, found {}",
           limits_.tensor_name_bytes, raw_name.size());
    std::string name = canonical_tensor_name(raw_name);
    const auto [found, added] = index_.emplace(name, entries_.size());
    if (added) {
      if (entries_.size() == limits_.tensors)
        fail(ErrorKind::bad_file, "LimitExceeded", reader_.where(), "more than {} tensors", limits_.tensors);
      entries_.push_back({std::move(name), {}, {}, {}, {}, whole, reader_.where()});
    } else if (whole || entries_[found->second].closed) {
      fail(ErrorKind::bad_file, "DuplicateTensor", reader_.where(), "tensor \"{}\" occurs twice", found->first);
    }
    return entries_[found->second];
  }

  void collect() {
    std::string header;
    std::size_t current = 0;
    for (;;) {
      const TomlReader::Item item = reader_.next();
      if (item == TomlReader::Item::end) return;
      const std::vector<std::string>& path = reader_.path();
      if (item == TomlReader::Item::table_array)
        fail(ErrorKind::bad_file, "InvalidField", reader_.where(), "a tensor is one table, not a list of tables");
      if (item == TomlReader::Item::table) {
        header = joined(path, path.size());
        entry(header, true);
        current = entries_.size() - 1;
        continue;
      }
      const std::string key = path.back();
      if (path.size() == 1 && !header.empty()) {
        set(entries_[current], key, reader_.read_value());
        continue;
      }
      // An inline table under the root, or a dotted key that ends in one of the four.
      const std::string prefix = header.empty() ? "" : header + ".";
      const std::string whole_name = prefix + joined(path, path.size());
      const std::string short_name = path.size() > 1 ? prefix + joined(path, path.size() - 1) : "";
      TomlValue value = reader_.read_value();
      if (auto* table = std::get_if<TomlTable>(&value.data)) {
        Entry& inline_entry = entry(whole_name, true);
        for (TomlMember& member : *table) set(inline_entry, member.key, std::move(member.value));
      } else if (path.size() > 1) {
        set(entry(short_name, false), key, std::move(value));
      } else {
        reader_.refuse(fmt::format("\"{}\" must be a table that describes a tensor, found {}", key, type_text(value)));
      }
    }
  }

  [[noreturn]] void bad_field(const Entry& entry, std::string_view key, std::string_view expected,
                              const TomlValue& found) const {
    fail(ErrorKind::bad_file, "InvalidField", reader_.where(), "\"{}\" of tensor \"{}\" must be {}, found {}", key,
         entry.name, expected, type_text(found));
  }

  void set(Entry& entry, const std::string& key, TomlValue value) {
    const auto once = [&](bool given) {
      if (given) reader_.refuse(fmt::format("\"{}\" of tensor \"{}\" is defined already", key, entry.name));
    };
    if (key == "shape") {
      once(entry.dims.has_value());
      entry.dims = dims_of(entry, value);
    } else if (key == "encoding") {
      once(entry.encoding.has_value());
      auto* name = std::get_if<std::string>(&value.data);
      if (name == nullptr) bad_field(entry, key, "a string", value);
      entry.encoding = std::move(*name);
    } else if (key == "offset" || key == "size") {
      std::optional<std::uint64_t>& field = key == "offset" ? entry.offset : entry.bytes;
      once(field.has_value());
      const auto* number = value.get<std::int64_t>();
      if (number == nullptr || *number < 0) bad_field(entry, key, "an integer from 0", value);
      field = static_cast<std::uint64_t>(*number);
    } else {
      unknown_keys_.insert(key);
    }
  }

  std::vector<std::int64_t> dims_of(const Entry& entry, const TomlValue& value) const {
    const auto* array = value.get<TomlArray>();
    if (array == nullptr) bad_field(entry, "shape", "a list of integers", value);
    std::vector<std::int64_t> dims;
    for (const TomlValue& item : *array) {
      const auto* dim = item.get<std::int64_t>();
      if (dim == nullptr) bad_field(entry, "shape", "a list of integers", item);
      dims.push_back(*dim);
    }
    return dims;
  }

  ModelTensor checked(Entry& entry) const {
    const auto required = [&](bool given, std::string_view key) {
      if (!given)
        fail(ErrorKind::bad_file, "MissingField", entry.where, "\"{}\" of tensor \"{}\" is missing", key, entry.name);
    };
    required(entry.dims.has_value(), "shape");
    required(entry.encoding.has_value(), "encoding");
    required(entry.offset.has_value(), "offset");
    required(entry.bytes.has_value(), "size");
    if (entry.dims->size() > 8)
      fail(ErrorKind::bad_file, "BadTensorShape", entry.where, "tensor \"{}\" has rank {}; the most is 8", entry.name,
           entry.dims->size());
    for (const std::int64_t dim : *entry.dims)
      if (dim < 1)
        fail(ErrorKind::bad_file, "BadTensorShape", entry.where, "tensor \"{}\" has a dimension of {}", entry.name,
             dim);
    const auto encoding = model_encoding(*entry.encoding, options_.version);
    if (!encoding)
      fail(ErrorKind::bad_file, "UnknownEncoding", entry.where, "tensor \"{}\" has the unknown encoding \"{}\"",
           entry.name, *entry.encoding);
    if (options_.canonical_only && !encoding->canonical)
      fail(ErrorKind::bad_file, "NonCanonicalEncoding", entry.where,
           "tensor \"{}\" has encoding \"{}\", which is none of the five canonical ones", entry.name, *entry.encoding);
    ModelTensor tensor{std::move(entry.name), encoding->dtype, std::move(*entry.dims),  *entry.offset,
                       *entry.bytes,          false,           encoding->legacy_ternary};
    check_size(tensor, entry);
    if (tensor.bytes > options_.weights_bytes || tensor.offset > options_.weights_bytes - tensor.bytes)
      fail(ErrorKind::bad_file, "TensorOutOfRange", entry.where,
           "tensor \"{}\" is {} bytes at offset {}, but the weights have {} bytes", tensor.name, tensor.bytes,
           tensor.offset, options_.weights_bytes);
    return tensor;
  }

  void check_size(ModelTensor& tensor, const Entry& entry) const {
    const std::uint32_t block = dtype_info(tensor.dtype).block;
    std::uint64_t expected = 0;
    try {
      // Rows that are no whole number of blocks are accepted only as one row of all elements.
      tensor.flat = block > 1 && (tensor.dims.empty() ? 1 : tensor.dims.back()) % block != 0;
      const std::uint64_t count = byte_size(DType::u8, tensor.dims);
      expected = tensor.flat ? byte_size(tensor.dtype, {{static_cast<std::int64_t>(count)}})
                             : byte_size(tensor.dtype, tensor.dims);
    } catch (const Error& error) {
      throw Error(ErrorKind::bad_file, error.code(), entry.where,
                  fmt::format("tensor \"{}\" {}: {}", tensor.name, dims_text(tensor.dims), error.message()));
    }
    if (tensor.bytes != expected)
      fail(ErrorKind::bad_file, "TensorSizeMismatch", entry.where,
           "tensor \"{}\" {} in {} takes {} bytes, but its size is given as {}", tensor.name, dims_text(tensor.dims),
           *entry.encoding, expected, tensor.bytes);
  }

  // Two ranges are disjoint or the same; what no tensor refers to should be padding.
  void check_overlap(const std::vector<ModelTensor>& tensors) const {
    std::vector<const ModelTensor*> order;
    for (const ModelTensor& tensor : tensors) order.push_back(&tensor);
    std::sort(order.begin(), order.end(), [](const ModelTensor* a, const ModelTensor* b) {
      return std::pair(a->offset, a->bytes) < std::pair(b->offset, b->bytes);
    });
    constexpr std::uint64_t padding = 4096;
    std::uint64_t end = 0, unused = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const ModelTensor& tensor = *order[i];
      if (i > 0 && tensor.offset == order[i - 1]->offset && tensor.bytes == order[i - 1]->bytes) continue;
      attempt(options_.problems, [&] {
        if (tensor.offset < end)
          fail(ErrorKind::bad_file, "TensorOverlap", where_, "tensors \"{}\" and \"{}\" overlap", order[i - 1]->name,
               tensor.name);
      });
      if (tensor.offset > end && tensor.offset - end >= padding) unused += tensor.offset - end;
      end = std::max(end, tensor.offset + tensor.bytes);
    }
    if (options_.weights_bytes - end >= padding) unused += options_.weights_bytes - end;
    if (unused > options_.weights_bytes / 100)
      warnings_.push_back(
          {"UnusedBytes", where_,
           fmt::format("{} of {} bytes of the weights belong to no tensor", unused, options_.weights_bytes)});
  }

  void check_scales(const std::vector<ModelTensor>& tensors) const {
    for (const ModelTensor& tensor : tensors)
      attempt(options_.problems, [&] {
        if (tensor.dtype == DType::ternary && index_.count(tensor.name + ".scale") == 0)
          fail(ErrorKind::bad_file, "MissingScale", where_, "ternary tensor \"{}\" has no tensor \"{}.scale\"",
               tensor.name, tensor.name);
      });
  }

  std::string where_;
  TomlReader reader_;
  const TensorIndexOptions& options_;
  const ModelLimits& limits_;
  std::vector<Warning>& warnings_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;
  std::set<std::string> unknown_keys_;
};

}  // namespace

std::string canonical_tensor_name(std::string_view name) {
  constexpr std::string_view nested = "model.language_model.";
  if (name == "model.lm_head.weight") return "lm_head.weight";
  if (name.starts_with(nested)) return "model." + std::string(name.substr(nested.size()));
  return std::string(name);
}

std::vector<ModelTensor> read_tensor_index(std::string_view text, TomlSource source, const TensorIndexOptions& options,
                                           const ModelLimits& limits, std::vector<Warning>& warnings) {
  return IndexReader(text, std::move(source), options, limits, warnings).read();
}

std::string tensor_index_entry(const ModelTensor& tensor) {
  return fmt::format("[{}]\nshape = {}\nencoding = \"{}\"\noffset = {}\nsize = {}\n", toml_quoted(tensor.name),
                     dims_text(tensor.dims), model_encoding_name(tensor.dtype), tensor.offset, tensor.bytes);
}

}  // namespace weft
