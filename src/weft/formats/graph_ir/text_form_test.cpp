#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/json_form.h"
#include "weft/formats/graph_ir/test_graphs.h"
#include "weft/formats/graph_ir/text_tree.h"
#include "weft/formats/graph_ir/toml_form.h"

namespace weft::graph_ir {
namespace {

using testing::HasSubstr;

// A graph with everything the forms can hold.
Graph rich_graph() {
  Graph graph = one_node(make_op(Tag::rope, {{"head_dim", 128u}, {"base", 1e6f}}), {{-1, 128}, {-1}},
                         {{"rope_layout", std::string("proportional")},
                          {"a key", std::numeric_limits<float>::infinity()},
                          {"b", std::string("line\nbreak \"quoted\" \\ \x7f\x01 \xc3\xa9")},
                          {"c", Ints{1, std::numeric_limits<std::int64_t>::min() + 1}},
                          {"d", std::vector<float>{0.1f, -0.0f, std::numeric_limits<float>::quiet_NaN()}},
                          {"e", std::vector<std::string>{"", "x"}},
                          {"f", true},
                          {"g", Ints{}},
                          {"h", 16777216.0f}});
  graph.nodes[0].backend_hint = BackendHint::wgpu_rs;
  graph.inputs.push_back({"nobody", {{2}, DType::fx8_8, 64, 4}});
  graph.weights = {{"model.w", {{4, 256}, DType::q4_k, 0, 576}}};
  return graph;
}

TEST(GraphIrText, EveryOpRoundTripsThroughEveryForm) {
  for (const GoodCase& good : good_cases()) {
    const Graph graph = good.graph();
    const std::string toml = to_toml(graph), json = to_json(graph);
    EXPECT_EQ(parse_toml(toml), graph) << toml;
    EXPECT_EQ(parse_json(json), graph) << json;
    EXPECT_EQ(to_toml(decode(encode(parse_toml(toml))).graph), toml);
    EXPECT_EQ(to_json(decode(encode(parse_json(json))).graph), json);
  }
}

TEST(GraphIrText, EveryRecognizedAttributeRoundTrips) {
  for (const GoodCase& good : good_cases()) {
    Graph graph = good.graph();
    const OpDef& def = op_def(good.op.tag);
    for (const AttrDef& attr : def.attrs) {
      const auto fallback = default_attr(attr, good.op);
      graph.nodes[0].attrs[std::string(attr.key)] = fallback                      ? *fallback
                                                    : attr.type == AttrType::ints ? AttrValue(Ints{2, 3})
                                                                                  : AttrValue(std::int64_t{2});
    }
    EXPECT_EQ(parse_toml(to_toml(graph)), graph) << def.name;
    EXPECT_EQ(parse_json(to_json(graph)), graph) << def.name;
    EXPECT_EQ(decode(encode(graph)).graph, graph) << def.name;
  }
}

TEST(GraphIrText, KeepsEverything) {
  const Graph graph = rich_graph();
  TextOptions text;
  text.weights = true;
  EncodeOptions binary;
  binary.weights = true;
  EXPECT_EQ(parse_toml(to_toml(graph, text)), graph);
  EXPECT_EQ(parse_json(to_json(graph, text)), graph);
  EXPECT_EQ(to_toml(decode(encode(parse_toml(to_toml(graph, text)), binary)).graph, text), to_toml(graph, text));
  EXPECT_TRUE(parse_toml(to_toml(graph)).weights.empty());
  EXPECT_EQ(parse_toml(to_toml(Graph{})), Graph{});
  EXPECT_EQ(parse_json(to_json(Graph{})), Graph{});
}

TEST(GraphIrText, TomlLooksAsDocumented) {
  Graph graph = one_node(make_op(Tag::rope, {{"head_dim", 128u}, {"base", 1e6f}}), {{-1, 128}, {-1}},
                         {{"rope_layout", std::string("prefix")}});
  graph.inputs.pop_back();
  graph.nodes[0].backend_hint = BackendHint::cpu;
  EXPECT_EQ(to_toml(graph), R"([graph]
format = "weft-graph"
version = 1
outputs = ["y0"]

[[input]]
name = "a"
shape = [-1, 128]
dtype = "f32"

[[node]]
id = 0
op = "Rope"
inputs = ["a", "pos"]
outputs = ["y0"]
backend_hint = "cpu"
[node.params]
head_dim = 128
rope_dim = 128
base = 1e6
[node.attrs]
rope_layout = "prefix"
)");
}

TEST(GraphIrText, FloatsAreShortestAndReadBack) {
  EXPECT_EQ(float_text(0.1f), "0.1");
  EXPECT_EQ(float_text(1.0f), "1.0");
  EXPECT_EQ(float_text(-0.0f), "-0.0");
  EXPECT_EQ(float_text(1e-6f), "1e-6");
  EXPECT_EQ(float_text(-std::numeric_limits<float>::infinity()), "-inf");
  std::mt19937 random(3);
  for (int i = 0; i < 200000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(value)) continue;
    const auto back = static_cast<float>(std::stod(float_text(value)));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(back), std::bit_cast<std::uint32_t>(value)) << float_text(value);
  }
}

