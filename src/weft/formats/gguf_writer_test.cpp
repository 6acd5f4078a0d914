#include "weft/formats/gguf_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gguf_builder.h"
#include "temporary_directory.h"
#include "weft/base/block_codec.h"
#include "weft/base/error.h"
#include "weft/formats/gguf_file.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using testing::GgufBuilder;
using testing::TemporaryDirectory;

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class Call>
std::string code_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

Tensor random_tensor(DType dtype, std::vector<std::int64_t> dims, unsigned seed) {
  Tensor tensor = Tensor::allocate(dtype, std::move(dims));
  std::vector<float> values(static_cast<std::size_t>(tensor.numel()));
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  for (float& x : values) x = normal(generator);
  encode_from_f32(dtype, values, tensor.mutable_bytes());
  return tensor;
}

TEST(GgufWriter, WritesTheBytesThatTheFormatAsksFor) {
  const TemporaryDirectory directory;
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  GgufWriter writer;
  writer.set_string("general.architecture", "llama");
  writer.set_u32("llama.block_count", 2);
  writer.set_strings("tokenizer.ggml.tokens", std::vector<std::string>{"a", "", "bc"});
  writer.set_f32s("scores", std::vector<float>{0.5f, -1});
  writer.add_tensor("x", Tensor::from(values, {2, 3}));
  writer.add_tensor("y", Tensor::from(values, {6}));
  writer.write(directory / "a.gguf");

  GgufBuilder builder;
  builder.set("general.architecture", "llama").set("llama.block_count", std::uint32_t{2});
  builder.set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "", "bc"});
  builder.set("scores", std::vector<float>{0.5f, -1});
  builder.tensor("x", {2, 3}, values).describe("y", {6}, 0, 32);
  std::string expected = builder.build();
  expected.append(reinterpret_cast<const char*>(values.data()), 24).append(8, '\0');
  EXPECT_EQ(read_all(directory / "a.gguf"), expected);
}

TEST(GgufWriter, EveryTypeOfMetadataComesBack) {
  const TemporaryDirectory directory;
  GgufWriter writer;
  writer.set("u8", {GgufType::u8, std::uint64_t{255}});
  writer.set("i8", {GgufType::i8, std::int64_t{-128}});
  writer.set("u16", {GgufType::u16, std::uint64_t{65535}});
  writer.set("i16", {GgufType::i16, std::int64_t{-32768}});
  writer.set_u32("u32", 4294967295u);
  writer.set_i32("i32", std::numeric_limits<std::int32_t>::min());
  writer.set("u64", {GgufType::u64, std::numeric_limits<std::uint64_t>::max()});
  writer.set("i64", {GgufType::i64, std::numeric_limits<std::int64_t>::min()});
  writer.set_f32("f32", 0.1f);
  writer.set("f64", {GgufType::f64, 0.1});
  writer.set_bool("yes", true);
  writer.set_bool("no", false);
  writer.set_string("text", std::string_view("zero \0 inside", 13));
  writer.set_i32s("ints", std::vector<std::int32_t>{1, -2, 3});
  writer.set_strings("none", std::vector<std::string>{});
  GgufArray inner;
  inner.type = GgufType::u16;
  inner.count = 2;
  const std::uint16_t numbers[] = {7, 65535};
  inner.numbers = std::as_bytes(std::span(numbers));
  GgufArray outer;
  outer.type = GgufType::array;
  outer.count = 2;
  outer.arrays = {inner, inner};
  writer.set("nested", {GgufType::array, outer});
  writer.set_u32("again", 1);
  writer.set_u32("last", 2);
  writer.set_string("again", "replaced where it was");
  writer.write(directory / "a.gguf");

  const GgufFile file = GgufFile::open(directory / "a.gguf");
  EXPECT_EQ(file.version(), 3u);
  std::vector<std::string> shown;
  for (const GgufEntry& entry : file.metadata())
    shown.push_back(std::string(entry.key) + " " + gguf_type_text(entry.value) + " " + gguf_text(entry.value));
  EXPECT_THAT(shown, ElementsAre("u8 u8 255", "i8 i8 -128", "u16 u16 65535", "i16 i16 -32768", "u32 u32 4294967295",
                                 "i32 i32 -2147483648", "u64 u64 18446744073709551615", "i64 i64 -9223372036854775808",
                                 "f32 f32 0.1", "f64 f64 0.1", "yes bool true", "no bool false",
                                 "text string \"zero \\x00 inside\"", "ints array of i32 [1, -2, 3]",
                                 "none array of string []", "nested array of array [[7, 65535], [7, 65535]]",
                                 "again string \"replaced where it was\"", "last u32 2"));
  EXPECT_EQ(file.find_number("f32"), double{0.1f});
}

TEST(GgufWriter, EveryTypeOfTensorComesBackAligned) {
  const TemporaryDirectory directory;
  for (const std::uint64_t alignment : {8u, 32u, 64u, 4096u}) {
    std::vector<Tensor> tensors;
    GgufWriter writer(alignment);
    for (const DTypeInfo& info : all_dtypes()) {
      if (!ggml_id_from_dtype(info.dtype)) continue;
      tensors.push_back(random_tensor(info.dtype, {3, 256}, static_cast<unsigned>(tensors.size())));
      writer.add_tensor(std::string(info.name), tensors.back());
    }
    writer.write(directory / "a.gguf");
    const GgufFile file = GgufFile::open(directory / "a.gguf");
    EXPECT_EQ(file.alignment(), alignment);
    EXPECT_EQ(file.has("general.alignment"), alignment != 32);
    ASSERT_EQ(file.tensors().size(), tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const GgufTensor& info = file.tensors()[i];
      EXPECT_EQ(info.name, to_string(tensors[i].dtype()));
      EXPECT_EQ(info.dtype, tensors[i].dtype());
      EXPECT_EQ(info.dims, tensors[i].dims());
      EXPECT_EQ(info.offset % alignment, 0u);
      const Tensor back = file.tensor(info);
      EXPECT_TRUE(std::equal(back.bytes().begin(), back.bytes().end(), tensors[i].bytes().begin())) << info.name;
    }
    EXPECT_EQ(std::filesystem::file_size(directory / "a.gguf") % alignment, 0u);
  }
}

