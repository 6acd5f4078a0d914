// Little-endian reading of a byte range that can never run past its end: each read checks what is left first.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "weft/base/export.h"

namespace weft {

static_assert(std::endian::native == std::endian::little,
              "weft reads files in place and expects a little-endian machine");

class WEFT_API ByteReader {
 public:
  // `source` names the bytes in messages ("model.gguf"); `base` is the offset of bytes[0] within it.
  ByteReader(std::span<const std::byte> bytes, std::string source, std::uint64_t base = 0);

  std::uint64_t offset() const { return base_ + at_; }  // within the source
  std::size_t remaining() const { return bytes_.size() - at_; }
  bool done() const { return at_ == bytes_.size(); }
  const std::string& source() const { return source_; }
  std::string where() const;  // "model.gguf@0x1a40"
  std::string where(std::uint64_t offset) const;

  template <class T>
  requires std::is_trivially_copyable_v<T> T read(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }
  // A view into the underlying bytes; Truncated when fewer are left.
  std::span<const std::byte> take(std::uint64_t count, std::string_view what);
  void skip(std::uint64_t count, std::string_view what) { take(count, what); }
  std::string_view text(std::uint64_t length, std::string_view what);
  // Checks an item count from the file against the bytes left before anything is allocated for it.
  void expect_items(std::uint64_t count, std::uint64_t min_item_bytes, std::string_view what) const;

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::string source_;
  std::uint64_t base_;
};

}  // namespace weft