const std::string head = "[graph]\nformat = \"weft-graph\"\nversion = 1\noutputs = [\"y\"]\n";
const std::string input = "[[input]]\nname = \"x\"\nshape = [2]\ndtype = \"f32\"\n";

std::string node_text(const std::string& op, const std::string& rest = "") {
  return "[[node]]\nid = 0\nop = \"" + op + "\"\ninputs = [\"x\"]\noutputs = [\"y\"]\n" + rest;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(GraphIrText, TomlErrorsAreStrict) {
  struct Case {
    const char* code;
    const char* message;
    std::string text;
  };
  const std::string silu = node_text("Silu"), good = head + input + silu;
  const std::vector<Case> cases{
      {"none", "", good},
      {"TomlSyntax", "g.toml:2:", "[graph]\nformat = \n"},
      {"TomlSyntax", "g.toml", head + "version = 2\n"},
      {"TomlSyntax", "nests too deeply",
       "[graph]\n" +
           [] {
             std::string deep = "a";
             for (int i = 0; i < 100000; ++i) deep += ".a";
             return deep;
           }() +
           " = 1\n"},
      {"TooLarge", "may have", good + std::string(max_text_bytes, '\n')},
      {"InvalidUtf8", "UTF-8", "# \xff\n" + good},
      {"TomlMissingKey", "needs the key \"graph\"", input},
      {"TomlMissingKey", "\"outputs\"", replaced(good, "outputs = [\"y\"]\n", "")},
      {"TomlType", "graph.format", replaced(good, "weft-graph", "graph")},
      {"TomlType", "graph.version", replaced(good, "version = 1", "version = 2")},
      {"TomlType", "version must be an integer", replaced(good, "version = 1", "version = 1.0")},
      {"TomlUnknownKey", "the document has no key \"nodes\"", good + "[[nodes]]\n"},
      {"TomlUnknownKey", "graph has no key \"name\"", replaced(good, "version", "name = 1\nversion")},
      {"TomlUnknownKey", "input has no key \"size_\"", replaced(good, "dtype", "size_ = 1\ndtype")},
      {"TomlUnknownKey", "node 0 has no key \"hint\"", good + "hint = 1\n"},
      {"TomlType", "node must be an array", head + "[node]\nid = 0\n"},
      {"TomlType", "outputs must be an array", replaced(good, "outputs = [\"y\"]", "outputs = \"y\"")},
      {"TomlType", "a graph holds no dates", replaced(good, "shape = [2]", "shape = [2020-01-01]")},
      {"TomlMissingKey", "\"dtype\"", replaced(good, "dtype = \"f32\"\n", "")},
      {"TomlMissingKey", "\"size\"", replaced(good, "dtype", "offset = 0\ndtype")},
      {"TomlType", "offset must be from 0", replaced(good, "dtype", "offset = -1\nsize = 1\ndtype")},
      {"BadDtypeTag", "\"f64\" is no dtype", replaced(good, "\"f32\"", "\"f64\"")},
      {"BadShape", "found -2", replaced(good, "shape = [2]", "shape = [-2]")},
      {"RankTooLarge", "found 9", replaced(good, "shape = [2]", "shape = [1,1,1,1,1,1,1,1,1]")},
      {"TomlType", "a dimension must be an integer", replaced(good, "shape = [2]", "shape = [2.0]")},
      {"EmptyName", "node inputs", replaced(good, "inputs = [\"x\"]", "inputs = [\"\"]")},
      {"BadName", "control", replaced(good, "inputs = [\"x\"]", "inputs = [\"\\u0001\"]")},
      {"UnknownOpTag", "there is no op \"silu\"", head + input + node_text("silu")},
      {"TomlType", "id must be from 0 to 4294967295", replaced(good, "id = 0", "id = 4294967296")},
      {"BadBackendHint", "\"gpu\"", good + "backend_hint = \"gpu\"\n"},
      {"TomlUnknownKey", "params of node 0 (Silu) has no key \"eps\"", good + "[node.params]\neps = 1\n"},
      {"none", "", good + "[node.params]\n"},
      {"TomlMissingKey", "params of node 0 (RmsNorm) needs the key \"eps\"", head + input + node_text("RmsNorm")},
      {"none", "", head + input + node_text("RmsNorm", "params = { eps = 1 }\n")},
      {"TomlType", "eps must be a number", head + input + node_text("RmsNorm", "params = { eps = \"1\" }\n")},
      {"TomlType", "too large for an f32", head + input + node_text("RmsNorm", "params = { eps = 1e39 }\n")},
      {"TomlType", "dim must be an integer", head + input + node_text("Softmax", "params = { dim = 1.0 }\n")},
      {"TomlType", "approximate must be true or false",
       head + input + node_text("Gelu", "params = { approximate = 1 }\n")},
      {"BadEnum", "method must be one of greedy",
       head + input + node_text("Sample", "params = { method = \"topk\" }\n")},
      {"none", "", head + input + node_text("Sample", "params = { method = \"top_k\", k = 3 }\n")},
      {"none", "", head + input + node_text("Clamp")},
      {"TomlType", "must list 2 integers, found 1",
       head + input +
           node_text("Pool", "params = { mode = \"max\", kernel = [1], stride = [1,1], padding = [0,0] }\n")},
      {"RankTooLarge", "found 9", head + input + node_text("Transpose", "params = { perm = [0,1,2,3,4,5,6,7,8] }\n")},
      {"BadAttr", "\"k\" is a table", good + "[node.attrs.k]\nv = 1\n"},
      {"TomlType", "values of one kind", good + "[node.attrs]\nk = [1, 2.0]\n"},
      {"TomlType", "may list integers, floats or strings", good + "[node.attrs]\nk = [true]\n"},
      {"EmptyName", "attribute key", good + "[node.attrs]\n\"\" = 1\n"},
      {"BadShape", "must be known", good + "[[weight]]\nname = \"w\"\nshape = [-1]\ndtype = \"f32\"\n"},
      {"TomlType", "listed twice",
       good + "[[weight]]\nname = \"w\"\nshape = [1]\ndtype = \"f32\"\n[[weight]]\nname = \"w\"\nshape = [1]\ndtype = "
              "\"f32\"\n"},
  };
  for (const Case& one : cases) {
    const Error error = error_of([&] { parse_toml(one.text, "g.toml"); });
    EXPECT_EQ(error.code(), one.code) << error.what();
    if (std::string(one.code) != "none") {
      EXPECT_THAT(error.what(), HasSubstr(one.message));
      EXPECT_THAT(error.where(), HasSubstr("g.toml"));
    }
  }
  EXPECT_EQ(error_of([&] { parse_toml(good + "hint = 1\n", "g.toml"); }).where(), "g.toml:14:8");
}

TEST(GraphIrText, RecognizedAttributesTakeTheirType) {
  const std::string argmax = head + input + node_text("Argmax", "[node.attrs]\ndim = 0\n");
  EXPECT_TRUE(same_value(parse_toml(argmax).nodes[0].attrs.at("dim"), std::int64_t{0}));
  const std::string schedule = head + input + node_text("NoiseSchedule", "[node.attrs]\nmax_sigma = 80\nother = 80\n");
  EXPECT_TRUE(same_value(parse_toml(schedule).nodes[0].attrs.at("max_sigma"), 80.0f));
  EXPECT_TRUE(same_value(parse_toml(schedule).nodes[0].attrs.at("other"), std::int64_t{80}));
}

TEST(GraphIrText, DottedKeysInStringsDoNotCount) {
  std::string dots;
  for (int i = 0; i < 100; ++i) dots += "a.";
  const std::string text = head + "# " + dots + "\n" + input +
                           node_text("Silu", "[node.attrs]\nk = \"" + dots + "\\\"" + dots + "\"\nl = '" + dots +
                                                 "'\nm = \"\"\"\n\"" + dots + "\"\"\"\n");
  EXPECT_EQ(std::get<std::string>(parse_toml(text).nodes[0].attrs.at("l")), dots);
}

TEST(GraphIrText, JsonErrorsAreStrict) {
  const std::string good = to_json(one_node(make_op(Tag::rms_norm, {{"eps", 0.5f}}), {{2}}));
  const auto code = [](const std::string& text) { return error_of([&] { parse_json(text, "g.json"); }).code(); };
  EXPECT_EQ(code(good), "none");
  EXPECT_EQ(code("{"), "JsonSyntax");
  EXPECT_EQ(code(""), "JsonSyntax");
  EXPECT_EQ(code("[]"), "JsonType");
  EXPECT_EQ(code(good + "1"), "JsonSyntax");
  EXPECT_EQ(code(replaced(good, "\"eps\": 0.5", "\"eps\": 0.5, \"eps\": 1")), "JsonSyntax");
  EXPECT_EQ(code(replaced(good, "\"eps\": 0.5", "\"eps\": null")), "JsonType");
  EXPECT_EQ(code(replaced(good, "\"eps\": 0.5", "\"eps\": {\"$float\": \"inf\"}")), "none");
  EXPECT_EQ(code(replaced(good, "\"eps\": 0.5", "\"eps\": {\"$float\": \"big\"}")), "JsonType");
  EXPECT_EQ(code(replaced(good, "\"eps\": 0.5", "\"eps\": 1e999")), "JsonSyntax");
  EXPECT_EQ(code(replaced(good, "\"eps\": 0.5", "\"epsilon\": 0.5")), "JsonUnknownKey");
  EXPECT_EQ(code(replaced(good, "\"eps\": 0.5", "")), "JsonMissingKey");
  EXPECT_EQ(code(replaced(good, "\"version\": 1", "\"version\": 18446744073709551615")), "JsonType");
  EXPECT_EQ(code(std::string(1000000, '[')), "JsonSyntax");
  EXPECT_EQ(code(replaced(good, "rms", "\xff")), code(good));
  const Error error = error_of([&] { parse_json("{\n  \"graph\": ,\n}", "g.json"); });
  EXPECT_EQ(error.where(), "g.json:2:12");
  EXPECT_EQ(code("{\"graph\": \"\xff\"}"), "JsonSyntax");
}

TEST(GraphIrText, OffsetsBeyondTextIntegersAreNotRepresentable) {
  Graph graph = one_node(make_op(Tag::silu), {{2}});
  graph.inputs[0].spec.offset = std::uint64_t{1} << 63;
  graph.inputs[0].spec.size = 8;
  EXPECT_EQ(error_of([&] { to_toml(graph); }).code(), "NotRepresentable");
  EXPECT_EQ(decode(encode(graph)).graph, graph);
  graph.inputs[0].spec.offset = 0;
  graph.inputs[0].spec.dtype = DType::c64;
  EXPECT_EQ(error_of([&] { to_json(graph); }).code(), "NotRepresentable");
}

TEST(GraphIrText, CutAndChangedTextNeverCrashes) {
  TextOptions options;
  options.weights = true;
  const std::string toml = to_toml(rich_graph(), options), json = to_json(rich_graph(), options);
  std::mt19937 random(11);
  for (std::size_t i = 0; i < toml.size(); ++i) error_of([&] { parse_toml(toml.substr(0, i)); });
  for (std::size_t i = 0; i < json.size(); ++i)
    EXPECT_NE(error_of([&] { parse_json(json.substr(0, i)); }).code(), i + 1 == json.size() ? "" : "none");
  for (int i = 0; i < 3000; ++i) {
    std::string changed = random() % 2 == 0 ? toml : json;
    const bool is_toml = changed[0] == '[';
    changed[random() % changed.size()] = static_cast<char>(random());
    error_of([&] { is_toml ? parse_toml(changed) : parse_json(changed); });
  }
}

}  // namespace
}  // namespace weft::graph_ir
