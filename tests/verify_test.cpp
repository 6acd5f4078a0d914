// weft verify's checks: a file that is in order, and files with one defect each, which must be called by its name.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <set>

#include "nano_model.h"
#include "temporary_directory.h"
#include "weft/base/error.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/from_mir.h"
#include "weft/formats/model_writer.h"
#include "weft/ir/binary.h"
#include "weft/models/checkpoint.h"
#include "weft/models/model_config.h"
#include "weft/models/verify/verify_file.h"
#include "weft/ops/builder.h"

namespace weft {
namespace {

using ::testing::Contains;
using testing::GgufBuilder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string up_proj = "model.layers.0.mlp.up_proj.weight", norm = "model.norm.weight";

// All that a `.model` is written from, for a test to change.
struct Parts {
  ConfigTable config;
  Vocabulary vocabulary;
  graph_ir::Graph graph;
  std::string chat, eval;
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<std::byte> mir;
  bool with_graph = true, hashes = false;

  explicit Parts(const Checkpoint& source) : vocabulary(source.vocabulary()) {
    write_config(source.config(), config);
    graph = graph_ir::from_mir(source.graph()).graph;
    for (const CheckpointTensor& tensor : source.tensors()) tensors.emplace_back(tensor.name, source.find(tensor.name));
  }
  Tensor& tensor(const std::string& name) {
    return std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.first == name; })->second;
  }
  void erase(const std::string& name) {
    std::erase_if(tensors, [&](const auto& t) { return t.first == name; });
  }
  // One value of an f32 tensor, in a copy of it.
  void set(const std::string& name, std::size_t index, float value) {
    Tensor& found = tensor(name);
    Tensor copy = Tensor::copy_bytes(found.bytes(), found.dtype(), found.dims());
    copy.mutable_values<float>()[index] = value;
    found = copy;
  }
  void write(const std::filesystem::path& path) const {
    ModelWriter writer("nano", {.alignment = 64, .hashes = hashes});
    writer.config() = config;
    if (with_graph) writer.set_graph(graph_ir::encode(graph));
    if (!mir.empty()) writer.set_mir(mir);
    if (vocabulary.type != TokenizerType::none) writer.set_vocabulary(vocabulary);
    if (!chat.empty()) {
      ConfigTable table;
      table.set("template", chat);
      writer.set_chat(table);
    }
    if (!eval.empty()) writer.set_section("eval", "toml", eval);
    for (const auto& [name, tensor] : tensors) writer.add_tensor(name, tensor);
    writer.write(path);
  }
};

class VerifyTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    source_directory_ = new testing::TemporaryDirectory;
    testing::nano_llama().write(*source_directory_ / "nano.gguf");
    source_ = Checkpoint::open(*source_directory_ / "nano.gguf");
  }
  static void TearDownTestSuite() {
    source_.reset();
    delete source_directory_;
    source_directory_ = nullptr;
  }

  // The codes of what is found; errors, or warnings alone.
  std::set<std::string> found(Severity severity = Severity::error, const VerifyOptions& options = {}) {
    report_ = verify_file(path_, options);
    std::set<std::string> codes;
    for (const Finding& finding : report_.findings.all()) {
      EXPECT_FALSE(finding.check.empty() || finding.code.empty() || finding.message.empty());
      if (finding.severity == severity) codes.insert(finding.code);
    }
    EXPECT_EQ(report_.ok(), report_.findings.errors() == 0);
    return codes;
  }
  std::set<std::string> errors_with(const std::function<void(Parts&)>& change) {
    Parts parts(*source_);
    change(parts);
    parts.write(path_);
    return found();
  }
  std::set<std::string> warnings_with(const std::function<void(Parts&)>& change) {
    EXPECT_THAT(errors_with(change), IsEmpty());
    return found(Severity::warning);
  }
  // The text of a model that is in order, changed.
  std::set<std::string> errors_in_text(const std::string& from, const std::string& to, bool hashes = false) {
    Parts parts(*source_);
    parts.hashes = hashes;
    parts.write(path_);
    std::string text = content();
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    GgufBuilder::write_file(path_, text.replace(at, from.size(), to));
    return found();
  }
  std::set<std::string> errors_in_gguf(const GgufBuilder& builder) {
    builder.write(path_);
    return found();
  }
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string message_of(const std::string& code) const {
    for (const Finding& finding : report_.findings.all())
      if (finding.code == code) return finding.where + ": " + finding.message;
    return "";
  }
  using Codes = std::set<std::string>;

  static testing::TemporaryDirectory* source_directory_;
  static std::shared_ptr<const Checkpoint> source_;
  testing::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "nano";
  VerifyReport report_;
};

