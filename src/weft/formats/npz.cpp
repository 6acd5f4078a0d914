#include "weft/formats/npz.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/byte_reader.h"
#include "weft/base/fail.h"
#include "weft/base/mapped_file.h"
#include "weft/formats/npy.h"

namespace weft {
namespace {

constexpr std::uint32_t local_signature = 0x04034b50, directory_signature = 0x02014b50, end_signature = 0x06054b50;
constexpr std::size_t local_bytes = 30, directory_bytes = 46, end_bytes = 22;
constexpr std::uint16_t stored = 0, deflated = 8;
constexpr std::uint64_t most_expansion = 1032;  // what deflate reaches on zeros

struct Member {
  std::string name;
  std::uint16_t flags = 0, method = 0;
  std::uint32_t checksum = 0, packed = 0, size = 0, offset = 0;
};

// The last record of an archive, which a comment of up to 64 KiB may follow.
std::size_t find_end(std::span<const std::byte> bytes, const std::string& source) {
  const std::size_t lowest = bytes.size() > end_bytes + 0xFFFF ? bytes.size() - end_bytes - 0xFFFF : 0;
  for (std::size_t at = bytes.size() - std::min(bytes.size(), end_bytes) + 1; at-- > lowest;) {
    ByteReader reader(bytes.subspan(at), source, at);
    if (reader.remaining() >= end_bytes && reader.read<std::uint32_t>("a signature") == end_signature) return at;
  }
  fail(ErrorKind::bad_file, "NotNpz", source, "not a .npz file: it has no zip directory");
}

std::vector<Member> read_directory(std::span<const std::byte> bytes, const std::string& source) {
  const std::size_t end = find_end(bytes, source);
  ByteReader last(bytes.subspan(end), source, end);
  last.skip(10, "the end record");
  const auto count = last.read<std::uint16_t>("the number of members");
  const auto size = last.read<std::uint32_t>("the directory's size");
  const auto offset = last.read<std::uint32_t>("the directory's offset");
  constexpr auto elsewhere = std::numeric_limits<std::uint32_t>::max();
  if (count == 0xFFFF || size == elsewhere || offset == elsewhere)
    fail(ErrorKind::unsupported, "UnsupportedArchive", source,
         "a zip64 archive (4 GiB, or 65535 arrays, and more); write .safetensors instead");
  if (offset > end || size > end - offset)
    fail(ErrorKind::bad_file, "BadArchive", last.where(end), "the directory of {} bytes at {:#x} runs past its end",
         size, offset);
  ByteReader reader(bytes.subspan(offset, size), source, offset);
  reader.expect_items(count, directory_bytes, "members");
  std::vector<Member> members;
  for (unsigned i = 0; i < count; ++i) {
    const std::string where = reader.where();
    if (reader.read<std::uint32_t>("a member") != directory_signature)
      fail(ErrorKind::bad_file, "BadArchive", where, "no entry of the directory begins here");
    Member member;
    reader.skip(4, "versions");
    member.flags = reader.read<std::uint16_t>("flags");
    member.method = reader.read<std::uint16_t>("the method");
    reader.skip(4, "the time");
    member.checksum = reader.read<std::uint32_t>("the checksum");
    member.packed = reader.read<std::uint32_t>("the packed size");
    member.size = reader.read<std::uint32_t>("the size");
    const auto name_bytes = reader.read<std::uint16_t>("the name's length");
    const auto extra_bytes = reader.read<std::uint16_t>("the extra length");
    const auto comment_bytes = reader.read<std::uint16_t>("the comment's length");
    reader.skip(8, "attributes");
    member.offset = reader.read<std::uint32_t>("the offset");
    member.name = reader.text(name_bytes, "the name");
    reader.skip(std::uint64_t{extra_bytes} + comment_bytes, "extra fields");
    members.push_back(std::move(member));
  }
  return members;
}

std::span<const std::byte> packed_bytes(std::span<const std::byte> bytes, const Member& member,
                                        const std::string& where, const std::string& source) {
  constexpr auto elsewhere = std::numeric_limits<std::uint32_t>::max();
  if (member.packed == elsewhere || member.size == elsewhere || member.offset == elsewhere)
    fail(ErrorKind::unsupported, "UnsupportedArchive", where, "a member of 4 GiB or more; write .safetensors instead");
  if ((member.flags & 1) != 0) fail(ErrorKind::unsupported, "UnsupportedArchive", where, "the member is encrypted");
  if (member.offset > bytes.size())
    fail(ErrorKind::bad_file, "BadArchive", where, "its offset {:#x} is beyond the file", member.offset);
  ByteReader reader(bytes.subspan(member.offset), source, member.offset);
  if (reader.read<std::uint32_t>("a member") != local_signature)
    fail(ErrorKind::bad_file, "BadArchive", reader.where(member.offset), "no member begins here");
  reader.skip(local_bytes - 8, "the member's header");
  const auto name_bytes = reader.read<std::uint16_t>("the name's length");
  const auto extra_bytes = reader.read<std::uint16_t>("the extra length");
  reader.skip(std::uint64_t{name_bytes} + extra_bytes, "the name");
  return reader.take(member.packed, "the member");
}

std::vector<std::byte> inflated(std::span<const std::byte> packed, std::size_t size, const std::string& where) {
  if (size / most_expansion > packed.size())
    fail(ErrorKind::bad_file, "BadArchive", where, "{} packed bytes cannot hold {}", packed.size(), size);
  std::vector<std::byte> bytes(size);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(size);
  if (inflate(&stream, Z_FINISH) != Z_STREAM_END || stream.total_out != size)
    fail(ErrorKind::bad_file, "BadArchive", where, "its deflated bytes are damaged: {} of {} bytes came out",
         stream.total_out, size);
  return bytes;
}

Tensor array_of(std::span<const std::byte> bytes, const Member& member, const std::string& source) {
  const std::string where = fmt::format("{}, member \"{}\"", source, member.name);
  std::span<const std::byte> content = packed_bytes(bytes, member, where, source);
  std::vector<std::byte> unpacked;
  if (member.method == deflated)
    content = unpacked = inflated(content, member.size, where);
  else if (member.method != stored)
    fail(ErrorKind::unsupported, "UnsupportedArchive", where, "compression method {}; weft reads stored and deflated",
         member.method);
  else if (member.packed != member.size)
    fail(ErrorKind::bad_file, "BadArchive", where, "{} stored bytes are declared as {}", member.packed, member.size);
  const uLong checksum = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  if (checksum != member.checksum)
    fail(ErrorKind::bad_file, "ChecksumMismatch", where, "its CRC-32 is {:08x}, declared as {:08x}", checksum,
         member.checksum);
  return read_npy(content, where);
}

}  // namespace

std::map<std::string, Tensor> read_npz(const std::filesystem::path& path) {
  return read_npz(MappedFile::open(path)->bytes(), path.string());
}

std::map<std::string, Tensor> read_npz(std::span<const std::byte> bytes, const std::string& source) {
  std::map<std::string, Tensor> arrays;
  for (const Member& member : read_directory(bytes, source)) {
    std::string name = member.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    if (arrays.count(name) != 0)
      fail(ErrorKind::bad_file, "DuplicateTensor", source, "array \"{}\" occurs twice", name);
    arrays.emplace(std::move(name), array_of(bytes, member, source));
  }
  return arrays;
}

}  // namespace weft