TEST(GgufWriter, DimensionsKeepTheirOrder) {
  const TemporaryDirectory directory;
  GgufWriter writer;
  writer.add_tensor("four", random_tensor(DType::f32, {2, 3, 5, 7}, 1));
  writer.add_tensor("one", random_tensor(DType::f16, {11}, 2));
  writer.add_tensor("scalar", random_tensor(DType::f32, {}, 3));
  writer.write(directory / "a.gguf");
  const GgufFile file = GgufFile::open(directory / "a.gguf");
  EXPECT_THAT(file.tensors()[0].dims, ElementsAre(2, 3, 5, 7));
  EXPECT_THAT(file.tensors()[1].dims, ElementsAre(11));
  EXPECT_TRUE(file.tensors()[2].dims.empty());
}

TEST(GgufWriter, StreamsInPiecesAndWritesTheSameBytesAgain) {
  const TemporaryDirectory directory;
  const Tensor tensor = random_tensor(DType::q8_0, {40, 64}, 4);
  const auto write = [&](const std::string& name, std::size_t piece) {
    GgufWriter writer;
    writer.set_string("general.name", "pieces");
    writer.add_tensor("t", tensor.dtype(), tensor.dims(), [&, piece](GgufWriter::Sink sink) {
      auto bytes = tensor.bytes();
      while (!bytes.empty()) {
        const std::size_t count = std::min(piece, bytes.size());
        sink(bytes.first(count));
        bytes = bytes.subspan(count);
      }
    });
    writer.write(directory / name);
    return read_all(directory / name);
  };
  const std::string whole = write("whole", 1u << 20);
  EXPECT_EQ(write("whole", 1u << 20), whole);
  EXPECT_EQ(write("pieces", 7), whole);
}

TEST(GgufWriter, AFailureLeavesNoFile) {
  const TemporaryDirectory directory;
  for (const std::size_t given : {0u, 20u, 24u, 28u, 100u}) {
    GgufWriter writer;
    writer.add_tensor("t", DType::f32, {6}, [given](GgufWriter::Sink sink) { sink(std::vector<std::byte>(given)); });
    EXPECT_EQ(code_of([&] { writer.write(directory / "a.gguf"); }), given == 24 ? "" : "TensorSizeMismatch");
    EXPECT_EQ(std::filesystem::exists(directory / "a.gguf"), given == 24);
    std::filesystem::remove(directory / "a.gguf");
    EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  }
  GgufWriter writer;
  EXPECT_EQ(code_of([&] { writer.write(directory / "missing" / "a.gguf"); }), "Io");
}

TEST(GgufWriter, RefusesWhatNoReaderTakes) {
  GgufWriter writer;
  const auto set = [&](GgufValue value) { return code_of([&] { writer.set("key", value); }); };
  EXPECT_EQ(set({GgufType::u8, std::uint64_t{256}}), "InvalidField");
  EXPECT_EQ(set({GgufType::i8, std::int64_t{-129}}), "InvalidField");
  EXPECT_EQ(set({GgufType::u32, std::int64_t{-1}}), "InvalidField");
  EXPECT_EQ(set({GgufType::i64, std::uint64_t{1} << 63}), "InvalidField");
  EXPECT_EQ(set({GgufType::u32, 1.0}), "InvalidField");
  EXPECT_EQ(set({GgufType::string, true}), "InvalidField");
  GgufArray array;
  array.type = GgufType::string;
  array.count = 1;
  EXPECT_EQ(set({GgufType::array, array}), "InvalidField");
  EXPECT_EQ(code_of([&] { writer.set_u32("", 1); }), "InvalidField");
  EXPECT_EQ(code_of([&] { writer.set_u32(std::string(1025, 'k'), 1); }), "InvalidField");
  EXPECT_EQ(code_of([&] { writer.set_u32("\xff", 1); }), "NotUtf8");
  EXPECT_EQ(code_of([&] { writer.set_u32("general.alignment", 64); }), "InvalidField");
  EXPECT_FALSE(writer.has("key"));

  const auto add = [&](std::string name, DType dtype, std::vector<std::int64_t> dims) {
    return code_of([&] { writer.add_tensor(name, dtype, dims, [](GgufWriter::Sink) {}); });
  };
  EXPECT_EQ(add("t", DType::f32, {2}), "");
  EXPECT_EQ(add("t", DType::f32, {2}), "DuplicateTensor");
  EXPECT_EQ(add("u", DType::q4_k, {2, 128}), "BlockMisaligned");
  EXPECT_EQ(add("u", DType::f32, {1, 1, 1, 1, 1}), "BadTensorShape");
  EXPECT_EQ(add("u", DType::f32, {0}), "BadTensorShape");
  EXPECT_EQ(add("u", DType::ternary, {32}), "NotRepresentable");
  EXPECT_EQ(add("", DType::f32, {1}), "InvalidField");
  for (const std::uint64_t alignment : {0, 1, 4, 12, 48})
    EXPECT_EQ(code_of([&] { GgufWriter other(alignment); }), "InvalidField") << alignment;
}

}  // namespace
}  // namespace weft