testing::TemporaryDirectory* VerifyTest::source_directory_ = nullptr;
std::shared_ptr<const Checkpoint> VerifyTest::source_;

TEST_F(VerifyTest, AFileInOrderHasNoFindings) {
  for (const bool hashes : {true, false}) {
    EXPECT_EQ(errors_with([&](Parts& p) {
                p.hashes = hashes;
                p.chat = "<s>{{ messages }}";
                p.eval = "[[benchmarks]]\nname = \"a\"\nprompt = \"b\"\nexpected_contains = \"\"\n";
              }),
              Codes());
    EXPECT_THAT(report_.findings.all(), IsEmpty());
    for (const CheckResult& check : report_.findings.checks())
      EXPECT_EQ(check.done, check.name != "hashes" || hashes) << check.name;
  }
  testing::nano_llama().write(path_);
  EXPECT_EQ(found(), Codes());
  EXPECT_THAT(report_.findings.all(), IsEmpty());
  EXPECT_EQ(report_.format, "GGUF version 3");
  EXPECT_THROW(verify_file(directory_ / "absent"), Error);
  GgufBuilder::write_file(path_, "what is this?");
  EXPECT_EQ(found(), Codes{"UnknownFormat"});
}

TEST_F(VerifyTest, Structure) {
  EXPECT_EQ(errors_in_text("format_version = 2", "format_version = 3"), Codes{"UnsupportedVersion"});
  EXPECT_EQ(errors_in_text("format_version = 2", "# none"), Codes{"UnsupportedVersion"});
  EXPECT_EQ(errors_in_text("types = [\"model\"]", "types = [\"other\"]"), Codes{"NotAModel"});
  EXPECT_EQ(errors_in_text("name = \"nano\"\n", ""), Codes{"MissingField"});
  EXPECT_EQ(errors_in_text("~~~graph\n", "~~~grape\n"), Codes{"UnknownSection"});
  EXPECT_EQ(errors_in_text("~~~graph\n", "~~~config\n"), Codes{"DuplicateSection"});
  EXPECT_EQ(errors_in_text("~~~graph\n", "~~~graph\r\n"), Codes{"CrlfDelimiter"});
  EXPECT_EQ(errors_in_text("~~~config\n", "\n"), Codes{"MissingSection"});
  EXPECT_EQ(errors_in_text("~~~weights\n", "~~~weighty\n"), Codes{"NoWeightsMarker"});
  EXPECT_EQ(errors_in_text("model_type = ", "model_type : "), Codes{"Toml"});
  EXPECT_EQ(errors_in_text("\"llama\"",
                           "\"lla\xff"
                           "a\""),
            Codes{"NotUtf8"});
  // A cut file has lost its last tensor; all the rest is looked at.
  Parts(*source_).write(path_);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 5);
  EXPECT_EQ(found(), (Codes{"WeightsSizeMismatch", "TensorOutOfRange", "MissingTensor"}));
  EXPECT_EQ(report_.findings.checks().size(), 9u);
}

