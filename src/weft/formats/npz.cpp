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
constexpr std::uint32_t wide_end_signature = 0x06064b50, locator_signature = 0x07064b50;  // of zip64
constexpr std::size_t local_bytes = 30, directory_bytes = 46, end_bytes = 22, locator_bytes = 20;
constexpr std::uint16_t wide_field = 1;  // the extra field with zip64's sizes
constexpr std::uint32_t elsewhere =
    std::numeric_limits<std::uint32_t>::max();  // for a number that zip64 has in 64 bits
constexpr std::uint16_t stored = 0, deflated = 8;
constexpr std::uint64_t most_expansion = 1032;  // what deflate reaches on zeros

struct Member {
  std::string name;
  std::uint16_t flags = 0, method = 0;
  std::uint32_t checksum = 0;
  std::uint64_t packed = 0, size = 0, offset = 0;
};

struct Directory {
  std::uint64_t count = 0, size = 0, offset = 0;
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

// Where the end record has no room for a number, zip64 has a second one, and in front of the first what tells its
// place.
Directory find_directory(std::span<const std::byte> bytes, const std::string& source) {
  const std::size_t end = find_end(bytes, source);
  ByteReader last(bytes.subspan(end), source, end);
  last.skip(10, "the end record");
  Directory directory;
  directory.count = last.read<std::uint16_t>("the number of members");
  directory.size = last.read<std::uint32_t>("the directory's size");
  directory.offset = last.read<std::uint32_t>("the directory's offset");
  const bool wide = directory.count == 0xFFFF || directory.size == elsewhere || directory.offset == elsewhere;
  if (wide && end >= locator_bytes) {
    ByteReader locator(bytes.subspan(end - locator_bytes, locator_bytes), source, end - locator_bytes);
    if (locator.read<std::uint32_t>("a signature") == locator_signature) {
      locator.skip(4, "a disk");
      const auto at = locator.read<std::uint64_t>("the place of the zip64 end record");
      if (at > end)
        fail(ErrorKind::bad_file, "BadArchive", locator.where(), "its zip64 end record at {:#x} is beyond the file",
             at);
      ByteReader record(bytes.subspan(at, end - at), source, at);
      if (record.read<std::uint32_t>("a signature") != wide_end_signature)
        fail(ErrorKind::bad_file, "BadArchive", record.where(at), "no zip64 end record begins here");
      record.skip(28, "the zip64 end record");
      directory.count = record.read<std::uint64_t>("the number of members");
      directory.size = record.read<std::uint64_t>("the directory's size");
      directory.offset = record.read<std::uint64_t>("the directory's offset");
    }
  }
  if (directory.offset > end || directory.size > end - directory.offset)
    fail(ErrorKind::bad_file, "BadArchive", last.where(end), "the directory of {} bytes at {:#x} runs past its end",
         directory.size, directory.offset);
  return directory;
}

// Takes the numbers that a member's entry has no room for out of its extra fields.
void read_wide_sizes(std::span<const std::byte> extra, Member& member, const std::string& where,
                     const std::string& source) {
  if (member.size != elsewhere && member.packed != elsewhere && member.offset != elsewhere) return;
  ByteReader reader(extra, source);
  while (reader.remaining() > 0) {
    const auto id = reader.read<std::uint16_t>("an extra field");
    const auto bytes = reader.take(reader.read<std::uint16_t>("an extra field's length"), "an extra field");
    if (id != wide_field) continue;
    ByteReader field(bytes, source);
    for (std::uint64_t* number : {&member.size, &member.packed, &member.offset})
      if (*number == elsewhere) *number = field.read<std::uint64_t>("a zip64 size");
    return;
  }
  fail(ErrorKind::bad_file, "BadArchive", where, "the entry of \"{}\" leaves its sizes to zip64 and has none there",
       member.name);
}

std::vector<Member> read_directory(std::span<const std::byte> bytes, const std::string& source) {
  const auto [count, size, offset] = find_directory(bytes, source);
  ByteReader reader(bytes.subspan(offset, size), source, offset);
  reader.expect_items(count, directory_bytes, "members");
  std::vector<Member> members;
  for (std::uint64_t i = 0; i < count; ++i) {
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
    read_wide_sizes(reader.take(extra_bytes, "extra fields"), member, where, source);
    reader.skip(comment_bytes, "a comment");
    members.push_back(std::move(member));
  }
  return members;
}

std::span<const std::byte> packed_bytes(std::span<const std::byte> bytes, const Member& member,
                                        const std::string& where, const std::string& source) {
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

std::vector<std::byte> inflated(std::span<const std::byte> packed, std::uint64_t size, const std::string& where) {
  if (size / most_expansion > packed.size())
    fail(ErrorKind::bad_file, "BadArchive", where, "{} packed bytes cannot hold {}", packed.size(), size);
  std::vector<std::byte> bytes(size);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  // zlib counts in 32 bits.
  constexpr std::size_t most = std::numeric_limits<uInt>::max();
  std::size_t taken = 0, made = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    const std::size_t given = std::min(most, packed.size() - taken), room = std::min(most, bytes.size() - made);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + taken));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + made);
    stream.avail_out = static_cast<uInt>(room);
    state = inflate(&stream, Z_NO_FLUSH);
    taken += given - stream.avail_in;
    made += room - stream.avail_out;
  }
  if (state != Z_STREAM_END || made != size)
    fail(ErrorKind::bad_file, "BadArchive", where, "its deflated bytes are damaged: {} of {} bytes came out", made,
         size);
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
  const uLong checksum = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
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
