#include "weft/base/byte_reader.h"

#include <utility>

#include "weft/base/fail.h"

namespace weft {

ByteReader::ByteReader(std::span<const std::byte> bytes, std::string source, std::uint64_t base)
    : bytes_(bytes), source_(std::move(source)), base_(base) {}

std::string ByteReader::where() const { return where(offset()); }

std::string ByteReader::where(std::uint64_t offset) const { return fmt::format("{}@{:#x}", source_, offset); }

std::span<const std::byte> ByteReader::take(std::uint64_t count, std::string_view what) {
  if (count > remaining())
    fail(ErrorKind::bad_file, "Truncated", where(), "{} needs {} bytes but only {} are left", what, count, remaining());
  const auto taken = bytes_.subspan(at_, count);
  at_ += count;
  return taken;
}

std::string_view ByteReader::text(std::uint64_t length, std::string_view what) {
  const auto bytes = take(length, what);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ByteReader::expect_items(std::uint64_t count, std::uint64_t min_item_bytes, std::string_view what) const {
  if (count > remaining() / min_item_bytes)
    fail(ErrorKind::bad_file, "Truncated", where(), "{} {} need at least {} bytes each but only {} bytes are left",
         count, what, min_item_bytes, remaining());
}

}  // namespace weft
