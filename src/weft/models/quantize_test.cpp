#include "weft/models/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
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
#include "weft/base/half.h"
#include "weft/base/mapped_file.h"

namespace weft {
namespace {

using testing::GgufBuilder;
using testing::TemporaryDirectory;

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, 0.05f);
  std::vector<float> values(count);
  for (float& x : values) x = normal(generator);
  return values;
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

std::string chosen(QuantizeTypes& types, std::string_view name, std::vector<std::int64_t> dims,
                   DType source = DType::f16) {
  const QuantizedTensor tensor = types.choose(name, dims, source);
  return std::string(to_string(tensor.wanted)) + " " + std::string(to_string(tensor.dtype));
}

TEST(QuantizeTypes, AnswersByShapeAndRule) {
  QuantizeTypes types({DType::q4_k, {{"blk.*.ffn_down.weight", DType::q6_k}, {"blk.7.*", DType::q8_0}}});
  EXPECT_EQ(chosen(types, "blk.0.attn_q.weight", {64, 512}), "q4_k q4_k");
  EXPECT_EQ(chosen(types, "blk.0.attn_q.weight", {64, 96}), "q4_k q5_0");
  EXPECT_EQ(chosen(types, "blk.0.attn_q.weight", {64, 40}), "q4_k f16");
  EXPECT_EQ(chosen(types, "blk.0.ffn_down.weight", {64, 256}), "q6_k q6_k");
  EXPECT_EQ(chosen(types, "blk.0.ffn_down.weight", {64, 288}), "q6_k q8_0");
  EXPECT_THROW(types.expect_all_rules_used(), Error);
  EXPECT_EQ(chosen(types, "blk.7.ffn_down.weight", {64, 256}), "q8_0 q8_0");  // the last rule counts
  EXPECT_EQ(chosen(types, "blk.7.attn_norm.weight", {256}), "f32 f32");
  EXPECT_EQ(chosen(types, "scalar", {}), "f32 f32");
  EXPECT_EQ(chosen(types, "table", {4, 256}, DType::i32), "i32 i32");
  EXPECT_EQ(chosen(types, "packed", {4, 256}, DType::q8_0), "q4_k q4_k");
  types.expect_all_rules_used();

  const std::pair<DType, const char*> stand_ins[] = {{DType::q2_k, "q4_0"},
                                                     {DType::q3_k, "q4_0"},
                                                     {DType::q4_k, "q5_0"},
                                                     {DType::q5_k, "q5_1"},
                                                     {DType::q6_k, "q8_0"}};
  for (const auto& [dtype, stand_in] : stand_ins) {
    QuantizeTypes plain({dtype, {}});
    EXPECT_EQ(to_string(plain.choose("w", {2, 32}, DType::f32).dtype), stand_in);
    EXPECT_EQ(plain.choose("w", {2, 33}, DType::f32).dtype, DType::f16);
  }
}

TEST(QuantizeTypes, PlansForModelFiles) {
  QuantizeTypes canonical(canonical_profile());
  EXPECT_EQ(chosen(canonical, "model.norm.weight", {64}), "fx16_16 fx16_16");
  EXPECT_EQ(chosen(canonical, "model.embed_tokens.weight", {4, 64}), "q8 q8");
  EXPECT_EQ(chosen(canonical, "model.embed_tokens.weight", {4, 65}), "q8 fx16_16");
  QuantizeTypes ternary({DType::ternary, {}});
  EXPECT_EQ(chosen(ternary, "w", {4, 64}), "ternary ternary");
  EXPECT_EQ(chosen(ternary, "w", {4, 36}), "ternary fx16_16");  // whole groups of 32 are written
  // Ternary weights and their scales stay.
  QuantizeTypes f16({DType::f16, {}});
  EXPECT_EQ(chosen(f16, "w", {4, 64}, DType::ternary), "ternary ternary");
  EXPECT_EQ(chosen(f16, "w.scale", {4, 1}, DType::f32), "f32 f32");
  // Without a type of their own, tensors keep theirs but for those that a rule names.
  QuantizeTypes some({std::nullopt, {{"*.down_proj.*", DType::q8}}});
  EXPECT_EQ(chosen(some, "a.down_proj.weight", {4, 64}), "q8 q8");
  EXPECT_EQ(chosen(some, "a.up_proj.weight", {4, 64}), "f16 f16");
  EXPECT_EQ(chosen(some, "norm", {64}, DType::bf16), "bf16 bf16");
}

TEST(QuantizeTypes, KnowsItsNames) {
  const std::vector<std::string> names = quantize_type_names();
  EXPECT_EQ(names.size(), 13u);
  for (const std::string& name : names) EXPECT_EQ(to_string(quantize_type(name)), name);
  EXPECT_EQ(code_of([] { quantize_type("q9"); }), "UnknownType");
  EXPECT_EQ(code_of([] { QuantizeTypes({DType::i8, {}}); }), "UnknownType");
  EXPECT_EQ(code_of([] { QuantizeTypes({DType::f16, {{"*", DType::i8}}}); }), "UnknownType");
  // A `.model` has five more, and its own spelling of them.
  EXPECT_EQ(quantize_type_names(WeightFile::model).size(), 18u);
  EXPECT_EQ(quantize_type("u32", WeightFile::model), DType::fx16_16);
  EXPECT_EQ(quantize_type("ternary", WeightFile::model), DType::ternary);
  EXPECT_EQ(code_of([] { quantize_type("u32"); }), "UnknownType");
  EXPECT_EQ(code_of([] { quantize_type("fx16_16", WeightFile::model); }), "UnknownType");
  EXPECT_EQ(code_of([] { gguf_file_type(DType::q8); }), "UnknownType");
}

class QuantizeGguf : public ::testing::Test {
 protected:
  void SetUp() override {
    GgufBuilder builder;
    describe(builder);
    add_weights(builder, 0, 3);
    builder.write(directory_ / "in.gguf");
  }
  static void describe(GgufBuilder& builder) {
    builder.set("general.architecture", "llama").set("general.file_type", std::uint32_t{0});
    builder.set("general.name", "a name").set("tokens", std::vector<std::string>{"a", "b"});
  }
  static void add_weights(GgufBuilder& builder, unsigned begin, unsigned end) {
    const std::vector<std::vector<std::int64_t>> dims = {{6, 512}, {5, 96}, {512}};
    const char* names[] = {"wide", "narrow", "norm"};
    for (unsigned i = begin; i < end; ++i) {
      const auto count = dims[i].size() == 1 ? dims[i][0] : dims[i][0] * dims[i][1];
      builder.tensor(names[i], dims[i], random_values(static_cast<std::size_t>(count), i),
                     i == 2 ? DType::f16 : DType::f32);
    }
  }
  QuantizeReport quantize(const std::string& from, const std::string& to, QuantizeOptions options) {
    return quantize_gguf(GgufFile::open(directory_ / from), directory_ / to, options);
  }

