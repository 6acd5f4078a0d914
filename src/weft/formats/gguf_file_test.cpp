#include "weft/formats/gguf_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>

#include "gguf_builder.h"
#include "temporary_directory.h"
#include "weft/base/error.h"
#include "weft/base/mapped_file.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::GgufBuilder;
using ::testing::HasSubstr;
using testing::TemporaryDirectory;

class GgufFileTest : public ::testing::Test {
 protected:
  GgufFile open(const GgufBuilder& builder, const std::string& name = "m.gguf") {
    builder.write(directory_ / name);
    return GgufFile::open(directory_ / name);
  }
  // Code and full text of the error; empty when nothing was thrown.
  static std::pair<std::string, std::string> error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return {error.code(), error.what()};
    }
    return {};
  }
  std::pair<std::string, std::string> open_error(const GgufBuilder& builder) {
    return error_of([&] { open(builder); });
  }
  std::string open_code(const GgufBuilder& builder) { return open_error(builder).first; }

  TemporaryDirectory directory_;
};

TEST_F(GgufFileTest, ReadsEveryKindOfValue) {
  GgufBuilder builder;
  builder.set("a.u8", std::uint8_t{200}).set("a.i8", std::int8_t{-3}).set("a.u16", std::uint16_t{60000});
  builder.set("a.i16", std::int16_t{-30000}).set("a.u32", std::uint32_t{4000000000u}).set("a.i32", std::int32_t{-7});
  builder.set("a.u64", std::uint64_t{1} << 40).set("a.i64", -(std::int64_t{1} << 40)).set("a.f32", 0.5f);
  builder.set("a.f64", 1e-300).set("a.bool", true).set("a.text", "naïve \"x\"");
  builder.set("a.texts", std::vector<std::string>{"one", "", "three"});
  builder.set("a.floats", std::vector<float>{1, 2.5}).set("a.ints", std::vector<std::int32_t>{-1, 5});
  builder.raw("a.bools", 9, GgufBuilder::array_of(GgufType::boolean, std::vector<char>{1, 0}));
  const std::string inner = GgufBuilder::array_of(GgufType::i32, std::vector<std::int32_t>{7, 8});
  builder.raw("a.nested", 9,
              GgufBuilder::bytes_of<std::uint32_t>(9) + GgufBuilder::bytes_of<std::uint64_t>(2) + inner +
                  GgufBuilder::array_of({"x"}));
  const GgufFile file = open(builder);

  EXPECT_EQ(file.get_int("a.u8"), 200);
  EXPECT_EQ(file.get_int("a.i8"), -3);
  EXPECT_EQ(file.get_int("a.u16"), 60000);
  EXPECT_EQ(file.get_int("a.i16"), -30000);
  EXPECT_EQ(file.get_int("a.u32"), 4000000000);
  EXPECT_EQ(file.get_int("a.i32"), -7);
  EXPECT_EQ(file.get_int("a.u64"), std::int64_t{1} << 40);
  EXPECT_EQ(file.get_int("a.i64"), -(std::int64_t{1} << 40));
  EXPECT_EQ(file.get_number("a.f32"), 0.5);
  EXPECT_EQ(file.get_number("a.f64"), 1e-300);
  EXPECT_EQ(file.get_number("a.i32"), -7);
  EXPECT_TRUE(file.get_bool("a.bool"));
  EXPECT_EQ(file.get_string("a.text"), "naïve \"x\"");
  EXPECT_THAT(file.get_strings("a.texts"), ElementsAre("one", "", "three"));
  EXPECT_THAT(*file.find_numbers("a.floats"), ElementsAre(1, 2.5));
  EXPECT_THAT(*file.find_ints("a.ints"), ElementsAre(-1, 5));
  EXPECT_THAT(*file.find_bools("a.bools"), ElementsAre(true, false));
  EXPECT_EQ(gguf_text(file.find("a.nested")->value), "[[7, 8], [\"x\"]]");
  EXPECT_EQ(gguf_text(file.find("a.text")->value), "\"naïve \\\"x\\\"\"");
  EXPECT_EQ(file.metadata().front().key, "a.u8");
  EXPECT_EQ(file.metadata().back().key, "a.nested");
  EXPECT_FALSE(file.find_int("missing"));
  EXPECT_EQ(file.find_strings("missing"), nullptr);
}

