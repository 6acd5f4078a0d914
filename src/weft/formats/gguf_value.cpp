#include "weft/formats/gguf_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/base/utf8.h"

namespace weft {
namespace {

template <class Stored, class Kept>
GgufValue number(GgufType type, std::span<const std::byte> bytes) {
  Stored stored;
  std::memcpy(&stored, bytes.data(), sizeof(stored));
  return {type, static_cast<Kept>(stored)};
}

std::string quoted(std::string_view text, std::size_t max_bytes) {
  std::string_view shown = text.substr(0, max_bytes);
  shown = shown.substr(0, complete_utf8_prefix(shown));
  const bool valid = !find_invalid_utf8(shown);
  std::string out = "\"";
  for (const char c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !valid))
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  out += '"';
  if (shown.size() < text.size()) out += fmt::format("… ({} bytes)", text.size());
  return out;
}

}  // namespace

GgufValue gguf_number(GgufType type, std::span<const std::byte> bytes) {
  switch (type) {
    case GgufType::u8: return number<std::uint8_t, std::uint64_t>(type, bytes);
    case GgufType::i8: return number<std::int8_t, std::int64_t>(type, bytes);
    case GgufType::u16: return number<std::uint16_t, std::uint64_t>(type, bytes);
    case GgufType::i16: return number<std::int16_t, std::int64_t>(type, bytes);
    case GgufType::u32: return number<std::uint32_t, std::uint64_t>(type, bytes);
    case GgufType::i32: return number<std::int32_t, std::int64_t>(type, bytes);
    case GgufType::u64: return number<std::uint64_t, std::uint64_t>(type, bytes);
    case GgufType::i64: return number<std::int64_t, std::int64_t>(type, bytes);
    case GgufType::f32: return number<float, double>(type, bytes);
    case GgufType::f64: return number<double, double>(type, bytes);
    case GgufType::boolean: return {type, bytes[0] != std::byte{0}};
    case GgufType::string:
    case GgufType::array: break;
  }
  return {};
}

GgufValue gguf_number(const GgufArray& array, std::uint64_t index) {
  const std::size_t size = gguf_type_size(array.type);
  return gguf_number(array.type, array.numbers.subspan(index * size, size));
}

std::string gguf_text(const GgufArray& array, std::size_t max_items, std::size_t max_bytes) {
  std::string out = "[";
  const std::size_t shown = std::min<std::size_t>(array.count, max_items);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) out += ", ";
    if (array.type == GgufType::string)
      out += quoted(array.strings[i], max_bytes);
    else if (array.type == GgufType::array)
      out += gguf_text(array.arrays[i], max_items, max_bytes);
    else
      out += gguf_text(gguf_number(array, i), max_items, max_bytes);
  }
  if (shown < array.count) out += fmt::format("{}… ({} values)", shown > 0 ? ", " : "", array.count);
  return out + "]";
}

std::string gguf_text(const GgufValue& value, std::size_t max_items, std::size_t max_bytes) {
  switch (value.value.index()) {
    case 0: return fmt::format("{}", std::get<std::int64_t>(value.value));
    case 1: return fmt::format("{}", std::get<std::uint64_t>(value.value));
    case 2:
      return value.type == GgufType::f32 ? fmt::format("{}", static_cast<float>(std::get<double>(value.value)))
                                         : fmt::format("{}", std::get<double>(value.value));
    case 3: return std::get<bool>(value.value) ? "true" : "false";
    case 4: return quoted(std::get<std::string_view>(value.value), max_bytes);
    default: return gguf_text(std::get<GgufArray>(value.value), max_items, max_bytes);
  }
}

std::string gguf_type_text(const GgufValue& value) {
  if (const auto* array = std::get_if<GgufArray>(&value.value))
    return fmt::format("array of {}", to_string(array->type));
  return std::string(to_string(value.type));
}

}  // namespace weft
