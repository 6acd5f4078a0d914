// Writes the seeds of the fuzz targets that weft's own writers and tests have: write_corpus FOLDER. What needs no
// writer (tokenizer_json, the shapes of files that others write) is kept by hand.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gguf_builder.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/test_graphs.h"
#include "weft/formats/graph_ir/to_mir.h"
#include "weft/formats/graph_ir/toml_form.h"
#include "weft/formats/model_writer.h"
#include "weft/ir/binary.h"
#include "weft/text/jinja/json_value.h"
#include "weft/text/test_charsmap.h"
#include "weft/text/test_vocabularies.h"

namespace weft {
namespace {

using testing::GgufBuilder;

class Corpus {
 public:
  explicit Corpus(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path path(const std::string& target, const std::string& name) const {
    std::filesystem::create_directories(folder_ / target);
    return folder_ / target / name;
  }
  void write(const std::string& target, const std::string& name, std::string_view bytes) const {
    GgufBuilder::write_file(path(target, name), bytes);
  }

 private:
  std::filesystem::path folder_;
};

void write_graphs(const Corpus& corpus) {
  int number = 0;
  for (const graph_ir::GoodCase& good : graph_ir::good_cases()) {
    const graph_ir::Graph graph = good.graph();
    const std::string name = std::to_string(static_cast<int>(good.op.tag)) + "_" + std::to_string(number++);
    const std::vector<std::byte> blob = graph_ir::encode(graph);
    corpus.write("graph_ir", name, {reinterpret_cast<const char*>(blob.data()), blob.size()});
    corpus.write("graph_toml", name + ".toml", graph_ir::to_toml(graph));
  }
}

void write_ggufs(const Corpus& corpus) {
  GgufBuilder values;
  values.set("general.architecture", "llama").set("general.alignment", std::uint32_t{32}).set("flag", true);
  values.set("u8", std::uint8_t{1})
      .set("i8", std::int8_t{-1})
      .set("u16", std::uint16_t{2})
      .set("i16", std::int16_t{-2});
  values.set("i32", std::int32_t{-3}).set("u64", std::uint64_t{1} << 40).set("i64", std::int64_t{-4});
  values.set("f32", 1.5f).set("f64", 0.1).set("texts", std::vector<std::string>{"a", "bc"});
  values.set("floats", std::vector<float>{1, 2}).set("ints", std::vector<std::int32_t>{1, -2});
  values.raw("nested", 9,
             GgufBuilder::bytes_of<std::uint32_t>(9) + GgufBuilder::bytes_of<std::uint64_t>(1) +
                 GgufBuilder::array_of({"x", "yz"}));
  corpus.write("gguf", "values", values.build());
  values.version = 2;
  corpus.write("gguf", "version_2", values.build());
  corpus.write("gguf", "empty", GgufBuilder().build());
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_1, DType::q5_0,
                            DType::q5_1, DType::q4_k, DType::q6_k}) {
    const std::int64_t size = dtype == DType::q4_k || dtype == DType::q6_k ? 256 : 32;
    GgufBuilder builder;
    builder.tensor("a", {2, size}, std::vector<float>(static_cast<std::size_t>(2 * size), 0.5f), dtype);
    builder.tensor("b", {3}, {1, 2, 3});
    corpus.write("gguf", "tensors_" + std::string(to_string(dtype)), builder.build());
  }
}

void write_gguf_vocabularies(const Corpus& corpus) {
  const auto start = [](const char* model, const std::vector<std::string>& tokens) {
    GgufBuilder builder;
    builder.set("tokenizer.ggml.model", model).set("tokenizer.ggml.tokens", tokens);
    return builder;
  };
  corpus.write("gguf_vocabulary", "llama",
               start("llama", {"<unk>", "<s>", "</s>", "<0x0A>", "▁a", "b", "ab"})
                   .set("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, 0, -1, -2, -3})
                   .set("tokenizer.ggml.token_type", std::vector<std::int32_t>{2, 3, 3, 6, 1, 1, 1})
                   .set("tokenizer.ggml.bos_token_id", std::uint32_t{1})
                   .set("tokenizer.ggml.eos_token_id", std::uint32_t{2})
                   .set("tokenizer.ggml.unknown_token_id", std::uint32_t{0})
                   .set("tokenizer.ggml.add_space_prefix", false)
                   .build());
  for (const char* pre : {"gpt-2", "llama-bpe", "qwen2"})
    corpus.write("gguf_vocabulary", std::string("bytes_") + pre,
                 start("gpt2", {"a", "b", "ab", "Ġ", "Ġab", "<|end|>", "1", "Ċ"})
                     .set("tokenizer.ggml.pre", pre)
                     .set("tokenizer.ggml.merges", std::vector<std::string>{"a b", "Ġ ab"})
                     .set("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 1, 1, 1, 1, 3, 4, 5})
                     .set("tokenizer.ggml.add_bos_token", true)
                     .set("tokenizer.ggml.bos_token_id", std::uint32_t{5})
                     .build());
  corpus.write("gguf_vocabulary", "bert",
               start("bert", {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁a", "▁hello", "b", "##b", "▁,"})
                   .set("tokenizer.ggml.cls_token_id", std::uint32_t{2})
                   .set("tokenizer.ggml.seperator_token_id", std::uint32_t{3})
                   .set("tokenizer.ggml.unknown_token_id", std::uint32_t{1})
                   .set("tokenizer.ggml.padding_token_id", std::uint32_t{0})
                   .build());
  const std::string map = text::charsmap_of({{"\xEF\xBC\xA1", "a"}, {"b\xCC\x81", "b"}, {"\t", " "}, {"\x01", ""}});
  corpus.write("gguf_vocabulary", "t5",
               start("t5", {"<pad>", "</s>", "<unk>", "▁a", "b", "<0x0A>", "<x>", "▁"})
                   .set("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -1, -2, 0, 0, -3})
                   .set("tokenizer.ggml.token_type", std::vector<std::int32_t>{3, 3, 2, 1, 1, 6, 4, 1})
                   .set("tokenizer.ggml.eos_token_id", std::uint32_t{1})
                   .set("tokenizer.ggml.unknown_token_id", std::uint32_t{2})
                   .set("tokenizer.ggml.add_space_prefix", true)
                   .set("tokenizer.ggml.remove_extra_whitespaces", true)
                   .raw("tokenizer.ggml.precompiled_charsmap", 9,
                        GgufBuilder::array_of(GgufType::u8, std::vector<char>(map.begin(), map.end())))
                   .build());
}

void write_models(const Corpus& corpus) {
  const auto cases = graph_ir::good_cases();
  const graph_ir::Graph graph = cases.front().graph();
  {
    ModelWriter writer("bytes");
    writer.set_lineage("source", "test");
    writer.config().set("model_type", std::string("llama"));
    writer.config().set("architecture.layers", std::vector<std::int64_t>{1, 2});
    writer.set_graph(graph_ir::encode(graph));
    writer.set_mir(to_binary(graph_ir::to_mir(graph)));
    ConfigTable chat;
    chat.set("template", std::string("{{ \"x\" }}\n"));
    writer.set_chat(chat);
    writer.set_vocabulary(text::four_token_vocabulary());
    writer.add_tensor("model.q", Tensor::zeros(DType::q8_0, {2, 32}));
    writer.add_tensor("model.norm.weight", Tensor::from(std::vector<float>{1, 2, 3}, {3}));
    writer.add_alias("lm_head.weight", "model.q");
    writer.write(corpus.path("model", "bytes.model"));
  }
  {
    ModelWriter writer("pieces", {.alignment = 64, .hashes = false});
    writer.set_graph_toml(graph_ir::to_toml(graph));
    writer.set_section("card", "md", "# Card\n~~~\nfence\n~~~\n");
    writer.set_vocabulary(text::spm_vocabulary({"▁a", "b", "▁ab"}, false));
    writer.add_tensor("t", Tensor::from(std::vector<float>{1, -1, 0.5f, 2}, {2, 2}));
    writer.write(corpus.path("model", "pieces.model"));
  }
  for (const DType dtype : {DType::f16, DType::bf16, DType::q4_0, DType::q4_k, DType::q6_k}) {
    ModelWriter writer("encoding", {.alignment = 64, .hashes = false});
    writer.add_tensor("w", Tensor::zeros(dtype, {1, dtype == DType::q4_k || dtype == DType::q6_k ? 256 : 32}));
    writer.write(corpus.path("model", "weights_" + std::string(to_string(dtype)) + ".model"));
  }
}

// Every fifth of the snippets and templates that are compared with Jinja2, but for the long ones.
void write_templates(const Corpus& corpus) {
  std::ifstream in(WEFT_SOURCE_DIR "/tests/data/chat/cases.json", std::ios::binary);
  const jinja::Value file = jinja::value_from_json(std::string{std::istreambuf_iterator<char>(in), {}});
  int number = 0;
  for (const auto& [name, source] : file.mapping()->find(std::string_view("templates"))->mapping()->members())
    if (number++ % 5 == 0 && source.text()->size() < 2000)
      corpus.write("jinja", std::to_string(number) + ".jinja", *source.text());
}

}  // namespace
}  // namespace weft

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const weft::Corpus corpus(arguments[1]);
  weft::write_graphs(corpus);
  weft::write_ggufs(corpus);
  weft::write_gguf_vocabularies(corpus);
  weft::write_models(corpus);
  weft::write_templates(corpus);
}