TEST_F(GgufFileTest, WrongOrMissingMetadataIsNamed) {
  GgufBuilder builder;
  builder.set("llama.block_count", "twelve").set("x.big", ~std::uint64_t{0});
  builder.set("x.list", std::vector<float>{1, 2});
  const GgufFile file = open(builder);
  const auto [code, text] = error_of([&] { file.get_int("llama.block_count"); });
  EXPECT_EQ(code, "InvalidField");
  EXPECT_THAT(text, AllOf(HasSubstr("m.gguf@0x18: "), HasSubstr("llama.block_count"), HasSubstr("an integer"),
                          HasSubstr("string \"twelve\"")));
  EXPECT_EQ(error_of([&] { file.get_int("x.big"); }).first, "InvalidField");
  EXPECT_EQ(error_of([&] { file.get_bool("x.big"); }).first, "InvalidField");
  EXPECT_EQ(error_of([&] { file.find_ints("x.list"); }).first, "InvalidField");
  EXPECT_EQ(error_of([&] { file.find_strings("x.list"); }).first, "InvalidField");
  EXPECT_EQ(error_of([&] { file.find_string("x.list"); }).first, "InvalidField");
  const auto missing = error_of([&] { file.get_strings("absent"); });
  EXPECT_EQ(missing.first, "MissingField");
  EXPECT_THAT(missing.second, HasSubstr("absent"));
}

TEST_F(GgufFileTest, TensorsAreViewsWithRowMajorDims) {
  GgufBuilder builder;
  builder.set("general.alignment", std::uint32_t{64});
  builder.alignment = 64;
  builder.tensor("a", {2, 3}, {1, 2, 3, 4, 5, 6});
  std::vector<float> ramp(64);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<float>(i) - 32;
  builder.tensor("b", {2, 32}, ramp, DType::q8_0).tensor("c", {}, {42});
  const GgufFile file = open(builder);
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.alignment(), 64u);
  ASSERT_EQ(file.tensors().size(), 3u);
  const Tensor a = file.tensor("a");
  EXPECT_THAT(a.dims(), ElementsAre(2, 3));
  EXPECT_THAT(a.values<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  const auto mapping = file.files()[0]->bytes();
  EXPECT_EQ(a.bytes().data(), mapping.data() + file.find_tensor("a")->offset);
  EXPECT_EQ(file.find_tensor("a")->offset % 64, 0u);
  EXPECT_EQ(file.tensor("b").dtype(), DType::q8_0);
  EXPECT_NEAR(file.tensor("b").to_f32().values<float>()[0], -32, 0.2);
  EXPECT_EQ(file.tensor("c").values<float>()[0], 42);
  const auto [code, text] = error_of([&] { file.tensor("d"); });
  EXPECT_EQ(code, "MissingTensor");
  EXPECT_THAT(text, HasSubstr("\"d\""));
}

TEST_F(GgufFileTest, AViewOutlivesTheFile) {
  Tensor tensor;
  {
    GgufBuilder builder;
    tensor = open(builder.tensor("a", {4}, {1, 2, 3, 4})).tensor("a");
  }
  EXPECT_THAT(tensor.values<float>(), ElementsAre(1, 2, 3, 4));
}

TEST_F(GgufFileTest, UnalignedDataIsCopiedToAnAlignedPlace) {
  GgufBuilder builder;
  builder.set("general.alignment", std::uint32_t{1});
  builder.alignment = 1;
  builder.set("pad", "p").tensor_bytes("bytes", {3}, 24, "abc").tensor("a", {2}, {1.5f, 2.5f});
  for (const std::string pad : {"", "x", "xx", "xxx"}) {
    GgufBuilder shifted = builder;
    const GgufFile file = open(shifted.set("pad2", std::string_view(pad)));
    EXPECT_THAT(file.tensor("a").values<float>(), ElementsAre(1.5f, 2.5f));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.tensor("a").bytes().data()) % 4, 0u);
  }
}

