// Builds small GGUF files in memory for tests: well-formed ones by default, and wrong ones where a test asks for it
// through the public fields and the raw functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/block_codec.h"
#include "weft/base/dtype.h"
#include "weft/formats/gguf_types.h"

namespace weft::testing {

class GgufBuilder {
 public:
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;  // of the data; set("general.alignment", ...) to say so in the file as well
  std::int64_t extra_tensors = 0, extra_entries = 0;  // added to the counts of the header

  template <class T>
  static std::string bytes_of(T value) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
  }
  static std::string text_of(std::string_view text) { return bytes_of<std::uint64_t>(text.size()) + std::string(text); }

  // An entry with its value's bytes as they shall stand in the file.
  GgufBuilder& raw(std::string_view key, std::uint32_t type, std::string_view value) {
    metadata_ += text_of(key) + bytes_of(type);
    metadata_ += value;
    ++entries_;
    return *this;
  }
  GgufBuilder& set(std::string_view key, std::uint8_t value) { return number(key, GgufType::u8, value); }
  GgufBuilder& set(std::string_view key, std::int8_t value) { return number(key, GgufType::i8, value); }
  GgufBuilder& set(std::string_view key, std::uint16_t value) { return number(key, GgufType::u16, value); }
  GgufBuilder& set(std::string_view key, std::int16_t value) { return number(key, GgufType::i16, value); }
  GgufBuilder& set(std::string_view key, std::uint32_t value) { return number(key, GgufType::u32, value); }
  GgufBuilder& set(std::string_view key, std::int32_t value) { return number(key, GgufType::i32, value); }
  GgufBuilder& set(std::string_view key, std::uint64_t value) { return number(key, GgufType::u64, value); }
  GgufBuilder& set(std::string_view key, std::int64_t value) { return number(key, GgufType::i64, value); }
  GgufBuilder& set(std::string_view key, float value) { return number(key, GgufType::f32, value); }
  GgufBuilder& set(std::string_view key, double value) { return number(key, GgufType::f64, value); }
  GgufBuilder& set(std::string_view key, bool value) { return number(key, GgufType::boolean, value); }
  GgufBuilder& set(std::string_view key, const char* value) { return raw(key, 8, text_of(value)); }
  GgufBuilder& set(std::string_view key, std::string_view value) { return raw(key, 8, text_of(value)); }
  GgufBuilder& set(std::string_view key, const std::vector<std::string>& values) {
    return raw(key, 9, array_of(values));
  }
  GgufBuilder& set(std::string_view key, const std::vector<float>& values) {
    return raw(key, 9, array_of(GgufType::f32, values));
  }
  GgufBuilder& set(std::string_view key, const std::vector<std::int32_t>& values) {
    return raw(key, 9, array_of(GgufType::i32, values));
  }
  // What follows the type id 9: element type, count, elements.
  static std::string array_of(const std::vector<std::string>& values) {
    std::string bytes = bytes_of<std::uint32_t>(8) + bytes_of<std::uint64_t>(values.size());
    for (const std::string& value : values) bytes += text_of(value);
    return bytes;
  }
  template <class T>
  static std::string array_of(GgufType type, const std::vector<T>& values) {
    std::string bytes = bytes_of(static_cast<std::uint32_t>(type)) + bytes_of<std::uint64_t>(values.size());
    for (const T& value : values) bytes += bytes_of(value);
    return bytes;
  }

  // dims are row-major; the values are encoded as `dtype`.
  GgufBuilder& tensor(std::string_view name, const std::vector<std::int64_t>& dims, const std::vector<float>& values,
                      DType dtype = DType::f32) {
    std::string data(byte_size(dtype, dims), '\0');
    encode_from_f32(dtype, values, std::as_writable_bytes(std::span(data)));
    return tensor_bytes(name, dims, ggml_id_from_dtype(dtype).value(), data);
  }
  GgufBuilder& tensor_bytes(std::string_view name, const std::vector<std::int64_t>& dims, std::uint32_t type,
                            std::string_view data) {
    describe(name, dims, type, data_.size());
    data_ += data;
    data_.append((alignment - data_.size() % alignment) % alignment, '\0');
    return *this;
  }
  // Only the description; the data is wherever the test says.
  GgufBuilder& describe(std::string_view name, const std::vector<std::int64_t>& dims, std::uint32_t type,
                        std::uint64_t offset) {
    descriptions_ += text_of(name) + bytes_of(static_cast<std::uint32_t>(dims.size()));
    for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) descriptions_ += bytes_of(*dim);
    descriptions_ += bytes_of(type) + bytes_of(offset);
    ++tensors_;
    return *this;
  }

  std::string header() const {
    return "GGUF" + bytes_of(version) + bytes_of(tensors_ + extra_tensors) + bytes_of(entries_ + extra_entries) +
           metadata_ + descriptions_;
  }
  std::string build() const {
    std::string file = header();
    file.append((alignment - file.size() % alignment) % alignment, '\0');
    return file + data_;
  }
  void write(const std::filesystem::path& path) const { write_file(path, build()); }

  static void write_file(const std::filesystem::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  template <class T>
  GgufBuilder& number(std::string_view key, GgufType type, T value) {
    return raw(key, static_cast<std::uint32_t>(type), bytes_of(value));
  }

  std::int64_t tensors_ = 0, entries_ = 0;
  std::string metadata_, descriptions_, data_;
};

}  // namespace weft::testing
