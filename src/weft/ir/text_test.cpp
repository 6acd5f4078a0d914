#include "weft/ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "local_ops.h"
#include "random_graph.h"
#include "weft/base/half.h"
#include "weft/base/sha256.h"

namespace weft {
namespace {

using test::code_of;
using testing::HasSubstr;

// The value of a graph that holds one constant.
Tensor constant_of(const Graph& graph) { return std::get<Tensor>(graph.node(0).attribute("value")); }

Graph with_constant(const Tensor& tensor) {
  Graph graph;
  graph.add("Constant", {}, {{"value", tensor}});
  return graph;
}

std::string constant_text(const Tensor& tensor) {
  const std::string text = to_text(with_constant(tensor));
  const auto start = text.find("value=") + 6, end = text.find("}()", start);
  return text.substr(start, end - start);
}

template <class T>
Tensor tensor_of(DType dtype, const std::vector<T>& elements, std::vector<std::int64_t> dims) {
  return Tensor::copy_bytes(std::as_bytes(std::span(elements)), dtype, std::move(dims));
}

// A graph around `line`, the last of three nodes.
std::string graph_with(const std::string& line) {
  return "graph @g {\n"
         "  state @s {kind=rows, dtype=f32, planes=[4], length=past}\n"
         "  %0 = Input{name=\"x\", shape=[n, 4]}() : [n, 4] f32\n"
         "  %1 = Input{name=\"y\", shape=[4]}() : [4] f32\n" +
         line + "\n}\n";
}

struct Refusal {
  std::string code, where, message;
};
Refusal refusal_of(std::string_view text) {
  try {
    graph_from_text(text, "t");
  } catch (const Error& error) {
    return {error.code(), error.where(), error.message()};
  }
  return {};
}

TEST(Text, RandomGraphsReadBackEqual) {
  std::size_t nodes = 0, states = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Graph graph = test::GraphGenerator(seed).graph(5, 30);
    const std::string text = to_text(graph);
    const Graph read = graph_from_text(text);
    ASSERT_TRUE(read == graph) << "seed " << seed << "\n" << text;
    ASSERT_EQ(to_text(read), text);
    ASSERT_EQ(read.nodes().size(), graph.nodes().size());
    for (std::int32_t i = 0; i < graph.size(); ++i)
      EXPECT_EQ(read.node(i).constraints.size(), graph.node(i).constraints.size());
    for (const Node& node : graph.nodes())
      for (const OutputInfo& output : node.outputs) {
        EXPECT_EQ(read.find_value(output.name), graph.find_value(output.name));
      }
    nodes += graph.nodes().size();
    states += graph.states().size();
  }
  EXPECT_GT(nodes, 1000u);
  EXPECT_GT(states, 100u);
}

// The text is a contract: a change here is a change of what golden files and diffs show.
TEST(Text, GoldenFile) {
  Graph graph("sampler");
  graph.add_state({"k cache", StateKind::rows, DType::f16, {64, 64}, Dim::symbol("past"), 4096});
  graph.set_symbol("n", {1, 512});
  graph.add("Input", {}, {{"name", "ids"}, {"shape", Shape{Dim::symbol("n")}}, {"dtype", DType::i32}},
            {.names = {"ids"}});
  graph.add("Input", {}, {{"name", "pos"}, {"shape", Shape{Dim::symbol("n")}}, {"source", "position"}});
  graph.add("Param", {}, {{"name", "embedding"}, {"shape", Shape{96, 64}}, {"dtype", DType::q8_0}},
            {.names = {"embedding"},
             .origin = {"gguf", 3, "TokenEmbed", "token \"embedding\"", {"a", "b"}},
             .backend_hint = "cpu"});
  graph.add("Input", {},
            {{"name", "mask"}, {"shape", Shape{Dim::symbol("n"), Dim::symbol("past") + Dim::symbol("n")}}});
  graph.add("Constant", {}, {{"value", Tensor::from(std::vector<float>{1, -0.5, 1e-6F, 0.1F}, {2, 2})}});
  graph.add("Constant", {}, {{"value", Tensor::from(std::vector<std::int64_t>{-1, 7}, {2})}});
  graph.add("Constant", {}, {{"value", Tensor::zeros(DType::q4_0, {32})}});
  graph.add("Constant", {}, {{"value", Tensor::zeros(DType::f32, {0, 3})}});
  std::vector<float> ramp(65);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<float>(i);
  graph.add("Constant", {}, {{"value", Tensor::from(ramp, {65})}}, {.names = {"ramp"}});
  graph.add("Constant", {}, {{"value", Tensor::from(ramp, {5, 13})}});
  graph.add_output("logits", {4, 0});
  graph.add_output("the ramp", {8, 0});

  const std::string path = WEFT_SOURCE_DIR "/tests/data/golden/graph.txt";
  if (std::getenv("WEFT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << to_text(graph);
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(to_text(graph), golden.str());
  EXPECT_TRUE(graph_from_text(golden.str()) == graph);
}

TEST(Text, ConstantsPrintTheValuesOfTheirDtype) {
  EXPECT_EQ(constant_text(Tensor::from(std::vector<float>{1, 0.1F, -0.0F, 1e20F}, {2, 2})),
            "f32[2, 2]{1.0, 0.1, -0.0, 1e+20}");
  EXPECT_EQ(constant_text(Tensor::from(std::vector<double>{0.1}, {})), "f64[]{0.1}");
  EXPECT_EQ(constant_text(tensor_of<std::uint16_t>(DType::f16, {0x3C00, 0x0001, 0xFC00}, {3})),
            "f16[3]{1.0, 5.9604645e-08, -inf}");
  EXPECT_EQ(constant_text(tensor_of<std::uint16_t>(DType::bf16, {0x3F80, 0xC000}, {2})), "bf16[2]{1.0, -2.0}");
  EXPECT_EQ(constant_text(tensor_of<std::int8_t>(DType::i8, {-128, 127}, {2})), "i8[2]{-128, 127}");
  EXPECT_EQ(constant_text(tensor_of<std::uint64_t>(DType::u64, {UINT64_MAX}, {1})), "u64[1]{18446744073709551615}");
  EXPECT_EQ(constant_text(tensor_of<std::uint8_t>(DType::boolean, {0, 1}, {2})), "bool[2]{false, true}");
  EXPECT_EQ(constant_text(tensor_of<std::uint8_t>(DType::boolean, {0, 2}, {2})), "bool[2]hex{0002}");
  EXPECT_EQ(constant_text(tensor_of<std::uint8_t>(DType::ternary, {0xAB}, {4})), "ternary[4]hex{ab}");
  EXPECT_EQ(constant_text(Tensor::zeros(DType::f32, {0})), "f32[0]{}");
}

TEST(Text, EveryHalfFloatReadsBack) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (std::uint32_t start = 0; start < 0x10000; start += 128) {
      std::vector<std::uint16_t> bits(128);
      for (std::uint32_t i = 0; i < 128; ++i) bits[i] = static_cast<std::uint16_t>(start + i);
      const Tensor tensor = tensor_of(dtype, bits, {128});
      const std::string text = to_text(with_constant(tensor));
      ASSERT_THAT(text, Not(HasSubstr("hex")));
      ASSERT_TRUE(same_value(constant_of(graph_from_text(text)), tensor)) << text;
    }
}

TEST(Text, NanPayloadsSurvive) {
  const Tensor f32 = tensor_of<std::uint32_t>(DType::f32, {0x7FC00000, 0xFFC00000, 0x7FC00001, 0x7F800001}, {4});
  EXPECT_EQ(constant_text(f32), "f32[4]{nan, -nan, 0x7fc00001, 0x7f800001}");
  const Tensor f64 = tensor_of<std::uint64_t>(DType::f64, {0x7FF8000000000000, 0xFFF8000000000001}, {2});
  EXPECT_EQ(constant_text(f64), "f64[2]{nan, 0xfff8000000000001}");
  for (const Tensor& tensor : {f32, f64})
    EXPECT_TRUE(same_value(constant_of(graph_from_text(to_text(with_constant(tensor)))), tensor));
}

TEST(Text, LargeConstantsStandOnceAfterTheGraph) {
  const Tensor at_limit = Tensor::zeros(DType::u8, {256}), above = Tensor::zeros(DType::u8, {257});
  EXPECT_THAT(to_text(with_constant(at_limit)), Not(HasSubstr("blob")));
  const std::string digest = sha256_hex(above.bytes());
  Graph graph = with_constant(above);
  graph.add("Constant", {}, {{"value", Tensor::zeros(DType::i8, {257, 1})}});
  const std::string text = to_text(graph);
  EXPECT_THAT(text, HasSubstr("{value=u8[257]blob(" + digest + ")}"));
  EXPECT_THAT(text, HasSubstr("{value=i8[257, 1]blob(" + digest + ")}"));
  const std::string section = "\nblob(" + digest + ") 257 bytes {\n";
  EXPECT_EQ(text.find(section), text.rfind(section));
  const Graph read = graph_from_text(text);
  EXPECT_TRUE(read == graph);
  EXPECT_TRUE(constant_of(read).shares_bytes_with(std::get<Tensor>(read.node(1).attribute("value"))));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(constant_of(read).bytes().data()) % 64, 0u);
}

TEST(Text, SymbolsPrintWhereTheirBoundsAreTheirOwn) {
  Graph graph;
  test::input(graph, "x", {Dim::symbol("n"), Dim::symbol("m")});
  EXPECT_THAT(to_text(graph), Not(HasSubstr("symbol")));
  graph.set_symbol("n", {1, unbounded});
  graph.set_symbol("k", {0, 7});
  EXPECT_THAT(to_text(graph), HasSubstr("  symbol k in [0, 7]\n  symbol n in [1, unbounded]\n"));
  // A state's capacity bounds its length only if the state came first.
  graph.add_state({"s", StateKind::rows, DType::f32, {4}, Dim::symbol("m"), 100});
  EXPECT_THAT(to_text(graph), HasSubstr("symbol m in [0, unbounded]"));
  EXPECT_TRUE(graph_from_text(to_text(graph)) == graph);
}

TEST(Text, ReadsFreeLayoutAndComments) {
  const Graph graph = graph_from_text(
      "// a comment\n graph@g{%0=Input{ shape = [ n,4 ],name=\"x\" } ( ):[n,4]f32 // the rest\n"
      "return\n\t\"y z\"=%0,w=%0}");
  EXPECT_EQ(graph.name(), "g");
  EXPECT_EQ(graph.outputs().size(), 2u);
  EXPECT_EQ(graph.outputs()[0].name, "y z");
  EXPECT_EQ(graph.type({0, 0}).text(), "[n, 4] f32");
}

TEST(Text, RefusesWithLineAndColumn) {
  const auto at = [](std::string_view text, const char* where) {
    const Refusal refusal = refusal_of(text);
    EXPECT_EQ(refusal.code, "GraphSyntax") << text;
    EXPECT_EQ(refusal.where, where) << refusal.message << "\n" << text;
  };
  at("", "t:1:1");
  at("graf", "t:1:1");
  at("graph @g", "t:1:9");
  at("graph @g {\n  %1 = Input", "t:2:3");
  at("graph @g {\n  node", "t:2:3");
  at("graph @g {}\n}", "t:2:1");
  at("graph @g {\n  symbol 2n in [0, 1]", "t:2:10");
  at("graph @g {\n  symbol n in [0, 99999999999999999999]", "t:2:19");
  at("graph @g {\n  symbol n in [0, 1]\n  symbol n in [0, 1]", "t:3:10");
  at("graph @g {\n  state @s {kind=ring}", "t:2:18");
  at("graph @g {\n  state @s {planes=[1]}", "t:2:9");
  at("graph @g {\n  state @s {planes=[1], length=n+}", "t:2:32");
  at("graph @g {\n  state @s {planes=[1], planes=[1]}", "t:2:25");
  at(graph_with("  %2 = Constant{value=f32[2]{1.0, x}}() : [2] f32"), "t:5:35");
  at(graph_with("  %2 = Constant{value=i8[1]{128}}() : [1] i8"), "t:5:29");
  at(graph_with("  %2 = Constant{value=u8[1]hex{0g}}() : [1] u8"), "t:5:32");
  at(graph_with("  %2 = Constant{value=u8[1]hex{000}}() : [1] u8"), "t:5:32");
  at(graph_with("  %2 = Constant{value=f64[1]{0x12}}() : [1] f64"), "t:5:30");
  at(graph_with("  %2 = Constant{value=u8[1]blob(ab)}() : [1] u8"), "t:5:23");
  at(graph_with("  %2 = Constant{worth=1}() : [1] u8"), "t:5:17");
  at(graph_with("  %2 = Input{name=\"z\", name=\"z\"}()"), "t:5:24");
  at(graph_with("  %2 = Input{name=\"z}()"), "t:5:19");
  at(graph_with("  %2 = Input{name=\"\\q\"}()"), "t:5:20");
  at(graph_with("  %2 = Input{name=\"z\", shape=[n,,]}()"), "t:5:30");
  at(graph_with("  %2 = Input{name=\"z\", shape=[n}()"), "t:5:30");
  at(graph_with("  %2 = Input{name=\"z\", shape=[4], dtype=f33}() : [4] f32"), "t:5:41");
  at(graph_with("  %2:2 = Input{name=\"z\", shape=[4]}() : [4] f32"), "t:5:3");
  at(graph_with("  %2 = Input{name=\"z\", shape=[4]}(%) : [4] f32"), "t:5:36");
  at(graph_with("  %2 = Input{name=\"z\", shape=[4]}(%-1) : [4] f32"), "t:5:35");
  at(graph_with("  return y=%0\n  %2 = Input{}()"), "t:6:3");
}

TEST(Text, RefusesWhatTheGraphIsNot) {
  EXPECT_EQ(refusal_of(graph_with("")).code, "");
  EXPECT_EQ(refusal_of(graph_with("  %2 = Inptu{}()")).code, "UnknownOp");
  EXPECT_EQ(refusal_of(graph_with("  %2 = Inptu{}()")).where, "t:5:8");
  const auto code = [](const std::string& line) { return refusal_of(graph_with(line)).code; };
  EXPECT_EQ(code("  %2 = Input{name=\"z\", shape=[4]}() : [5] f32"), "ShapeMismatch");
  EXPECT_EQ(code("  %2 = Input{name=\"z\", shape=[4]}() : [4] f16"), "DTypeMismatch");
  EXPECT_EQ(code("  %2 = Input{name=\"z\", shape=[4]}(%0) : [4] f32"), "BadArity");
  EXPECT_EQ(code("  %2 = Input{name=\"x\", shape=[4]}() : [4] f32"), "DuplicateInput");
  EXPECT_EQ(code("  %2 = Input{name=\"z\"}() : [4] f32"), "BadAttribute");
  EXPECT_EQ(code("  %2 = Input{name=\"z\", shape=[4], source=nobody}() : [4] f32"), "BadAttribute");
  EXPECT_EQ(code("  %2 = Input{name=\"z\", shape=[4], dtype=_}() : [4] f32"), "GraphSyntax");
  EXPECT_EQ(code("  %2 = Constant{value=f32[2]{1.0}}() : [2] f32"), "TensorSizeMismatch");
  EXPECT_EQ(refusal_of(graph_with("  %2 = Constant{value=f32[1]hex{00}}() : [1] f32")).where, "t:5:23");
  EXPECT_EQ(code("  return y=%2"), "OutputUndefined");
  EXPECT_EQ(code("  return y=%0#1"), "OutputUndefined");
  EXPECT_EQ(code("  return \"\"=%0"), "EmptyName");
  EXPECT_EQ(code("  state @s {planes=[4], length=past}"), "DuplicateState");
}

TEST(Text, BlobSectionsAreChecked) {
  const std::string text = to_text(with_constant(Tensor::zeros(DType::u8, {300})));
  ASSERT_EQ(refusal_of(text).code, "");
  const auto blob = text.find("\nblob");
  EXPECT_THAT(refusal_of(text.substr(0, blob)).message, HasSubstr("does not follow"));
  EXPECT_THAT(refusal_of(text + text.substr(blob)).message, HasSubstr("twice"));
  std::string changed = text;
  changed[text.find("00", text.find("bytes {"))] = '1';
  EXPECT_THAT(refusal_of(changed).message, HasSubstr("SHA-256"));
  changed = text;
  changed.replace(text.find("300 bytes"), 3, "301");
  EXPECT_THAT(refusal_of(changed).message, HasSubstr("announced"));
  changed = text;
  changed.replace(text.find("u8[300]"), 7, "u8[301]");
  EXPECT_EQ(refusal_of(changed).code, "TensorSizeMismatch");
}

TEST(Text, HostileSizesAllocateNothing) {
  const auto code = [](const std::string& line) { return refusal_of(graph_with(line)).code; };
  EXPECT_EQ(code("  %2 = Constant{value=f32[1000000000000]{}}()"), "TensorSizeMismatch");
  EXPECT_EQ(code("  %2 = Constant{value=f32[4611686018427387904, 8]hex{}}()"), "SizeOverflow");
  EXPECT_EQ(code("  %2 = Constant{value=f32[-1]{}}()"), "GraphSyntax");
  EXPECT_EQ(code("  %2:4000000000 = Input{}()"), "GraphSyntax");
  EXPECT_EQ(code("  %2 = Input{name=\"z\", shape=[" + std::string(100000, '(') + "]}()"), "GraphSyntax");
}

TEST(Text, EveryPrefixIsRefusedOrSound) {
  std::size_t accepted = 0;
  for (std::uint32_t seed : {3u, 11u}) {
    const std::string text = to_text(test::GraphGenerator(seed).graph(5, 30));
    for (std::size_t length = 0; length < text.size(); ++length)
      accepted += code_of([&] { graph_from_text(std::string_view(text).substr(0, length)); }).empty() ? 1 : 0;
  }
  // Only what ends in the graph's closing brace without its line end.
  EXPECT_LE(accepted, 4u);
}

TEST(Text, ChangedCharactersNeverCrash) {
  std::mt19937 random(5);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = to_text(test::GraphGenerator(static_cast<std::uint32_t>(round) % 40).graph(5, 30));
    for (int changes = 0; changes < 3; ++changes) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + random() % 8); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 20));
      }
      if (text.empty()) text = "x";
    }
    refused += code_of([&] { graph_from_text(text); }).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 2000);
}

TEST(Text, PrintsGraphsThatWereNeverVerified) {
  Graph graph;
  const Value x = test::input(graph, "x", {4});
  Node node = graph.node(graph.add(test::join_schema(), {x, x}));
  node.attributes[0] = std::string("not a real");
  node.attributes[1] = {};
  node.inputs[0] = {77, 3};
  node.outputs.clear();
  graph.append_unchecked(node);
  graph.append_unchecked(Node{});
  const std::string text = to_text(graph);
  EXPECT_THAT(text, HasSubstr("%2:0 = Join{scale=?, axis=_, mode=fast}(%77#3, %0)\n"));
  EXPECT_THAT(text, HasSubstr("%3:0 = ?()\n"));
}

}  // namespace
}  // namespace weft