TEST_F(GgufFileTest, OtherFilesAndVersionsAreRefused) {
  const auto code = [&](std::string_view bytes) {
    GgufBuilder::write_file(directory_ / "x", bytes);
    return error_of([&] { GgufFile::open(directory_ / "x"); });
  };
  EXPECT_EQ(code("").first, "NotGguf");
  EXPECT_EQ(code("GGU").first, "NotGguf");
  EXPECT_THAT(code("PK\x03\x04 and more of it").second, HasSubstr("not a GGUF file"));
  GgufBuilder builder;
  for (const std::uint32_t version : {0u, 1u, 4u, 0x03000000u}) {
    builder.version = version;
    EXPECT_EQ(open_code(builder), "UnsupportedVersion") << version;
  }
  builder.version = 2;
  EXPECT_EQ(open(builder).version(), 2u);
  EXPECT_EQ(error_of([&] { GgufFile::open(directory_ / "absent.gguf"); }).first, "NotFound");
  EXPECT_EQ(error_of([&] { GgufFile::open(directory_.path()); }).first, "IsDirectory");
}

TEST_F(GgufFileTest, UnsupportedTensorTypesAreCounted) {
  GgufBuilder builder;
  builder.tensor("ok", {32}, std::vector<float>(32, 1)).describe("q1", {256}, 16, 0).describe("q2", {256}, 16, 0);
  builder.describe("z", {32}, 777, 0);
  const auto [code, text] = open_error(builder);
  EXPECT_EQ(code, "UnsupportedSourceType");
  EXPECT_THAT(text, AllOf(HasSubstr("2 of 4 tensors have type IQ2_XXS (id 16)"),
                          HasSubstr("1 of 4 tensors have unknown type 777"), HasSubstr("\"q1\""), HasSubstr("Q4_K")));
}

TEST_F(GgufFileTest, TensorsMustLieApartWithinTheData) {
  const std::string data(256, 'x');
  const auto two = [&](std::uint64_t a, std::uint64_t b, std::int64_t size) {
    GgufBuilder builder;
    builder.describe("a", {size}, 0, a).describe("b", {size}, 0, b);
    GgufBuilder::write_file(directory_ / "t", builder.build() + data);
    return error_of([&] { GgufFile::open(directory_ / "t"); });
  };
  EXPECT_EQ(two(0, 32, 8).first, "");
  EXPECT_EQ(two(32, 0, 8).first, "");
  EXPECT_EQ(two(0, 224, 8).first, "");
  EXPECT_EQ(two(0, 256, 8).first, "TensorOutOfRange");
  EXPECT_EQ(two(0, 32, 56).first, "TensorOverlap");
  EXPECT_EQ(two(0, 0, 8).first, "TensorOverlap");
  EXPECT_THAT(two(32, 0, 9).second, AllOf(HasSubstr("\"a\""), HasSubstr("\"b\"")));
  EXPECT_EQ(two(0, 33, 8).first, "MisalignedTensor");
  EXPECT_EQ(two(0, ~std::uint64_t{31}, 8).first, "TensorOutOfRange");
}

TEST_F(GgufFileTest, ShapesAreChecked) {
  const auto code = [&](std::vector<std::int64_t> dims, std::uint32_t type = 0) {
    GgufBuilder builder;
    return open_code(builder.describe("a", dims, type, 0));
  };
  EXPECT_EQ(code({3, 0}), "BadTensorShape");
  EXPECT_EQ(code({-1}), "BadTensorShape");
  EXPECT_EQ(code(std::vector<std::int64_t>(9, 1)), "BadTensorShape");
  EXPECT_EQ(code({std::int64_t{1} << 40, std::int64_t{1} << 40}), "SizeOverflow");
  EXPECT_EQ(code({std::int64_t{1} << 60}, 28), "TensorOutOfRange");
  EXPECT_EQ(code({4, 33}, 8), "BlockMisaligned");
}

