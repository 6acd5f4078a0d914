#include "weft/formats/model_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "temporary_directory.h"
#include "weft/base/error.h"
#include "weft/formats/model_file.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ModelWriterTest : public ::testing::Test {
 protected:
  static std::string code_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.code();
    }
    return "";
  }
  static std::string content(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static Tensor ramp(std::int64_t count) {
    Tensor tensor = Tensor::allocate(DType::f32, {count});
    for (std::int64_t i = 0; i < count; ++i)
      tensor.mutable_values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i);
    return tensor;
  }
  static ModelWriter full(const ModelWriterOptions& options = {}) {
    ModelWriter writer("a \"tiny\" model", options);
    writer.set_lineage("source", "org/tiny");
    writer.set_lineage("odd key", "x");
    writer.config().set("model_type", std::string("llama"));
    writer.config().set("architecture.hidden_size", std::int64_t{4});
    writer.set_section("card", "md", "# Tiny\n~~~python\nx\n~~~");
    writer.set_section("notes", "txt", "");
    const std::vector<std::byte> blob{std::byte{1}, std::byte{0xAB}};
    writer.set_graph(blob);
    writer.set_mir(blob);
    ConfigTable chat;
    chat.set("template", std::string("{% for m in messages %}\n~~~chat\n\"\"\"{{ m }}\\n{% endfor %}"));
    chat.set("format", std::string("chatml"));
    writer.set_chat(chat);
    writer.add_tensor("model.norm.weight", ramp(5));
    writer.add_tensor("model.x", DType::i8, {3}, [] {
      const char bytes[] = {1, 2, 3};
      return Tensor::copy_bytes(std::as_bytes(std::span(bytes)), DType::i8, {3});
    });
    writer.add_alias("model.lm_head.weight", "model.norm.weight");
    writer.add_tensor("model.y", ramp(2).reshaped({2, 1}));
    return writer;
  }

  testing::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "x.model";
};

TEST_F(ModelWriterTest, WhatIsWrittenIsRead) {
  for (const std::uint64_t alignment : {1, 64, 4096})
    for (const bool hashes : {true, false}) {
      full({alignment, hashes}).write(path_);
      const ModelFile model = ModelFile::open(path_);
      EXPECT_THAT(model.warnings(), IsEmpty());
      EXPECT_EQ(model.finish_verification(), hashes);
      EXPECT_EQ(model.name(), "a \"tiny\" model");
      EXPECT_EQ(model.frontmatter().get_string("cyb.lineage.source"), "org/tiny");
      EXPECT_EQ(model.frontmatter().get_string("cyb.lineage.\"odd key\""), "x");
      EXPECT_EQ(model.config().get_int("architecture.hidden_size"), 4);
      EXPECT_EQ(model.section("card"), "# Tiny\n~~~python\nx\n~~~\n");
      EXPECT_EQ(model.section("notes"), "");
      EXPECT_EQ(model.graph()->bytes, (std::vector{std::byte{1}, std::byte{0xAB}}));
      EXPECT_EQ(model.mir()->size(), 2u);
      EXPECT_EQ(model.chat()->get_string("template"), "{% for m in messages %}\n~~~chat\n\"\"\"{{ m }}\\n{% endfor %}");
      EXPECT_EQ(model.chat()->get_string("format"), "chatml");
      EXPECT_THAT(model.tensor("model.norm.weight").values<float>(), ElementsAre(0, 1, 2, 3, 4));
      EXPECT_THAT(model.tensor("model.x").values<std::int8_t>(), ElementsAre(1, 2, 3));
      EXPECT_THAT(model.tensor("model.y").dims(), ElementsAre(2, 1));
      EXPECT_EQ(model.find_tensor("lm_head.weight")->offset, model.find_tensor("model.norm.weight")->offset);
      EXPECT_EQ(model.sections().back().offset % alignment, 0u);
      for (const ModelTensor& tensor : model.tensors()) EXPECT_EQ(tensor.offset % alignment, 0u) << tensor.name;
      if (alignment > 1) {
        EXPECT_TRUE(model.tensor("model.y").shares_bytes_with(model.tensor("model.y")));
      }
    }
}