  TemporaryDirectory directory_;
};

TEST_F(QuantizeGguf, WritesWhatTheEncodersGive) {
  for (const std::string& name : quantize_type_names()) {
    const DType dtype = quantize_type(name);
    const QuantizeReport report = quantize("in.gguf", "out.gguf", {.plan = {.dtype = dtype}});
    const GgufFile out = GgufFile::open(directory_ / "out.gguf");
    ASSERT_EQ(out.tensors().size(), 3u);
    EXPECT_EQ(out.get_string("general.name"), "a name");
    EXPECT_EQ(out.get_strings("tokens").size(), 2u);
    EXPECT_EQ(out.find_int("general.quantization_version").value_or(0), is_block(dtype) ? 2 : 0);
    EXPECT_EQ(out.tensor("norm").dtype(), DType::f32);
    EXPECT_EQ(out.tensor("wide").dtype(), dtype);
    std::uint64_t bytes = 0;
    for (const GgufTensor& tensor : out.tensors()) {
      bytes += tensor.bytes;
      const unsigned seed = tensor.name == "wide" ? 0 : tensor.name == "narrow" ? 1 : 2;
      std::vector<float> values = random_values(static_cast<std::size_t>(out.tensor(tensor).numel()), seed);
      if (seed == 2)
        for (float& x : values) x = f16_to_f32(f32_to_f16(x));
      std::vector<std::byte> expected(tensor.bytes);
      encode_from_f32(tensor.dtype, values, expected, OutOfRange::saturate, EncodeQuality::search);
      const Tensor stored = out.tensor(tensor);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), stored.bytes().begin())) << name << " " << tensor.name;
    }
    EXPECT_EQ(report.bytes, bytes);
    EXPECT_EQ(report.weights, 6u * 512 + 5 * 96 + 512);
    EXPECT_DOUBLE_EQ(report.bits_per_weight(), 8.0 * static_cast<double>(bytes) / static_cast<double>(report.weights));
  }
}

TEST_F(QuantizeGguf, TheFileTypeIsThatOfLlamaCpp) {
  const std::pair<const char*, int> types[] = {{"f32", 0},   {"f16", 1},   {"q4_0", 2},  {"q4_1", 3},  {"q8_0", 7},
                                               {"q5_0", 8},  {"q5_1", 9},  {"q2_k", 10}, {"q3_k", 11}, {"q4_k", 14},
                                               {"q5_k", 16}, {"q6_k", 18}, {"bf16", 32}};
  for (const auto& [name, number] : types) {
    quantize("in.gguf", "out.gguf", {.plan = {.dtype = quantize_type(name)}});
    EXPECT_EQ(GgufFile::open(directory_ / "out.gguf").get_int("general.file_type"), number);
  }
}

