// Whole models that are cut at every byte, and with every byte changed: opened, compiled, run and verified as a user
// would. Each is refused with an Error or runs, and takes no memory that the file does not justify.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "allocation_count.h"
#include "nano_model.h"
#include "temporary_directory.h"
#include "weft/base/error.h"
#include "weft/base/log.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/from_mir.h"
#include "weft/formats/model_writer.h"
#include "weft/models/checkpoint.h"
#include "weft/models/language_model.h"
#include "weft/models/verify/verify_file.h"

namespace weft {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

// One layer of a Llama whose header is small enough for each of its bytes to be tried.
testing::GgufBuilder tiny() {
  testing::GgufBuilder builder;
  builder.set("general.architecture", "llama").set("llama.embedding_length", std::uint32_t{8});
  builder.set("llama.block_count", std::uint32_t{1}).set("llama.feed_forward_length", std::uint32_t{8});
  builder.set("llama.attention.head_count", std::uint32_t{2}).set("llama.context_length", std::uint32_t{8});
  builder.set("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  const auto add = [&](const std::string& name, const std::vector<std::int64_t>& dims) {
    std::vector<float> values(static_cast<std::size_t>(dims.size() == 1 ? dims[0] : dims[0] * dims[1]));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) / 4 - 0.6f;
    builder.tensor(name, dims, values);
  };
  for (const char* name : {"output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"}) add(std::string(name) + ".weight", {8});
  for (const char* name : {"token_embd", "blk.0.attn_q", "blk.0.attn_k", "blk.0.attn_v", "blk.0.attn_output",
                           "blk.0.ffn_gate", "blk.0.ffn_up", "blk.0.ffn_down"})
    add(std::string(name) + ".weight", {8, 8});
  return builder;
}

class HostileModelsTest : public ::testing::Test {
 protected:
  // Thousands of files that are odd would say so thousands of times.
  static void SetUpTestSuite() {
    level_ = log().level();
    log().set_level(spdlog::level::off);
  }
  static void TearDownTestSuite() { log().set_level(level_); }

  // Whether it ran.
  bool run() {
    const std::uint64_t before = test::allocations().bytes;
    bool ran = false;
    try {
      auto model =
          LanguageModel::open(path_, {.context = 4, .threads = 1, .backend = "reference", .kv_type = DType::f32});
      model.logits(std::vector<std::int32_t>{1, 2});
      ran = true;
    } catch (const Error& error) {
      EXPECT_FALSE(error.code().empty() || error.message().empty());
    }
    EXPECT_LT(test::allocations().bytes - before, most_bytes);
    return ran;
  }
  // Whether nothing was found.
  bool verify() {
    const std::uint64_t before = test::allocations().bytes;
    const bool ok = verify_file(path_, {.threads = 1}).ok();
    EXPECT_LT(test::allocations().bytes - before, most_bytes);
    return ok;
  }

  void patch(std::size_t at, char byte) {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at)).put(byte);
  }
  // Each byte in one of a few ways, by turns. Gives how many of the files `use` took.
  std::size_t change(const std::string& whole, std::size_t from, std::size_t to, std::size_t step,
                     const std::function<bool()>& use) {
    constexpr char patterns[] = {'\x01', '\x80', '\x10', '\xFF', '\x04', '\x40'};
    testing::GgufBuilder::write_file(path_, whole);
    std::size_t taken = 0;
    for (std::size_t at = from; at < to; at += step) {
      patch(at, static_cast<char>(whole[at] ^ patterns[at / step % std::size(patterns)]));
      taken += use() ? 1 : 0;
      patch(at, whole[at]);
    }
    return taken;
  }
  // Without sums, which would refuse all but a few changes at the door.
  std::string tiny_model() {
    tiny().write(path_);
    const auto source = Checkpoint::open(path_);
    ModelWriter writer("tiny", {.alignment = 64, .hashes = false});
    write_config(source->config(), writer.config());
    writer.set_graph(graph_ir::encode(graph_ir::from_mir(source->graph()).graph));
    for (const CheckpointTensor& tensor : source->tensors()) writer.add_tensor(tensor.name, source->find(tensor.name));
    const auto model = directory_ / "model";
    writer.write(model);
    std::ifstream file(model, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static inline spdlog::level::level_enum level_ = spdlog::level::warn;
  testing::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "file";
};

TEST_F(HostileModelsTest, AGgufWithAnyByteChangedIsRefusedOrRuns) {
  const std::string whole = tiny().build();
  const std::size_t header = tiny().header().size();
  const std::size_t ran = change(whole, 0, header, 1, [&] { return run(); });
  EXPECT_GT(ran, 0u);
  EXPECT_LT(ran, header / 2);
}

TEST_F(HostileModelsTest, AModelWithAnyByteChangedIsRefusedOrRuns) {
  const std::string whole = tiny_model();
  const std::size_t text = whole.find("~~~weights\n");
  const std::size_t ran = change(whole, 0, text, 1, [&] { return run(); });
  EXPECT_GT(ran, 0u);
  EXPECT_LT(ran, text / 2);
}

TEST_F(HostileModelsTest, VerifyTakesAnything) {
  for (const std::string& whole : {tiny().build(), tiny_model()}) {
    testing::GgufBuilder::write_file(path_, whole);
    EXPECT_TRUE(verify());
    EXPECT_TRUE(run());
    const std::size_t ok = change(whole, 0, whole.size(), 5, [&] { return verify(); });
    EXPECT_GT(ok, 0u);
    testing::GgufBuilder::write_file(path_, whole);
    for (std::size_t size = whole.size(); size > 7; size -= 7) {
      std::filesystem::resize_file(path_, size - 1);
      EXPECT_FALSE(verify()) << size;
      EXPECT_FALSE(run()) << size;
    }
  }
}

}  // namespace
}  // namespace weft