TEST_F(GgufFileTest, NamesAreUniqueAndText) {
  GgufBuilder keys;
  EXPECT_EQ(open_code(keys.set("k", 1.f).set("k", 2.f)), "DuplicateKey");
  GgufBuilder names;
  EXPECT_EQ(open_code(names.tensor("t", {1}, {1}).tensor("t", {1}, {1})), "DuplicateTensor");
  EXPECT_EQ(open_code(GgufBuilder().tensor("", {1}, {1})), "InvalidField");
  EXPECT_EQ(open_code(GgufBuilder().tensor("\xff", {1}, {1})), "NotUtf8");
  EXPECT_EQ(open_code(GgufBuilder().set("\xc3", 1.f)), "NotUtf8");
  EXPECT_EQ(open_code(GgufBuilder().set(std::string(1025, 'k'), 1.f)), "LimitExceeded");
}

TEST_F(GgufFileTest, CountsAndLengthsAreCheckedBeforeUse) {
  GgufBuilder builder;
  builder.set("k", 1.f).tensor("t", {1}, {1});
  const auto with = [&](std::int64_t tensors, std::int64_t entries) {
    GgufBuilder copy = builder;
    copy.extra_tensors = tensors;
    copy.extra_entries = entries;
    return open_code(copy);
  };
  EXPECT_EQ(with(0, 0), "");
  EXPECT_EQ(with(INT64_MAX, 0), "LimitExceeded");
  EXPECT_EQ(with(0, -2), "LimitExceeded");
  EXPECT_EQ(with(0, 60000), "Truncated");
  EXPECT_EQ(with(1000000, 0), "Truncated");
  const auto value = [&](std::uint32_t type, const std::string& bytes) {
    return open_code(GgufBuilder().raw("k", type, bytes));
  };
  const auto u32 = [](std::uint32_t x) { return GgufBuilder::bytes_of(x); };
  const auto u64 = [](std::uint64_t x) { return GgufBuilder::bytes_of(x); };
  EXPECT_EQ(value(8, u64(~0ull)), "LimitExceeded");
  EXPECT_EQ(value(8, u64(1000)), "Truncated");
  EXPECT_EQ(value(9, u32(8) + u64(~0ull)), "LimitExceeded");
  EXPECT_EQ(value(9, u32(8) + u64(16000000)), "Truncated");
  EXPECT_EQ(value(9, u32(12) + u64(16000000)), "Truncated");
  EXPECT_EQ(value(9, u32(9) + u64(60000)), "Truncated");
  EXPECT_EQ(value(9, u32(9) + u64(70000)), "LimitExceeded");
  EXPECT_EQ(value(13, ""), "InvalidField");
  EXPECT_EQ(value(7, "\x02"), "InvalidField");
  std::string deep;
  for (int i = 0; i < 5; ++i) deep += u32(9) + u64(1);
  EXPECT_EQ(value(9, deep + u32(0) + u64(0)), "LimitExceeded");
}

TEST_F(GgufFileTest, AlignmentMustBeAPowerOfTwo) {
  for (const std::uint32_t bad : {0u, 3u, 48u, 1u << 31})
    EXPECT_EQ(open_code(GgufBuilder().set("general.alignment", bad)), "InvalidField") << bad;
  EXPECT_EQ(open_code(GgufBuilder().set("general.alignment", 32.f)), "InvalidField");
}

