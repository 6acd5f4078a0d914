// Files that are wrong: cut at every byte, with every byte changed, with counts beyond all bounds. Each must be read or
// refused with a weft::Error; crashes, hangs and allocations without bound are what these tests are for, best run under
// the sanitizers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

#include "allocation_count.h"
#include "gguf_builder.h"
#include "temporary_directory.h"
#include "weft/base/error.h"
#include "weft/base/sha256.h"
#include "weft/formats/config_toml.h"
#include "weft/formats/gguf_file.h"
#include "weft/formats/gguf_vocabulary.h"
#include "weft/formats/model_file.h"
#include "weft/formats/model_writer.h"
#include "weft/formats/npy.h"
#include "weft/text/test_vocabularies.h"

namespace weft {
namespace {

using testing::GgufBuilder;

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The code of the error that the action ends in; empty when it does not. It may allocate 64 MB, all in all.
std::string code_of(const std::function<void()>& action) {
  const std::uint64_t before = test::allocations().bytes;
  std::string code;
  try {
    action();
  } catch (const Error& error) {
    EXPECT_FALSE(error.code().empty());
    EXPECT_FALSE(error.message().empty());
    code = error.code();
  }
  EXPECT_LT(test::allocations().bytes - before, std::uint64_t{64} << 20);
  return code;
}

// Reads all there is to read in a file.
void read_gguf(const std::filesystem::path& path) {
  const GgufFile file = GgufFile::open(path);
  for (const GgufEntry& entry : file.metadata()) gguf_text(entry.value);
  for (const GgufTensor& info : file.tensors()) file.tensor(info).to_f32();
  read_gguf_vocabulary(file);
}

void read_model(const std::filesystem::path& path, VerifyHashes verify) {
  const ModelFile model = ModelFile::open(path, {.verify = verify});
  for (const ModelTensor& info : model.tensors()) model.tensor(info).to_f32();
  model.graph();
  model.mir();
  model.chat();
  model.vocabulary();
  model.finish_verification();
}

// A nano model with all that GGUF files have; it ends with the last byte of its last tensor.
GgufBuilder nano() {
  GgufBuilder builder;
  builder.set("general.architecture", "llama").set("general.alignment", std::uint32_t{32});
  builder.set("llama.block_count", std::uint32_t{1}).set("llama.rope.freq_base", 10000.f).set("general.flag", true);
  builder.set("general.big", std::uint64_t{1} << 40).set("general.precise", 0.1).set("general.small", std::int8_t{-1});
  builder.raw("general.nested", 9,
              GgufBuilder::bytes_of<std::uint32_t>(9) + GgufBuilder::bytes_of<std::uint64_t>(1) +
                  GgufBuilder::array_of({"x", "yz"}));
  builder.set("tokenizer.ggml.model", "llama");
  builder.set("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<s>", "</s>", "<0x0A>", "▁a"});
  builder.set("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, 0, -1});
  builder.set("tokenizer.ggml.token_type", std::vector<std::int32_t>{2, 3, 3, 6, 1});
  builder.set("tokenizer.ggml.bos_token_id", std::uint32_t{1}).set("tokenizer.ggml.eos_token_id", std::uint32_t{2});
  const std::vector<float> values(256, 0.5f);
  builder.tensor("norm", {8}, std::vector<float>(8, 1));
  builder.tensor("q8", {2, 32}, std::vector<float>(64, 0.25f), DType::q8_0);
  builder.tensor("q4k", {1, 256}, values, DType::q4_k).tensor("q6k", {256}, values, DType::q6_k);
  builder.tensor("last", {2, 4}, std::vector<float>(8, 2));
  return builder;
}

void write_nano_model(const std::filesystem::path& path) {
  ModelWriter writer("nano");
  writer.set_lineage("source", "test");
  writer.config().set("model_type", std::string("llama"));
  writer.config().set("architecture.layers", std::vector<std::int64_t>{1, 2});
  writer.set_section("card", "md", "# Nano\n~~~\nfence\n~~~\n");
  const std::vector<std::byte> blob(20, std::byte{7});
  writer.set_graph(blob);
  writer.set_mir(blob);
  ConfigTable chat;
  chat.set("template", std::string("{{ \"x\" }}\n"));
  writer.set_chat(chat);
  writer.set_vocabulary(text::four_token_vocabulary());
  Tensor q8 = Tensor::zeros(DType::q8_0, {2, 32});
  writer.add_tensor("model.q", q8);
  writer.add_tensor("model.norm.weight", Tensor::from(std::vector<float>{1, 2, 3}, {3}));
  writer.add_alias("lm_head.weight", "model.q");
  writer.write(path);
}

class HostileFilesTest : public ::testing::Test {
 protected:
  // Cuts the file at every length and reads it; no shorter one is whole.
  void cut_everywhere(const std::string& whole, const std::function<void()>& read) {
    GgufBuilder::write_file(path_, whole);
    ASSERT_EQ(code_of(read), "");
    for (std::size_t size = whole.size(); size-- > 0;) {
      std::filesystem::resize_file(path_, size);
      EXPECT_NE(code_of(read), "") << "cut to " << size << " of " << whole.size() << " bytes";
    }
  }