TEST_F(VerifyTest, Tensors) {
  const auto with = [&](const std::string& key, const std::string& value) {
    Parts(*source_).write(path_);
    std::string text = content();
    const std::size_t entry = text.find("[\"" + norm + "\"]"), at = text.find(key + " = ", entry),
                      end = text.find('\n', at);
    GgufBuilder::write_file(path_, text.replace(at, end - at, value.empty() ? "" : key + " = " + value));
    Codes codes = found();
    EXPECT_EQ(codes.erase("MissingTensor"), 1u);  // the config misses what is left out
    return codes;
  };
  EXPECT_EQ(with("encoding", "\"f33\""), Codes{"UnknownEncoding"});
  EXPECT_EQ(with("size", "124"), Codes{"TensorSizeMismatch"});
  EXPECT_EQ(with("shape", "[0]"), Codes{"BadTensorShape"});
  EXPECT_EQ(with("shape", "[4611686018427387904, 32]"), Codes{"SizeOverflow"});
  EXPECT_EQ(with("offset", "1000000000"), Codes{"TensorOutOfRange"});
  EXPECT_EQ(with("offset", ""), Codes{"MissingField"});
  EXPECT_EQ(errors_in_text("[\"" + norm + "\"]", "[\"model.language_model.norm.weight\"]"), Codes());
  EXPECT_EQ(errors_in_text("[\"" + norm + "\"]", "[\"" + up_proj + "\"]"), Codes{"DuplicateTensor"});
  // The last tensor begins where the one before it has not ended.
  Parts(*source_).write(path_);
  std::string text = content();
  const std::size_t at = text.find("offset = ", text.find("[\"" + norm + "\"]")) + 9, end = text.find('\n', at);
  const std::int64_t offset = std::stoll(text.substr(at, end - at));
  GgufBuilder::write_file(path_, text.replace(at, end - at, std::to_string(offset - 64)));
  EXPECT_EQ(found(), Codes{"TensorOverlap"});
}

TEST_F(VerifyTest, Hashes) {
  EXPECT_EQ(errors_in_text("rope_theta = 10000.0", "rope_theta = 20000.0", true),
            (Codes{"HashMismatch", "GraphDiffers"}));
  EXPECT_THAT(message_of("HashMismatch"), HasSubstr("section config"));
  Parts parts(*source_);
  parts.hashes = true;
  parts.write(path_);
  std::string text = content();
  text[text.size() - 40] ^= 1;
  GgufBuilder::write_file(path_, text);
  EXPECT_EQ(found(), Codes{"HashMismatch"});
  EXPECT_THAT(message_of("HashMismatch"), HasSubstr("section weights"));
}

TEST_F(VerifyTest, Ranges) {
  Parts(*source_).write(path_);
  std::string text = content();
  GgufBuilder::write_file(path_, text.insert(text.find("~~~weights"), "\n"));
  EXPECT_EQ(found(), Codes());
  EXPECT_EQ(found(Severity::warning), Codes{"MisalignedTensor"});
  const auto odd = [](Parts& p) { p.tensors.insert(p.tensors.begin(), {"extra", Tensor::zeros(DType::f32, {1})}); };
  EXPECT_EQ(warnings_with(odd), Codes{"UnusedTensor"});
  text = content();
  text[text.find("~~~weights\n") + 11 + 40] = 'x';
  GgufBuilder::write_file(path_, text);
  EXPECT_EQ(found(Severity::warning), (Codes{"UnusedTensor", "NonZeroPadding"}));
  EXPECT_EQ(errors_in_text("size = ", "size = "), Codes());
  text = content();
  const std::size_t at = text.find("size = ", text.find("name = \"weights\"")) + 7, end = text.find('\n', at);
  const std::int64_t size = std::stoll(text.substr(at, end - at));
  text.replace(at, end - at, std::to_string(size + 8192));
  GgufBuilder::write_file(path_, text + std::string(8192, '\0'));
  EXPECT_EQ(found(Severity::warning), Codes{"UnusedBytes"});
}

TEST_F(VerifyTest, ConfigAndNames) {
  const auto architecture = [&](const char* key, std::int64_t value) {
    return errors_with([&](Parts& p) { p.config.set(std::string("architecture.") + key, value); });
  };
  EXPECT_EQ(architecture("num_key_value_heads", 3), Codes{"InvalidConfig"});
  EXPECT_EQ(architecture("head_dim", 15), Codes{"InvalidConfig"});
  EXPECT_EQ(architecture("intermediate_size", 65), Codes{"ShapeMismatch"});
  EXPECT_EQ(architecture("vocab_size", 263), (Codes{"ShapeMismatch", "TokenOutOfRange"}));
  EXPECT_EQ(architecture("num_hidden_layers", 2), Codes{"MissingTensor"});
  EXPECT_EQ(report_.findings.errors(), 9u);  // all that the second layer lacks
  EXPECT_EQ(architecture("num_hidden_layers", 60000), Codes{"MissingTensor"});
  EXPECT_EQ(errors_with([](Parts& p) { p.config.erase("architecture.hidden_size"); }), Codes{"MissingField"});
  EXPECT_EQ(errors_with([](Parts& p) { p.config.set("architecture.layer_types", std::vector<std::string>{"odd"}); }),
            Codes{"InvalidConfig"});
  EXPECT_EQ(errors_with([](Parts& p) {
              p.with_graph = false;
              p.config.set("model_type", std::string("mamba"));
            }),
            Codes{"UnsupportedArchitecture"});
  EXPECT_EQ(errors_with([](Parts& p) { p.erase(norm); }), Codes{"MissingTensor"});
  EXPECT_EQ(errors_with([](Parts& p) { p.tensor(norm) = Tensor::zeros(DType::f32, {31}); }), Codes{"ShapeMismatch"});
  EXPECT_EQ(
      errors_with([](Parts& p) { p.tensors.emplace_back("model.layers.1.mlp.up_proj.weight", p.tensor(up_proj)); }),
      Codes{"UnexpectedTensor"});
  EXPECT_EQ(warnings_with([](Parts& p) { p.tensors.emplace_back("model.extra", p.tensor(up_proj)); }),
            Codes{"UnusedTensor"});
}

