#include "weft/formats/npz.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>

#include "temporary_directory.h"
#include "weft/base/error.h"
#include "weft/formats/npy.h"

namespace weft {
namespace {

std::string little(std::uint64_t value, unsigned bytes) {
  std::string text;
  for (unsigned i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xFF);
  return text;
}

std::string deflate_raw(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct Zip {
  std::string members, directory;
  unsigned count = 0;

  void add(const std::string& name, std::string_view content, unsigned method, unsigned flags = 0) {
    const std::string packed = method == 8 ? deflate_raw(content) : std::string(content);
    const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
    const std::string common = little(flags, 2) + little(method, 2) + little(0, 4) + little(crc, 4) +
                               little(packed.size(), 4) + little(content.size(), 4) + little(name.size(), 2) +
                               little(0, 2);
    directory += little(0x02014b50, 4) + little(20, 2) + little(20, 2) + common + little(0, 10) +
                 little(members.size(), 4) + name;
    members += little(0x04034b50, 4) + little(20, 2) + common + name + packed;
    ++count;
  }
  std::string bytes() const {
    return members + directory + little(0x06054b50, 4) + little(0, 4) + little(count, 2) + little(count, 2) +
           little(directory.size(), 4) + little(members.size(), 4) + little(0, 2);
  }
};

class NpzTest : public ::testing::Test {
 protected:
  std::string npy(std::vector<float> values) const {
    const auto count = static_cast<std::int64_t>(values.size());
    const auto path = directory_ / "a.npy";
    write_npy(path, Tensor::from(std::span<const float>(values), {count}));
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::map<std::string, Tensor> read(std::string_view bytes) const {
    return read_npz(std::as_bytes(std::span(bytes)), "w.npz");
  }
  std::string code_of(std::string_view bytes) const {
    try {
      read(bytes);
      return "";
    } catch (const Error& error) {
      return error.code();
    }
  }
  std::string one(unsigned method, unsigned flags = 0) const {
    Zip zip;
    zip.add("a.npy", npy({1, 2, 3}), method, flags);
    return zip.bytes();
  }
  testing::TemporaryDirectory directory_;
};

TEST_F(NpzTest, StoredAndDeflatedArrays) {
  Zip zip;
  zip.add("stored.npy", npy({1, 2}), 0);
  zip.add("layers.0.weight.npy", npy(std::vector<float>(1000, 4)), 8);
  const auto arrays = read(zip.bytes());
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays.at("stored").values<float>()[1], 2);
  EXPECT_EQ(arrays.at("layers.0.weight").values<float>()[999], 4);
  EXPECT_EQ(read(zip.bytes() + "").size(), 2u);
  EXPECT_TRUE(read(Zip().bytes()).empty());
}

TEST_F(NpzTest, CutAnywhereIsAnErrorAndAnyByteMayBeWrong) {
  for (const unsigned method : {0u, 8u}) {
    const std::string file = one(method);
    for (std::size_t size = 0; size < file.size(); ++size) EXPECT_NE(code_of(file.substr(0, size)), "") << size;
    for (std::size_t i = 0; i < file.size(); ++i)
      for (const char flip : {'\x01', '\x80'}) {
        std::string changed = file;
        changed[i] = static_cast<char>(changed[i] ^ flip);
        code_of(changed);  // an Error or arrays; anything else ends the test
      }
  }
}

TEST_F(NpzTest, WrongArchivesAreRefused) {
  EXPECT_EQ(code_of(""), "NotNpz");
  EXPECT_EQ(code_of(npy({1})), "NotNpz");
  EXPECT_EQ(code_of(one(12)), "UnsupportedArchive");
  EXPECT_EQ(code_of(one(0, 1)), "UnsupportedArchive");
  std::string changed = one(0);
  changed[changed.find("PK\x01\x02") - 1] ^= 1;  // the last byte of the array
  EXPECT_EQ(code_of(changed), "ChecksumMismatch");
  changed = one(8);
  changed.replace(changed.find("PK\x01\x02") + 24, 4, little(0x40000000, 4));  // a member of 1 GiB
  EXPECT_EQ(code_of(changed), "BadArchive");
  changed.replace(changed.find("PK\x01\x02") + 24, 4, little(0xFFFFFFFF, 4));  // and no zip64 field
  EXPECT_EQ(code_of(changed), "BadArchive");
  Zip twice;
  twice.add("a.npy", npy({1}), 0);
  twice.add("a.npy", npy({1}), 0);
  EXPECT_EQ(code_of(twice.bytes()), "DuplicateTensor");
  Zip other;
  other.add("note.txt", "hello", 0);
  EXPECT_EQ(code_of(other.bytes()), "NotNpy");
}

std::string content_of(const std::string& name) {
  std::ifstream in(WEFT_SOURCE_DIR "/tests/data/npz/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(NpzTest, ArchivesOfNumpyInEitherOrder) {
  for (const char* file : {"stored.npz", "deflated.npz", "zip64.npz"}) {
    const auto arrays = read(content_of(file));
    ASSERT_EQ(arrays.size(), 14u) << file;
    for (const auto& [name, tensor] : arrays) {
      const auto turned = arrays.find(name + "_fortran");
      if (turned == arrays.end()) continue;
      EXPECT_EQ(turned->second.dims(), tensor.dims()) << file << " " << name;
      EXPECT_EQ(turned->second.dtype(), tensor.dtype()) << file << " " << name;
      EXPECT_TRUE(std::ranges::equal(turned->second.bytes(), tensor.bytes())) << file << " " << name;
    }
    const auto cube = arrays.at("cube_fortran").values<std::int16_t>();
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(cube[i], static_cast<std::int16_t>(i)) << file;
  }
}

TEST_F(NpzTest, DamagedZip64ArchivesAreErrors) {
  const std::string good = content_of("zip64.npz");
  ASSERT_EQ(code_of(good), "");
  for (std::size_t size = 0; size < good.size(); size += 1 + size / 64) EXPECT_NE(code_of(good.substr(0, size)), "");
  for (std::size_t i = 0; i < good.size(); i += i < good.size() - 300 ? 7 : 1) {
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 0x40);
    code_of(changed);  // an Error or arrays; anything else ends the test
  }
  const auto with = [&](std::size_t at, std::uint64_t value, unsigned bytes) {
    std::string changed = good;
    return code_of(changed.replace(at, bytes, little(value, bytes)));
  };
  const std::size_t record = good.rfind("PK\x06\x06"), locator = good.rfind("PK\x06\x07");
  EXPECT_EQ(with(record + 32, std::uint64_t{1} << 60, 8), "Truncated");   // members
  EXPECT_EQ(with(record + 40, ~std::uint64_t{0}, 8), "BadArchive");       // the directory's size
  EXPECT_EQ(with(record + 48, std::uint64_t{1} << 63, 8), "BadArchive");  // and its place
  EXPECT_EQ(with(locator + 8, ~std::uint64_t{0}, 8), "BadArchive");       // the record's place
  EXPECT_EQ(with(locator + 8, 1, 8), "BadArchive");
  EXPECT_EQ(with(locator, 0, 4), "BadArchive");
  const std::size_t field = good.find(std::string_view("\x01\x00\x18\x00", 4), good.find("PK\x01\x02"));
  ASSERT_NE(field, std::string::npos);
  EXPECT_EQ(with(field + 4, std::uint64_t{1} << 50, 8), "BadArchive");   // a member's size
  EXPECT_EQ(with(field + 12, std::uint64_t{1} << 50, 8), "Truncated");   // its packed bytes
  EXPECT_EQ(with(field + 20, std::uint64_t{1} << 50, 8), "BadArchive");  // its place
  EXPECT_EQ(with(field, 2, 2), "BadArchive");
}

}  // namespace
}  // namespace weft