  // Overwrites a part of the file in place, which takes a fraction of the time that writing it anew does.
  void patch(std::size_t at, std::string_view bytes) {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at)).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  // Changes each byte from `first` to `end` in several ways. Gives how many of the changed files were still read.
  int change_everywhere(const std::string& whole, std::size_t first, std::size_t end, const std::function<void()>& read,
                        std::string_view changes = "\x01\x80\xFF\x20") {
    GgufBuilder::write_file(path_, whole);
    int accepted = 0;
    for (std::size_t at = first; at < end; ++at) {
      for (const char change : changes) {
        patch(at, std::string(1, static_cast<char>(whole[at] ^ change)));
        accepted += code_of(read).empty() ? 1 : 0;
      }
      patch(at, whole.substr(at, 1));
    }
    return accepted;
  }

  void make_sparse(const std::string& start, std::uint64_t size) {
    GgufBuilder::write_file(path_, start);
    std::filesystem::resize_file(path_, size);
  }

  testing::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "file";
};

TEST_F(HostileFilesTest, AGgufFileCutAnywhere) {
  cut_everywhere(nano().build(), [&] { read_gguf(path_); });
}

TEST_F(HostileFilesTest, AGgufFileWithAnyByteChanged) {
  const GgufBuilder builder = nano();
  const int accepted = change_everywhere(builder.build(), 0, builder.header().size() + 64, [&] { read_gguf(path_); });
  // Changed letters and numbers are still a file; changed counts, types and lengths are not.
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, static_cast<int>(builder.header().size()) * 4);
}

TEST_F(HostileFilesTest, AGgufFileWithAnyWordSaturated) {
  const std::string whole = nano().build();
  const std::size_t header = nano().header().size();
  GgufBuilder::write_file(path_, whole);
  int refused = 0;
  for (const std::size_t width : {4u, 8u})
    for (std::size_t at = 4; at + width <= header; ++at) {
      for (const char fill : {'\xFF', '\x7F', '\0'}) {
        patch(at, std::string(width, fill));
        refused += code_of([&] { read_gguf(path_); }).empty() ? 0 : 1;
      }
      patch(at, whole.substr(at, width));
    }
  EXPECT_GT(refused, 1000);
}

TEST_F(HostileFilesTest, AModelCutAnywhere) {
  write_nano_model(path_);
  const std::string whole = content(path_);
  cut_everywhere(whole, [&] { read_model(path_, VerifyHashes::none); });
}

TEST_F(HostileFilesTest, AModelWithAnyByteChanged) {
  write_nano_model(path_);
  const std::string whole = content(path_);
  const std::size_t text = whole.find("~~~weights\n") + 11;
  EXPECT_GT(change_everywhere(whole, 0, text, [&] { read_model(path_, VerifyHashes::none); }), 0);
}

// All that a model is made of, as one text.
std::string digest_of(const std::filesystem::path& path) {
  const ModelFile model = ModelFile::open(path);
  std::string text;
  for (const ModelTensor& info : model.tensors()) {
    text += fmt::format("{} {} {} ", info.name, to_string(info.dtype), dims_text(info.dims));
    const Tensor tensor = model.tensor(info);
    text.append(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.byte_size());
  }
  const auto bytes = [&](const std::vector<std::byte>& blob) {
    text.append(reinterpret_cast<const char*>(blob.data()), blob.size());
  };
  bytes(model.graph()->bytes);
  bytes(*model.mir());
  text += model.chat()->get_string("template") + config_to_toml(model.config());
  const Vocabulary vocabulary = model.vocabulary();
  for (const VocabularyEntry& entry : vocabulary.entries)
    text += fmt::format("{} {} {} ", entry.id, entry.text, static_cast<int>(entry.kind));
  for (const auto& [left, right] : vocabulary.merges) text += left + " " + right + " ";
  model.finish_verification();
  return text;
}

TEST_F(HostileFilesTest, WithDeclaredSumsAModelIsRefusedOrTheSame) {
  write_nano_model(path_);
  const std::string whole = content(path_), expected = digest_of(path_);
  const std::size_t front = whole.find("~~~card\n");
  const auto read = [&] { EXPECT_EQ(digest_of(path_), expected); };
  // Whatever the frontmatter still lets through, a name or a line of lineage, is the same model.
  EXPECT_GT(change_everywhere(whole, 0, front, read, "\x01\x20\x80\xFF"), 0);
  EXPECT_EQ(change_everywhere(whole, front, whole.size(), read, "\x01\x40"), 0);
}

