// Models whose weights are stored in each encoding of `.model`: they run on both backends as their values say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "nano_model.h"
#include "temporary_directory.h"
#include "weft/base/block_codec.h"
#include "weft/base/error.h"
#include "weft/formats/gguf_file.h"
#include "weft/formats/model_encoding.h"
#include "weft/formats/model_file.h"
#include "weft/models/import_model.h"
#include "weft/models/language_model.h"

namespace weft {
namespace {

const std::vector<std::int32_t> ids{1, 100, 200, 37, 250};

std::vector<float> logits_of(const std::filesystem::path& path, const std::string& backend) {
  auto model = LanguageModel::open(path, {.threads = 1, .backend = backend, .kv_type = DType::f32});
  const Tensor logits = model.logits(ids);
  const auto values = logits.values<float>();
  return {values.begin(), values.end()};
}

double relative_error(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double{a[i]} - double{b[i]}, 2);
    norm += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(difference / norm);
}

class EncodingsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new testing::TemporaryDirectory;
    // Rows of 256, so that the K types fit.
    testing::nano_llama({.hidden = 256, .inner = 256, .heads = 4, .kv_heads = 2}).write(source());
  }
  static void TearDownTestSuite() {
    delete directory_;
    directory_ = nullptr;
  }
  static std::filesystem::path source() { return *directory_ / "source.gguf"; }

  static std::filesystem::path imported(const std::string& name, const QuantizePlan& plan,
                                        const std::filesystem::path& from = source()) {
    const std::filesystem::path path = *directory_ / (name + ".model");
    import_model(*Checkpoint::open(from), path, {.quantize = plan, .threads = 1});
    return path;
  }
  static std::map<std::string, std::string> encodings(const std::filesystem::path& path) {
    std::map<std::string, std::string> result;
    const ModelFile file = ModelFile::open(path);
    for (const ModelTensor& tensor : file.tensors()) result[tensor.name] = model_encoding_name(tensor.dtype);
    return result;
  }

  static testing::TemporaryDirectory* directory_;
};

testing::TemporaryDirectory* EncodingsTest::directory_ = nullptr;

TEST_F(EncodingsTest, EachRunsOnBothBackends) {
  const std::vector<float> whole = logits_of(source(), "reference");
  for (const std::string& name : quantize_type_names(WeightFile::model)) {
    const DType dtype = quantize_type(name, WeightFile::model);
    const auto path = imported(name, {.dtype = dtype});
    const auto found = encodings(path);
    EXPECT_EQ(found.at("model.layers.0.mlp.down_proj.weight"), name);
    EXPECT_EQ(found.at("model.norm.weight"), "f32");
    const std::vector<float> reference = logits_of(path, "reference"), cpu = logits_of(path, "cpu");
    // Integer weights meet activations as int8.
    EXPECT_LT(relative_error(cpu, reference), is_block(dtype) ? 0.02 : 2e-6) << name;
    EXPECT_GT(relative_error(reference, whole), name == "f32" ? -1 : 0) << name;
    EXPECT_LT(relative_error(reference, whole), name == "ternary" || name == "q2_k" ? 1.2 : 0.5) << name;
    if (name == "ternary") continue;  // stays ternary
    // The values that the encoding gives, as plain numbers, run to the same result.
    const auto decoded = imported(name + "-decoded", {.dtype = DType::f32}, path);
    EXPECT_LT(relative_error(reference, logits_of(decoded, "reference")), 1e-6) << name;
  }
}

TEST_F(EncodingsTest, TernaryWeightsHaveAScaleForEachRow) {
  const auto path = imported("ternary", {.dtype = DType::ternary});
  const ModelFile file = ModelFile::open(path);
  // Dense weights of the same values, in a graph without scales.
  const auto dense = *directory_ / "dense.gguf";
  testing::GgufBuilder builder = testing::nano_llama({.hidden = 256, .inner = 256, .heads = 4, .kv_heads = 2});
  builder.write(dense);
  const GgufFile layout = GgufFile::open(dense);
  const auto checkpoint = Checkpoint::open(path);
  std::map<std::string, std::string> gguf_names{{"token_embd.weight", "model.embed_tokens.weight"}};
  const std::string from = "blk.0.", to = "model.layers.0.";
  for (const auto& [gguf, canonical] : std::map<std::string, std::string>{{"attn_v", "self_attn.v_proj"},
                                                                          {"attn_output", "self_attn.o_proj"},
                                                                          {"ffn_gate", "mlp.gate_proj"},
                                                                          {"ffn_up", "mlp.up_proj"},
                                                                          {"ffn_down", "mlp.down_proj"}})
    gguf_names.emplace(from + gguf + ".weight", to + canonical + ".weight");
  std::fstream out(dense, std::ios::binary | std::ios::in | std::ios::out);
  for (const auto& [gguf, canonical] : gguf_names) {
    const Tensor codes = file.tensor(canonical).to_f32(), scales = file.tensor(canonical + ".scale");
    ASSERT_EQ(scales.dims(), std::vector<std::int64_t>{codes.dim(0)}) << canonical;
    std::vector<float> values(codes.values<float>().begin(), codes.values<float>().end());
    const std::size_t columns = static_cast<std::size_t>(codes.dim(1));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= scales.values<float>()[i / columns];
    out.seekp(static_cast<std::streamoff>(layout.find_tensor(gguf)->offset));
    out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
  }
  out.close();
  // Q and K, whose rows stand in another order in a GGUF file, stay as the source has them.
  const auto mixed =
      imported("mixed-ternary",
               {.dtype = DType::ternary, .rules = {{"*.q_proj.weight", DType::f32}, {"*.k_proj.weight", DType::f32}}});
  EXPECT_LT(relative_error(logits_of(mixed, "reference"), logits_of(dense, "reference")), 1e-6);
  // What is stored as ternary stays as it is, scales included.
  const auto again = imported("again", {.dtype = DType::q4_0}, path);
  EXPECT_EQ(encodings(again), encodings(path));
  EXPECT_EQ(logits_of(again, "reference"), logits_of(path, "reference"));
}

