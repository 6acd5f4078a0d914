// Importing: what is refused before a file is written, and what older and other files become.
#include "weft/models/import_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "nano_model.h"
#include "temporary_directory.h"
#include "weft/base/error.h"
#include "weft/formats/model_file.h"
#include "weft/formats/model_writer.h"
#include "weft/ir/binary.h"
#include "weft/models/model_config.h"

namespace weft {
namespace {

using testing::GgufBuilder;
using ::testing::HasSubstr;

class ImportTest : public ::testing::Test {
 protected:
  std::string code_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      message_ = error.what();
      return error.code();
    }
    return "";
  }
  std::string import_code(const GgufBuilder& builder) {
    builder.write(path_);
    const std::string code = code_of([&] { import_model(*Checkpoint::open(path_), output_); });
    EXPECT_EQ(std::filesystem::exists(output_), code.empty());
    return code;
  }
  static std::string content(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  testing::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "source", output_ = directory_ / "out.model";
  std::string message_;
};

TEST_F(ImportTest, WhatIsNoWholeModelIsRefused) {
  EXPECT_EQ(import_code(testing::nano_llama()), "");
  std::filesystem::remove(output_);
  GgufBuilder extra = testing::nano_llama();
  extra.tensor("blk.0.mystery.weight", {4}, {1, 2, 3, 4});
  EXPECT_EQ(import_code(extra), "UnmappedTensor");
  GgufBuilder bad_eos = testing::nano_llama();
  bad_eos.set("tokenizer.ggml.eot_token_id", std::uint32_t{9999});
  EXPECT_EQ(import_code(bad_eos), "BadVocab");
  GgufBuilder lacking;
  lacking.set("general.architecture", "llama").set("llama.embedding_length", std::uint32_t{8});
  lacking.set("llama.block_count", std::uint32_t{1}).set("llama.feed_forward_length", std::uint32_t{8});
  lacking.set("llama.attention.head_count", std::uint32_t{2});
  lacking.tensor("token_embd.weight", {4, 8}, std::vector<float>(32, 1));
  EXPECT_EQ(import_code(lacking), "MissingTensor");
  EXPECT_THAT(message_, HasSubstr("input_layernorm"));
  testing::nano_llama().write(path_);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 64);
  EXPECT_EQ(code_of([&] { Checkpoint::open(path_); }), "TensorOutOfRange");
}

// A stored graph decides what a model needs.
TEST_F(ImportTest, AStoredGraphNeedsItsWeights) {
  testing::nano_llama().write(path_);
  const auto source = Checkpoint::open(path_);
  const auto write = [&](const std::string& without, const std::vector<std::byte>& mir) {
    ModelWriter writer("x");
    write_config(source->config(), writer.config());
    writer.set_mir(mir);
    for (const CheckpointTensor& tensor : source->tensors())
      if (tensor.name != without) writer.add_tensor(tensor.name, source->find(tensor.name));
    writer.write(directory_ / "in.model");
  };
  const auto code = [&] { return code_of([&] { import_model(*Checkpoint::open(directory_ / "in.model"), output_); }); };
  std::vector<std::byte> mir = to_binary(source->graph());
  write("", mir);
  EXPECT_EQ(code(), "");
  EXPECT_EQ(code_of([&] { Checkpoint::open_vocabulary(output_); }), "MissingTokenizer");
  write("model.norm.weight", mir);
  EXPECT_EQ(code(), "IncompleteModel");
  EXPECT_THAT(message_, HasSubstr("model.norm.weight"));
  mir.resize(mir.size() - 3);
  write("", mir);
  EXPECT_EQ(code(), "GraphSection");
}

TEST_F(ImportTest, TheGraphOfWhatIsNotFullAttentionIsNotGuessed) {
  testing::nano_llama().write(path_);
  const auto source = Checkpoint::open(path_);
  ModelWriter writer("x");
  write_config(source->config(), writer.config());
  writer.config().set("architecture.layer_types", std::vector<std::string>{"sliding_attention"});
  for (const CheckpointTensor& tensor : source->tensors()) writer.add_tensor(tensor.name, source->find(tensor.name));
  writer.write(output_);
  EXPECT_EQ(code_of([&] { Checkpoint::open(output_)->graph(); }), "UnsupportedLayerType");
}

// Version 1 spelled IEEE floats u32 and GGUF's blocks q8; today's file says so by today's names.
TEST_F(ImportTest, AnOlderFileIsWrittenAnewOnRequest) {
  testing::nano_llama().write(path_);
  import_model(*Checkpoint::open(path_), output_, {.quantize = QuantizePlan{.dtype = DType::q8_0}});
  std::string text = content(output_);
  const std::size_t weights = text.find("~~~weights\n");
  std::string header = text.substr(0, weights), blob = text.substr(weights);
  const auto replace_all = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = header.find(from, at)) != std::string::npos; at += to.size())
      header.replace(at, from.size(), to);
  };
  replace_all("\"f32\"", "\"u32\"");
  replace_all("\"q8_0\"", "\"q8\"");
  replace_all("format_version = 2\n", "");
  for (std::size_t at; (at = header.find("sha256 = ")) != std::string::npos;)
    header.erase(at, header.find('\n', at) + 1 - at);
  // The graph section would contradict the types of before; older files had none.
  const std::size_t graph = header.find("~~~graph\n"), vocab = header.find("~~~vocab\n");
  header.erase(graph, vocab - graph);
  const auto older = directory_ / "older.model", again = directory_ / "again.model";
  GgufBuilder::write_file(older, header + blob);
  EXPECT_EQ(code_of([&] { Checkpoint::open(older); }), "UnsupportedVersion");
  EXPECT_THAT(message_, HasSubstr("weft import --legacy"));
  import_model(*Checkpoint::open(older, {.legacy = true}), again);
  const ModelFile first = ModelFile::open(output_), second = ModelFile::open(again);
  EXPECT_EQ(second.format_version(), 2);
  ASSERT_EQ(second.tensors().size(), first.tensors().size());
  for (std::size_t i = 0; i < first.tensors().size(); ++i) {
    EXPECT_EQ(second.tensors()[i].dtype, first.tensors()[i].dtype);
    const Tensor a = first.tensor(first.tensors()[i]), b = second.tensor(second.tensors()[i]);
    EXPECT_TRUE(std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end()));
  }
  EXPECT_EQ(second.graph()->bytes, first.graph()->bytes);
}

}  // namespace
}  // namespace weft