TEST_F(HostileFilesTest, HugeSparseFilesAreRefusedAtOnce) {
  constexpr std::uint64_t ten_gb = 10'000'000'000;
  // Sixteen million empty strings are within the limit of one array; the total is not.
  std::string many_strings = "GGUF" + GgufBuilder::bytes_of<std::uint32_t>(3) +
                             GgufBuilder::bytes_of<std::uint64_t>(0) + GgufBuilder::bytes_of<std::uint64_t>(60000) +
                             GgufBuilder::text_of("k") + GgufBuilder::bytes_of<std::uint32_t>(9) +
                             GgufBuilder::bytes_of<std::uint32_t>(9) + GgufBuilder::bytes_of<std::uint64_t>(1 << 24);
  const std::vector<std::string> starts = {"",
                                           "GGUF",
                                           "GGUF" + GgufBuilder::bytes_of<std::uint32_t>(3),
                                           "[cyb]\ntypes = [\"model\"]\nname = \"this one is never ended\"\n",
                                           many_strings,
                                           nano().header()};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    make_sparse(starts[i], ten_gb);
    const auto begin = std::chrono::steady_clock::now();
    const std::string gguf = code_of([&] { GgufFile::open(path_); }), model = code_of([&] { ModelFile::open(path_); });
    // An empty header is an empty GGUF file, and trailing bytes are none of its business.
    EXPECT_EQ(gguf.empty(), i == 2 || i == 5) << i << " " << gguf;
    EXPECT_NE(model, "") << i;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2)) << i;
  }
}

TEST_F(HostileFilesTest, CountsBeyondTheFileAllocateNothing) {
  for (const std::uint64_t count : {std::uint64_t{1000}, std::uint64_t{65536}, std::uint64_t{1} << 20,
                                    std::uint64_t{1} << 24, std::uint64_t{1} << 32, ~std::uint64_t{0}}) {
    const std::string number = GgufBuilder::bytes_of(count);
    for (const std::uint32_t element : {0u, 8u, 9u, 12u}) {
      GgufBuilder::write_file(path_, GgufBuilder().raw("k", 9, GgufBuilder::bytes_of(element) + number).build());
      EXPECT_NE(code_of([&] { GgufFile::open(path_); }), "");
    }
    GgufBuilder::write_file(path_, GgufBuilder().raw("k", 8, number).build());
    EXPECT_NE(code_of([&] { GgufFile::open(path_); }), "");
    for (const int field : {8, 16}) {
      std::string changed = nano().build();
      GgufBuilder::write_file(path_, changed.replace(static_cast<std::size_t>(field), 8, number));
      EXPECT_NE(code_of([&] { GgufFile::open(path_); }), "");
    }
  }
}

TEST_F(HostileFilesTest, TensorsBeyondOrUponEachOther) {
  const auto code = [&](std::uint64_t first, std::uint64_t second, std::uint32_t type = 0) {
    GgufBuilder builder;
    builder.describe("a", {8}, type, first).describe("b", {8}, type, second);
    GgufBuilder::write_file(path_, builder.build() + std::string(64, '\0'));
    return code_of([&] { GgufFile::open(path_); });
  };
  EXPECT_EQ(code(0, 32), "");
  EXPECT_EQ(code(0, 0), "TensorOverlap");
  EXPECT_EQ(code(0, 64), "TensorOutOfRange");
  EXPECT_EQ(code(0, std::uint64_t{1} << 63), "TensorOutOfRange");
  EXPECT_EQ(code(0, 32, 16), "UnsupportedSourceType");
  EXPECT_EQ(code(0, 32, 0xFFFFFFFF), "UnsupportedSourceType");
}

TEST_F(HostileFilesTest, WhatIsNoFileIsNamed) {
  const auto codes = [&](const std::filesystem::path& path) {
    return code_of([&] { GgufFile::open(path); }) + " " + code_of([&] { ModelFile::open(path); }) + " " +
           code_of([&] { read_npy(path); });
  };
  EXPECT_EQ(codes(directory_ / "absent"), "NotFound NotFound NotFound");
  EXPECT_EQ(codes(directory_.path()), "IsDirectory IsDirectory IsDirectory");
  EXPECT_EQ(codes("/dev/null"), "Io Io Io");
}

TEST_F(HostileFilesTest, OutputThatCannotBeWrittenLeavesNothing) {
  GgufBuilder::write_file(path_, "a file");
  for (const std::filesystem::path& bad : {path_ / "below-a-file", directory_ / "no" / "such", directory_.path()}) {
    EXPECT_NE(code_of([&] { write_nano_model(bad); }), "") << bad;
    EXPECT_NE(code_of([&] { write_npy(bad, Tensor::zeros(DType::f32, {1})); }), "") << bad;
  }
  EXPECT_EQ(content(path_), "a file");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 1);
}

}  // namespace
}  // namespace weft