TEST_F(GgufFileTest, AHugeEmptyFileIsRefusedAtOnce) {
  GgufBuilder::write_file(directory_ / "zeros", "");
  std::filesystem::resize_file(directory_ / "zeros", 10ull << 30);
  GgufBuilder::write_file(
      directory_ / "strings",
      GgufBuilder()
          .raw("k", 9, GgufBuilder::bytes_of<std::uint32_t>(8) + GgufBuilder::bytes_of(16ull << 20 | 1))
          .build());
  std::filesystem::resize_file(directory_ / "strings", 10ull << 30);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(error_of([&] { GgufFile::open(directory_ / "zeros"); }).first, "NotGguf");
  EXPECT_EQ(error_of([&] { GgufFile::open(directory_ / "strings"); }).first, "LimitExceeded");
  // Reading the file would take longer; the bound is wide because other programs share the machine.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

class GgufSplitTest : public GgufFileTest {
 protected:
  GgufSplitTest() {
    for (std::uint16_t i = 0; i < 3; ++i) {
      parts_[i].set("split.no", i).set("split.count", std::uint16_t{3}).set("split.tensors.count", std::int32_t{4});
      if (i == 0) parts_[i].set("general.name", "whole");
      parts_[i].tensor(fmt::format("t{}", i), {2}, {static_cast<float>(i), 1});
    }
    parts_[2].tensor("last", {1}, {9});
  }
  std::filesystem::path name(int part) const { return directory_ / fmt::format("m-{:05}-of-00003.gguf", part + 1); }
  void write() {
    for (int i = 0; i < 3; ++i) parts_[i].write(name(i));
  }
  GgufBuilder parts_[3];
};

TEST_F(GgufSplitTest, AnyPartOpensTheSet) {
  write();
  for (int i = 0; i < 3; ++i) {
    const GgufFile file = GgufFile::open(name(i));
    EXPECT_EQ(file.files().size(), 3u);
    EXPECT_EQ(file.get_string("general.name"), "whole");
    ASSERT_EQ(file.tensors().size(), 4u);
    EXPECT_EQ(file.tensors()[3].name, "last");
    EXPECT_THAT(file.tensor("t1").values<float>(), ElementsAre(1, 1));
    EXPECT_THAT(file.tensor("last").values<float>(), ElementsAre(9));
  }
}

TEST_F(GgufSplitTest, AMissingPartIsNamed) {
  write();
  std::filesystem::remove(name(1));
  const auto [code, text] = error_of([&] { GgufFile::open(name(0)); });
  EXPECT_EQ(code, "MissingPart");
  EXPECT_THAT(text, HasSubstr("m-00002-of-00003.gguf"));
}

TEST_F(GgufSplitTest, PartsMustBelongTogether) {
  write();
  parts_[0].write(directory_ / "renamed.gguf");
  EXPECT_EQ(error_of([&] { GgufFile::open(directory_ / "renamed.gguf"); }).first, "BadSplit");
  parts_[0].write(directory_ / "m-00004-of-00003.gguf");
  EXPECT_EQ(error_of([&] { GgufFile::open(directory_ / "m-00004-of-00003.gguf"); }).first, "BadSplit");
  parts_[0].write(name(1));  // the wrong part under this name
  EXPECT_EQ(error_of([&] { GgufFile::open(name(0)); }).first, "BadSplit");
  parts_[1].tensor("t0", {1}, {1}).write(name(1));
  EXPECT_EQ(error_of([&] { GgufFile::open(name(0)); }).first, "BadSplit");  // five tensors instead of four
}

TEST_F(GgufSplitTest, ATensorInTwoPartsIsADuplicate) {
  for (std::uint16_t i = 0; i < 2; ++i) {
    GgufBuilder part;
    part.set("split.no", i).set("split.count", std::uint16_t{2}).tensor("same", {1}, {1});
    part.write(directory_ / fmt::format("d-{:05}-of-00002.gguf", i + 1));
  }
  const auto [code, text] = error_of([&] { GgufFile::open(directory_ / "d-00001-of-00002.gguf"); });
  EXPECT_EQ(code, "DuplicateTensor");
  EXPECT_THAT(text, AllOf(HasSubstr("d-00001"), HasSubstr("d-00002"), HasSubstr("\"same\"")));
}

TEST(GgufShared, PublicVocabulariesOpenFast) {
  const std::filesystem::path path = WEFT_SHARED_DIR "/tokenizers/ggml-vocab-qwen35.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const auto start = std::chrono::steady_clock::now();
  const GgufFile file = GgufFile::open(path);
  EXPECT_EQ(file.get_strings("tokenizer.ggml.tokens").size(), 151936u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(GgufShared, ModelsOpen) {
  const std::filesystem::path directory = WEFT_SHARED_DIR "/models";
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << directory << " is not there";
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const GgufFile file = GgufFile::open(entry.path());
    EXPECT_TRUE(file.has("general.architecture"));
    std::uint64_t total = 0;
    for (const GgufTensor& info : file.tensors()) total += file.tensor(info).byte_size();
    EXPECT_GT(total, std::filesystem::file_size(entry.path()) / 2);
  }
}

}  // namespace
}  // namespace weft
