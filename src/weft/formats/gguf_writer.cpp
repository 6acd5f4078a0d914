#include "weft/formats/gguf_writer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "weft/base/atomic_file.h"
#include "weft/base/fail.h"
#include "weft/base/utf8.h"
#include "weft/formats/gguf_file.h"

namespace weft {
namespace {

constexpr std::uint64_t default_alignment = 32, largest_alignment = std::uint64_t{1} << 30;
constexpr std::size_t most_dims = 4;  // of ggml's tensors
constexpr std::string_view alignment_key = "general.alignment";

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void append_text(std::string& out, std::string_view text) {
  append(out, static_cast<std::uint64_t>(text.size()));
  out += text;
}

void append_type(std::string& out, GgufType type) { append(out, static_cast<std::uint32_t>(type)); }

std::uint64_t aligned(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) & ~(alignment - 1);
}

std::string place_of(std::string_view key) { return fmt::format("metadata key \"{}\"", key); }

[[noreturn]] void refuse_value(std::string_view key, GgufType type, std::string_view why) {
  fail(ErrorKind::invalid_argument, "InvalidField", place_of(key), "the value is no {}: {}", to_string(type), why);
}

template <class T>
void append_integer(std::string& out, std::string_view key, const GgufValue& value) {
  const auto put = [&](auto number) {
    if (!std::in_range<T>(number)) refuse_value(key, value.type, fmt::format("{} is out of range", number));
    append(out, static_cast<T>(number));
  };
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) return put(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&value.value)) return put(*number);
  refuse_value(key, value.type, "it holds no integer");
}

void append_array(std::string& out, std::string_view key, const GgufArray& array) {
  append_type(out, array.type);
  append(out, array.count);
  const std::uint64_t width = gguf_type_size(array.type);
  const std::uint64_t held = array.type == GgufType::string  ? array.strings.size()
                             : array.type == GgufType::array ? array.arrays.size()
                                                             : array.numbers.size() / width;
  if (held != array.count || (width != 0 && array.numbers.size() % width != 0))
    refuse_value(key, GgufType::array, fmt::format("{} elements are stated, {} are there", array.count, held));
  for (const std::string_view text : array.strings) append_text(out, text);
  for (const GgufArray& inner : array.arrays) append_array(out, key, inner);
  out.append(reinterpret_cast<const char*>(array.numbers.data()), array.numbers.size());
}

// The value as it follows its key in the file.
std::string value_bytes(std::string_view key, const GgufValue& value) {
  std::string out;
  append_type(out, value.type);
  const auto held = [&]<class T>(std::type_identity<T>) -> const T& {
    const T* found = std::get_if<T>(&value.value);
    if (found == nullptr) refuse_value(key, value.type, "it holds another type");
    return *found;
  };
  switch (value.type) {
    case GgufType::u8: append_integer<std::uint8_t>(out, key, value); break;
    case GgufType::i8: append_integer<std::int8_t>(out, key, value); break;
    case GgufType::u16: append_integer<std::uint16_t>(out, key, value); break;
    case GgufType::i16: append_integer<std::int16_t>(out, key, value); break;
    case GgufType::u32: append_integer<std::uint32_t>(out, key, value); break;
    case GgufType::i32: append_integer<std::int32_t>(out, key, value); break;
    case GgufType::u64: append_integer<std::uint64_t>(out, key, value); break;
    case GgufType::i64: append_integer<std::int64_t>(out, key, value); break;
    case GgufType::f32: append(out, static_cast<float>(held(std::type_identity<double>{}))); break;
    case GgufType::f64: append(out, held(std::type_identity<double>{})); break;
    case GgufType::boolean: append(out, static_cast<std::uint8_t>(held(std::type_identity<bool>{}))); break;
    case GgufType::string: append_text(out, held(std::type_identity<std::string_view>{})); break;
    case GgufType::array: append_array(out, key, held(std::type_identity<GgufArray>{})); break;
  }
  return out;
}

void expect_name(std::string_view name, std::string_view what) {
  const GgufLimits limits;
  const std::string where = fmt::format("{} \"{}\"", what, name.substr(0, 80));
  if (name.empty() || name.size() > limits.name_bytes)
    fail(ErrorKind::invalid_argument, "InvalidField", where, "a name is 1 to {} bytes of UTF-8", limits.name_bytes);
  if (find_invalid_utf8(name)) fail(ErrorKind::invalid_argument, "NotUtf8", where, "the name is not valid UTF-8");
}

}  // namespace

GgufWriter::GgufWriter(std::uint64_t alignment) : alignment_(alignment) {
  if (!std::has_single_bit(alignment) || alignment < 8 || alignment > largest_alignment)
    fail(ErrorKind::invalid_argument, "InvalidField", "alignment", "{} is no power of two from 8 to {}", alignment,
         largest_alignment);
  if (alignment != default_alignment) {
    std::string value;
    append_type(value, GgufType::u32);
    append(value, static_cast<std::uint32_t>(alignment));
    entries_.push_back({std::string(alignment_key), std::move(value)});
  }
}

void GgufWriter::put(std::string_view key, std::string value) {
  expect_name(key, "metadata key");
  if (key == alignment_key)
    fail(ErrorKind::invalid_argument, "InvalidField", place_of(key), "the alignment is given when a writer is made");
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
  if (found == entries_.end())
    entries_.push_back({std::string(key), std::move(value)});
  else
    found->value = std::move(value);
}