TEST_F(EncodingsTest, TheCanonicalProfileHasTheFiveAlone) {
  const auto path = imported("canonical", canonical_profile());
  const auto found = encodings(path);
  EXPECT_EQ(found.at("model.embed_tokens.weight"), "q8");
  EXPECT_EQ(found.at("model.norm.weight"), "u32");
  const ModelFile file = ModelFile::open(path, {.canonical_only = true});
  EXPECT_EQ(file.tensors().size(), 11u);
  EXPECT_LT(relative_error(logits_of(path, "reference"), logits_of(source(), "reference")), 0.02);
  EXPECT_LT(relative_error(logits_of(path, "cpu"), logits_of(path, "reference")), 0.02);
}

TEST_F(EncodingsTest, RulesMixTypes) {
  const auto path = imported(
      "mixed",
      {.dtype = std::nullopt,
       .rules = {{"*.mlp.*", DType::q4}, {"*.down_proj.weight", DType::fx8_8}, {"*.v_proj.weight", DType::ternary}}});
  const auto found = encodings(path);
  EXPECT_EQ(found.at("model.layers.0.mlp.up_proj.weight"), "q4");
  EXPECT_EQ(found.at("model.layers.0.mlp.down_proj.weight"), "u16");
  EXPECT_EQ(found.at("model.layers.0.self_attn.v_proj.weight"), "ternary");
  EXPECT_EQ(found.at("model.layers.0.self_attn.v_proj.weight.scale"), "f32");
  EXPECT_EQ(found.at("model.layers.0.self_attn.q_proj.weight"), "f32");
  EXPECT_EQ(found.at("model.layers.0.input_layernorm.weight"), "f32");
  EXPECT_LT(relative_error(logits_of(path, "cpu"), logits_of(path, "reference")), 0.02);
}

TEST_F(EncodingsTest, WhatFixedPointHasNoCodeForIsRefused) {
  const auto code_of = [&](float value, DType dtype) -> std::string {
    const auto path = *directory_ / "wrong.gguf";
    std::string bytes = testing::nano_llama().build();
    testing::GgufBuilder::write_file(path, bytes);
    const std::size_t at = GgufFile::open(path).find_tensor("blk.0.ffn_up.weight")->offset + 70 * 4;
    testing::GgufBuilder::write_file(path, bytes.replace(at, 4, testing::GgufBuilder::bytes_of(value)));
    try {
      imported("refused", {.dtype = dtype}, path);
    } catch (const Error& error) {
      EXPECT_THAT(error.where(), ::testing::HasSubstr("up_proj"));
      EXPECT_FALSE(std::filesystem::exists(*directory_ / "refused.model"));
      return error.code();
    }
    return "";
  };
  const float nan = std::nanf(""), infinity = HUGE_VALF;
  for (const DType dtype : {DType::fx16_16, DType::fx8_8, DType::q8, DType::q4, DType::ternary}) {
    EXPECT_EQ(code_of(nan, dtype), "QuantNaN") << to_string(dtype);
    EXPECT_EQ(code_of(infinity, dtype), "QuantRange") << to_string(dtype);
  }
  EXPECT_EQ(code_of(40000.f, DType::fx16_16), "QuantRange");
  EXPECT_EQ(code_of(130.f, DType::fx8_8), "QuantRange");
  EXPECT_EQ(code_of(130.f, DType::q8), "QuantRange");
  EXPECT_EQ(code_of(130.f, DType::fx16_16), "");
  EXPECT_EQ(code_of(40000.f, DType::ternary), "");
}

}  // namespace
}  // namespace weft
