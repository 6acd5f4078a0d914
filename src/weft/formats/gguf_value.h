// Metadata values of a GGUF file. Strings and numbers of arrays are views into the mapped file, so a value must not
// outlive the GgufFile that it came from. Immutable; safe to read from many threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/base/export.h"
#include "weft/formats/gguf_types.h"

namespace weft {

struct GgufArray {
  GgufType type = GgufType::u8;  // of the elements
  std::uint64_t count = 0;
  std::span<const std::byte> numbers;     // `count` unaligned little-endian values, when `type` is a number or bool
  std::vector<std::string_view> strings;  // when it is string
  std::vector<GgufArray> arrays;          // when it is array
};

struct GgufValue {
  GgufType type = GgufType::u8;
  // Signed integers, unsigned integers, floats, bool, string, array.
  std::variant<std::int64_t, std::uint64_t, double, bool, std::string_view, GgufArray> value;
};

struct GgufEntry {
  std::string_view key;
  GgufValue value;
  std::uint64_t offset = 0;  // of the key in its file
};

// A value for people: strings quoted and escaped, at most `max_items` elements of an array and `max_bytes` of a string.
WEFT_API std::string gguf_text(const GgufValue& value, std::size_t max_items = 8, std::size_t max_bytes = 200);
WEFT_API std::string gguf_text(const GgufArray& array, std::size_t max_items = 8, std::size_t max_bytes = 200);
// What a value is, for messages: "u32", "array of string".
WEFT_API std::string gguf_type_text(const GgufValue& value);

// One number of bytes laid out as `type`, which is a number or bool. `bytes` holds gguf_type_size(type) bytes.
WEFT_API GgufValue gguf_number(GgufType type, std::span<const std::byte> bytes);
// Element `index` of an array of numbers or bools.
WEFT_API GgufValue gguf_number(const GgufArray& array, std::uint64_t index);

}  // namespace weft