TEST_F(VerifyTest, Values) {
  EXPECT_EQ(errors_with([](Parts& p) { p.set(up_proj, 77, std::nanf("")); }), Codes{"NonFiniteWeights"});
  EXPECT_THAT(message_of("NonFiniteWeights"),
              HasSubstr(up_proj + "\": 1 NaN and 0 infinities in 2048 values, the first "
                                  "at element 77"));
  EXPECT_EQ(errors_with([](Parts& p) { p.set(norm, 31, -HUGE_VALF); }), Codes{"NonFiniteWeights"});
  // A scale of a block that is no number.
  EXPECT_EQ(errors_with([](Parts& p) {
              Tensor blocks = Tensor::zeros(DType::q8_0, {64, 32});
              blocks.mutable_bytes()[34 * 5 + 1] = std::byte{0x7E};
              for (std::size_t i = 34; i < 68; ++i) blocks.mutable_bytes()[i] = std::byte{1};
              p.tensor(up_proj) = blocks;
              p.with_graph = false;
            }),
            Codes{"NonFiniteWeights"});
  EXPECT_EQ(warnings_with([](Parts& p) {
              p.tensor(up_proj) = Tensor::zeros(DType::f32, {64, 32});
            }),
            Codes{"ZeroTensor"});
  EXPECT_EQ(warnings_with([](Parts& p) {
              Tensor codes = Tensor::zeros(DType::ternary, {64, 32});
              codes.mutable_bytes()[9] = std::byte{0b00'11'01'10};
              p.tensor(up_proj) = codes;
              p.with_graph = false;
            }),
            Codes{"ReservedTernaryCode"});
}

TEST_F(VerifyTest, Graph) {
  const auto graph = [&](const std::function<void(graph_ir::Graph&)>& change) {
    return errors_with([&](Parts& p) { change(p.graph); });
  };
  const auto node = [](graph_ir::Graph& g, graph_ir::Tag tag) -> graph_ir::Node& {
    return *std::find_if(g.nodes.begin(), g.nodes.end(), [&](const auto& n) { return n.op.tag == tag; });
  };
  // Other constants, another order of operands, another weight: all decode, none is the model.
  EXPECT_EQ(graph([&](graph_ir::Graph& g) { node(g, graph_ir::Tag::rms_norm).op.params[0] = 1e-3f; }),
            Codes{"GraphDiffers"});
  EXPECT_THAT(message_of("GraphDiffers"), HasSubstr("RmsNorm"));
  EXPECT_EQ(graph([&](graph_ir::Graph& g) {
              for (auto& n : g.nodes)
                if (n.op.tag == graph_ir::Tag::matmul && n.inputs[1] == up_proj)
                  n.inputs[1] = "model.layers.0.mlp.gate_proj.weight";
            }),
            Codes{"GraphDiffers"});
  // A sum the other way around is another graph with the same results.
  const auto swapped = [&](Parts& p) {
    auto& sum = node(p.graph, graph_ir::Tag::add);
    std::swap(sum.inputs[0], sum.inputs[1]);
  };
  EXPECT_EQ(warnings_with(swapped), Codes{"GraphForm"});
  // What contradicts the weights, or itself.
  EXPECT_EQ(graph([&](graph_ir::Graph& g) { node(g, graph_ir::Tag::matmul).inputs[1] = "model.absent"; }),
            Codes{"WeightMissing"});
  EXPECT_EQ(graph([&](graph_ir::Graph& g) { node(g, graph_ir::Tag::matmul).inputs[1] = norm; }), Codes{"RankMismatch"});
  EXPECT_EQ(graph([&](graph_ir::Graph& g) { g.outputs = {"nothing"}; }), Codes{"OutputUndefined"});
  // weft's own form of a graph; and one that would take 64 GB to run.
  const auto with_mir = [&](const Graph& mir) {
    return errors_with([&](Parts& p) {
      p.with_graph = false;
      p.mir = to_binary(mir);
    });
  };
  EXPECT_EQ(with_mir(source_->graph()), Codes());
  Graph huge = source_->graph();
  const Var logits{huge, huge.outputs()[0].value};
  const Var one = reshape(reduce_sum(logits, {0, 1}), {1});
  const Var sum = reduce_sum(expand(one, {Dim(std::int64_t{1} << 34)}), {0});
  huge.set_outputs({{"logits", add(logits, mul(sum, sum)).value()}});
  EXPECT_EQ(with_mir(huge), Codes{"MemoryLimitExceeded"});
  Parts(*source_).write(path_);
  std::string text = content();
  const std::size_t at = text.find("~~~graph\n") + 9, end = text.find('\n', at);
  const std::string hex = text.substr(at, end - at);
  const auto with_hex = [&](const std::string& other) {
    GgufBuilder::write_file(path_, std::string(text).replace(at, hex.size(), other));
    return found();
  };
  EXPECT_EQ(with_hex(hex), Codes());
  EXPECT_EQ(with_hex(hex.substr(0, hex.size() - 20)), Codes{"Truncated"});
  EXPECT_EQ(with_hex("zz" + hex.substr(2)), Codes{"HexBadDigit"});
  EXPECT_EQ(with_hex(hex.substr(1)), Codes{"HexOddLength"});
  EXPECT_EQ(with_hex(hex + "00"), Codes{"TrailingBytes"});
}

TEST_F(VerifyTest, Tokenizer) {
  EXPECT_EQ(errors_with([](Parts& p) {
              p.vocabulary.entries.push_back({300, "beyond", -300.f});
            }),
            Codes{"TokenOutOfRange"});
  EXPECT_EQ(errors_in_text("eos_token_ids = [2]", "eos_token_ids = [999]"), Codes{"BadVocab"});
  EXPECT_EQ(errors_in_text("\n5 = \"", "\n4 = \""), Codes{"BadVocab"});
  EXPECT_EQ(errors_in_text("type = \"spm_bpe\"", "type = \"morse\""), Codes{"UnsupportedTokenizer"});
  EXPECT_EQ(warnings_with([](Parts& p) { p.vocabulary.entries.pop_back(); }), Codes{"TokensMissing"});
  EXPECT_EQ(warnings_with([](Parts& p) { p.vocabulary.entries[260].text = p.vocabulary.entries[261].text; }),
            Codes{"DuplicateToken"});
  EXPECT_EQ(warnings_with([](Parts& p) { p.vocabulary.eos.clear(); }), Codes{"NoEndOfText"});
  EXPECT_EQ(warnings_with([](Parts& p) { p.vocabulary = {}; }), Codes{"MissingTokenizer"});
  EXPECT_EQ(warnings_with([](Parts& p) { p.vocabulary.merges = {{"a", "b"}}; }), Codes{"MergeWithoutToken"});
  EXPECT_EQ(warnings_with([](Parts& p) { p.chat = "<|im_start|>{{ m }}<|im_start|><s>"; }),
            Codes{"UnknownSpecialToken"});
  EXPECT_EQ(report_.findings.warnings(), 1u);
}

TEST_F(VerifyTest, Eval) {
  const auto with = [&](const std::string& eval, bool run = false) {
    Parts parts(*source_);
    parts.eval = eval;
    parts.write(path_);
    return found(Severity::error, {.eval = run, .threads = 1});
  };
  const std::string good = "[[benchmarks]]\nname = \"a\"\nprompt = \"b\"\ntokens = 4\nexpected_contains = ";
  EXPECT_EQ(with("[scores]\nmmlu = 600\n"), Codes());
  EXPECT_EQ(with(good + "\"\"\n", true), Codes());
  EXPECT_EQ(with(good + "\"a text that no such model writes\"\n", true), Codes{"EvalFailed"});
  EXPECT_EQ(with(good + "\"a text that no such model writes\"\n"), Codes());
  EXPECT_EQ(with(good + "5\n"), Codes{"InvalidField"});
  EXPECT_EQ(with(good + "\"\"\ntemperature = -1\n"), Codes{"InvalidField"});
  EXPECT_EQ(with("[[benchmarks]]\nname = \"a\"\n"), Codes{"InvalidField"});
  EXPECT_EQ(with("benchmarks = 5\n"), Codes{"InvalidField"});
  EXPECT_EQ(with("what\n"), Codes{"Toml"});
}

TEST_F(VerifyTest, Gguf) {
  const GgufBuilder good = testing::nano_llama();
  const auto with = [&](const std::function<void(GgufBuilder&)>& change) {
    GgufBuilder builder = good;
    change(builder);
    return errors_in_gguf(builder);
  };
  EXPECT_EQ(with([](GgufBuilder& b) { b.version = 9; }), Codes{"UnsupportedVersion"});
  EXPECT_EQ(with([](GgufBuilder& b) { b.extra_tensors = 1; }), Codes{"InvalidField"});
  EXPECT_EQ(with([](GgufBuilder& b) { b.set("general.name", "again"); }), Codes{"DuplicateKey"});
  EXPECT_EQ(with([](GgufBuilder& b) { b.tensor("blk.0.mystery.weight", {32}, std::vector<float>(32, 1)); }),
            Codes{"UnmappedTensor"});
  EXPECT_EQ(with([](GgufBuilder& b) { b.describe("blk.0.ffn_up.bias", {32}, 0, 4); }), Codes{"MisalignedTensor"});
  EXPECT_EQ(with([](GgufBuilder& b) { b.describe("blk.0.ffn_up.bias", {32}, 0, 32); }), Codes{"TensorOverlap"});
  EXPECT_EQ(with([](GgufBuilder& b) { b.describe("blk.0.ffn_up.bias", {32}, 0, 1 << 20); }), Codes{"TensorOutOfRange"});
  EXPECT_EQ(with([](GgufBuilder& b) { b.describe("blk.0.ffn_up.bias", {32}, 99, 0); }), Codes{"UnsupportedSourceType"});
  EXPECT_EQ(with([](GgufBuilder& b) { b.tensor("blk.1.ffn_up.weight", {2}, {1, 2}); }), Codes{"UnexpectedTensor"});
  EXPECT_EQ(with([](GgufBuilder& b) { b.tensor("blk.0.attn_q_norm.weight", {2}, {1, 2}); }), Codes{"ShapeMismatch"});
  EXPECT_EQ(with([](GgufBuilder& b) { b.tensor("rope_freqs.weight", {8}, std::vector<float>(8, std::nanf(""))); }),
            Codes{"NonFiniteWeights"});
  EXPECT_EQ(with([](GgufBuilder& b) { b.set("tokenizer.ggml.padding_token_id", std::uint32_t{5000}); }),
            Codes{"BadVocab"});
  EXPECT_EQ(with([](GgufBuilder& b) { b.set("llama.rope.scaling.type", "yarn"); }), Codes{"UnsupportedRopeScaling"});
  EXPECT_EQ(errors_in_gguf(testing::nano_llama({.heads = 2, .kv_heads = 2, .layers = 2})), Codes());
  GgufBuilder other;
  other.set("general.architecture", "mamba").tensor("token_embd.weight", {2, 4}, std::vector<float>(8, 1));
  EXPECT_EQ(errors_in_gguf(other), Codes{"UnsupportedArchitecture"});
  good.write(path_);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 40);
  EXPECT_EQ(found(), Codes{"TensorOutOfRange"});
}

TEST_F(VerifyTest, CanBeStopped) {
  Parts(*source_).write(path_);
  VerifyOptions options;
  options.canceled = [] { return true; };
  try {
    verify_file(path_, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::canceled);
  }
}

}  // namespace
}  // namespace weft