void GgufWriter::set(std::string_view key, const GgufValue& value) { put(key, value_bytes(key, value)); }

void GgufWriter::set_u32(std::string_view key, std::uint32_t value) {
  set(key, {GgufType::u32, static_cast<std::uint64_t>(value)});
}
void GgufWriter::set_i32(std::string_view key, std::int32_t value) {
  set(key, {GgufType::i32, static_cast<std::int64_t>(value)});
}
void GgufWriter::set_f32(std::string_view key, float value) { set(key, {GgufType::f32, static_cast<double>(value)}); }
void GgufWriter::set_bool(std::string_view key, bool value) { set(key, {GgufType::boolean, value}); }
void GgufWriter::set_string(std::string_view key, std::string_view value) { set(key, {GgufType::string, value}); }

void GgufWriter::set_strings(std::string_view key, std::span<const std::string> values) {
  GgufArray array;
  array.type = GgufType::string;
  array.count = values.size();
  array.strings.assign(values.begin(), values.end());
  set(key, {GgufType::array, std::move(array)});
}

void GgufWriter::set_i32s(std::string_view key, std::span<const std::int32_t> values) {
  GgufArray array;
  array.type = GgufType::i32;
  array.count = values.size();
  array.numbers = std::as_bytes(values);
  set(key, {GgufType::array, std::move(array)});
}

void GgufWriter::set_f32s(std::string_view key, std::span<const float> values) {
  GgufArray array;
  array.type = GgufType::f32;
  array.count = values.size();
  array.numbers = std::as_bytes(values);
  set(key, {GgufType::array, std::move(array)});
}

bool GgufWriter::has(std::string_view key) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
}

void GgufWriter::add_tensor(std::string name, DType dtype, std::vector<std::int64_t> dims, Producer producer) {
  expect_name(name, "tensor");
  const std::string where = fmt::format("tensor \"{}\"", name);
  const auto type = ggml_id_from_dtype(dtype);
  if (!type)
    fail(ErrorKind::not_representable, "NotRepresentable", where, "GGUF has no type for {} values", to_string(dtype));
  if (dims.size() > most_dims || std::any_of(dims.begin(), dims.end(), [](std::int64_t dim) { return dim < 1; }))
    fail(ErrorKind::invalid_argument, "BadTensorShape", where, "{}: at most {} dimensions, each of 1 and more",
         dims_text(dims), most_dims);
  if (std::any_of(tensors_.begin(), tensors_.end(), [&](const Description& tensor) { return tensor.name == name; }))
    fail(ErrorKind::invalid_argument, "DuplicateTensor", where, "the tensor is added twice");
  Description tensor;
  tensor.bytes = byte_size(dtype, dims);
  tensor.name = std::move(name);
  tensor.type = *type;
  tensor.dims = std::move(dims);
  tensor.offset = data_bytes_;
  tensor.producer = std::move(producer);
  data_bytes_ = aligned(data_bytes_ + tensor.bytes, alignment_);
  tensors_.push_back(std::move(tensor));
}

void GgufWriter::add_tensor(std::string name, Tensor tensor) {
  const DType dtype = tensor.dtype();
  std::vector<std::int64_t> dims = tensor.dims();
  add_tensor(std::move(name), dtype, std::move(dims), [held = std::move(tensor)](Sink sink) { sink(held.bytes()); });
}

std::string GgufWriter::header() const {
  std::string out = "GGUF";
  append(out, std::uint32_t{3});
  append(out, static_cast<std::uint64_t>(tensors_.size()));
  append(out, static_cast<std::uint64_t>(entries_.size()));
  for (const Entry& entry : entries_) {
    append_text(out, entry.key);
    out += entry.value;
  }
  for (const Description& tensor : tensors_) {
    append_text(out, tensor.name);
    append(out, static_cast<std::uint32_t>(tensor.dims.size()));
    for (auto dim = tensor.dims.rbegin(); dim != tensor.dims.rend(); ++dim) append(out, *dim);
    append(out, tensor.type);
    append(out, tensor.offset);
  }
  return out;
}

void GgufWriter::write(const std::filesystem::path& path) const {
  AtomicFile file(path);
  const auto pad = [&] {
    static constexpr std::array<std::byte, 4096> zeros{};
    for (std::uint64_t left = aligned(file.size(), alignment_) - file.size(); left > 0;) {
      const std::uint64_t count = std::min<std::uint64_t>(left, zeros.size());
      file.write(std::span(zeros).first(count));
      left -= count;
    }
  };
  file.write(header());
  pad();
  for (const Description& tensor : tensors_) {
    std::uint64_t written = 0;
    tensor.producer([&](std::span<const std::byte> bytes) {
      written += bytes.size();
      if (written <= tensor.bytes) file.write(bytes);
    });
    if (written != tensor.bytes)
      fail(ErrorKind::invalid_argument, "TensorSizeMismatch", fmt::format("tensor \"{}\"", tensor.name),
           "{} bytes were announced, {} are given", tensor.bytes, written);
    pad();
  }
  file.commit();
}

}  // namespace weft