TEST_F(QuantizeGguf, ThreadsChangeNothing) {
  quantize("in.gguf", "one.gguf", {.plan = {.dtype = DType::q4_k}, .threads = 1});
  quantize("in.gguf", "two.gguf", {.plan = {.dtype = DType::q4_k}, .threads = 2});
  EXPECT_EQ(read_all(directory_ / "one.gguf"), read_all(directory_ / "two.gguf"));
}

TEST_F(QuantizeGguf, ASplitSetBecomesOneFile) {
  for (unsigned part = 0; part < 2; ++part) {
    GgufBuilder builder;
    if (part == 0) describe(builder);
    builder.set("split.no", static_cast<std::uint16_t>(part)).set("split.count", std::uint16_t{2});
    builder.set("split.tensors.count", std::int32_t{3});
    add_weights(builder, part == 0 ? 0 : 1, part == 0 ? 1 : 3);
    builder.write(directory_ / ("part-0000" + std::to_string(part + 1) + "-of-00002.gguf"));
  }
  quantize("in.gguf", "whole.gguf", {.plan = {.dtype = DType::q5_k}});
  quantize("part-00002-of-00002.gguf", "joined.gguf", {.plan = {.dtype = DType::q5_k}});
  EXPECT_EQ(read_all(directory_ / "joined.gguf"), read_all(directory_ / "whole.gguf"));
  EXPECT_EQ(code_of([&] { quantize("part-00002-of-00002.gguf", "part-00001-of-00002.gguf", {}); }), "SameFile");
}

TEST_F(QuantizeGguf, TheSourceIsNeverWritten) {
  const std::string before = read_all(directory_ / "in.gguf");
  std::filesystem::create_hard_link(directory_ / "in.gguf", directory_ / "link.gguf");
  std::filesystem::create_symlink(directory_ / "in.gguf", directory_ / "symbolic.gguf");
  for (const char* name : {"in.gguf", "link.gguf", "symbolic.gguf"})
    EXPECT_EQ(code_of([&] { quantize("in.gguf", name, {}); }), "SameFile") << name;
  EXPECT_EQ(read_all(directory_ / "in.gguf"), before);
}

TEST_F(QuantizeGguf, WrongValuesAreNamedAndLeaveNoFile) {
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e30f}) {
    std::vector<float> values = random_values(4 * 256, 1);
    values[700] = wrong;
    GgufBuilder().tensor("bad", {4, 256}, values).write(directory_ / "bad.gguf");
    for (const DType dtype : {DType::q4_k, DType::q8_0, DType::q5_1}) try {
        quantize("bad.gguf", "out.gguf", {.plan = {.dtype = dtype}});
        FAIL() << wrong;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), std::isnan(wrong) ? "QuantNaN" : "QuantRange");
        EXPECT_THAT(error.where(), ::testing::HasSubstr("tensor \"bad\""));
      }
    EXPECT_FALSE(std::filesystem::exists(directory_ / "out.gguf"));
    // Floats hold them, but f16 nothing finite that large.
    EXPECT_EQ(code_of([&] { quantize("bad.gguf", "out.gguf", {.plan = {.dtype = DType::bf16}}); }), "");
    EXPECT_EQ(code_of([&] { quantize("bad.gguf", "out.gguf", {.plan = {.dtype = DType::f16}}); }),
              wrong == 1e30f ? "QuantRange" : "");
    std::filesystem::remove(directory_ / "out.gguf");
  }
}

TEST_F(QuantizeGguf, CanBeStopped) {
  int asked = 0;
  QuantizeOptions options{.plan = {.dtype = DType::q8_0}};
  options.canceled = [&] { return ++asked == 2; };
  EXPECT_EQ(code_of([&] { quantize("in.gguf", "out.gguf", options); }), "Canceled");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out.gguf"));
  std::uint64_t last = 0, all = 0;
  options.canceled = {};
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GT(done, last);
    last = done;
    all = total;
  };
  quantize("in.gguf", "out.gguf", options);
  EXPECT_EQ(last, all);
}

TEST_F(QuantizeGguf, ARuleThatFitsNothingIsRefused) {
  EXPECT_EQ(code_of([&] {
              quantize("in.gguf", "out.gguf", {.plan = {.dtype = DType::q8_0, .rules = {{"wid", DType::f16}}}});
            }),
            "NoTensorMatches");
}

}  // namespace
}  // namespace weft