TEST_F(ModelWriterTest, TheSameInputGivesTheSameBytes) {
  const ModelWriter writer = full();
  writer.write(path_);
  const std::string first = content(path_);
  writer.write(path_);
  EXPECT_EQ(content(path_), first);
  full().write(directory_ / "y.model");
  EXPECT_EQ(content(directory_ / "y.model"), first);
  EXPECT_THAT(first, HasSubstr("\n[[files]]\nname = \"config\"\nformat = \"toml\"\nsha256 = \""));
}

TEST_F(ModelWriterTest, AModelWithoutTensorsIsAModel) {
  ModelWriter("empty").write(path_);
  const ModelFile model = ModelFile::open(path_);
  EXPECT_TRUE(model.tensors().empty());
  EXPECT_TRUE(model.finish_verification());
}

TEST_F(ModelWriterTest, TextThatWouldEndItsSectionIsRefused) {
  const auto code = [&](std::string_view name, std::string text) {
    return code_of([&] {
      ModelWriter writer("x");
      writer.set_section(name, "md", std::move(text));
      writer.write(path_);
    });
  };
  EXPECT_EQ(code("card", "~~~python\n~~~\n"), "");
  EXPECT_EQ(code("card", "~~~weights\n"), "DelimiterInText");
  EXPECT_EQ(code("card", "~~~config"), "DelimiterInText");
  EXPECT_EQ(code("card", "a\n~~~tensors\r\n"), "DelimiterInText");
  EXPECT_EQ(code("notes", "~~~python\n"), "DelimiterInText");
  EXPECT_EQ(code("notes", " ~~~python\n"), "");
  EXPECT_EQ(code("notes", "\xff"), "NotUtf8");
  for (const char* name : {"config", "weights", "tensors", "Notes", "", "a b"})
    EXPECT_EQ(code(name, ""), "InvalidField") << name;
}

TEST_F(ModelWriterTest, TensorsAreCheckedWhenTheyAreAdded) {
  ModelWriter writer("x");
  writer.add_tensor("a", ramp(2));
  EXPECT_EQ(code_of([&] { writer.add_tensor("a", ramp(2)); }), "DuplicateTensor");
  EXPECT_EQ(code_of([&] { writer.add_tensor("", ramp(2)); }), "InvalidField");
  EXPECT_EQ(code_of([&] { writer.add_tensor("b", Tensor::zeros(DType::f32, {0})); }), "BadTensorShape");
  EXPECT_EQ(code_of([&] { writer.add_tensor("b", Tensor::zeros(DType::c64, {1})); }), "NotRepresentable");
  EXPECT_EQ(code_of([&] { writer.add_tensor("b", DType::q8_0, {33}, {}); }), "BlockMisaligned");
  EXPECT_EQ(code_of([&] { writer.add_alias("b", "c"); }), "MissingTensor");
  EXPECT_EQ(code_of([&] { ModelWriter("x", {.alignment = 48}); }), "InvalidField");
  EXPECT_EQ(code_of([&] { ModelWriter(""); }), "InvalidField");
  writer.add_tensor("ok", ramp(1));
  writer.write(path_);  // what was refused has left nothing behind
  EXPECT_EQ(ModelFile::open(path_).tensors().size(), 2u);
}

TEST_F(ModelWriterTest, AFailureLeavesNothing) {
  ModelWriter writer = full();
  writer.add_tensor("bad", DType::f32, {1000000}, []() -> Tensor { throw std::runtime_error("source broke"); });
  EXPECT_THROW(writer.write(path_), std::runtime_error);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  ModelWriter wrong("x");
  wrong.add_tensor("a", DType::f32, {3}, [] { return ramp(2); });
  EXPECT_EQ(code_of([&] { wrong.write(path_); }), "ShapeMismatch");
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  EXPECT_EQ(code_of([&] { full().write(directory_ / "no/such/x.model"); }), "Io");
  EXPECT_EQ(code_of([&] { full().write(directory_.path()); }), "Io");
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  full().write(path_);
  const std::string before = content(path_);
  EXPECT_EQ(code_of([&] { wrong.write(path_); }), "ShapeMismatch");
  EXPECT_EQ(content(path_), before);
}

}  // namespace
}  // namespace weft
