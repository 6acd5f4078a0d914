#include "weft/formats/graph_ir/binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>
#include <set>
#include <sstream>

#include "weft/formats/graph_ir/test_graphs.h"
#include "weft/formats/graph_ir/validate.h"
#include "weft/formats/hex.h"

namespace weft::graph_ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* silu_blob =
    "01000000 00000000 3c00 01000000 01000000 78 01000000 01000000 79 00"
    "01000000 01000000 ffffffffffffffff 00 00 01000000 01000000 79";
constexpr const char* silu_glia_blob = "01000000 00000000 3c00 01000000 01000000 78 01000000 01000000 79 00";
constexpr const char* norm_blob =
    "02000000"
    "00000000 2800 bd378635 02000000 01000000 78 11000000 6d6f64656c2e6e6f726d2e776569676874"
    "01000000 01000000 6e 00"
    "01000000 4600 ffffffff 01000000 01000000 6e 01000000 01000000 70 01 01"
    "01000000 02000000 ffffffffffffffff 4000000000000000 00 00"
    "01000000 01000000 70";

Decoded decode_hex(const std::string& text, const DecodeOptions& options = {}) {
  return decode(hex_decode(text), options);
}

Error decode_error(const std::string& text, const DecodeOptions& options = {}) {
  return error_of([&] { decode_hex(text, options); });
}

std::string code_of(const std::string& text, Dialect dialect = Dialect::seed) {
  DecodeOptions options;
  options.dialect = dialect;
  return decode_error(text, options).code();
}

TEST(GraphIrBinary, SiluVector) {
  const auto bytes = hex_decode(silu_blob);
  EXPECT_EQ(bytes.size(), 56u);
  const Decoded decoded = decode(bytes);
  EXPECT_EQ(decoded.dialect, Dialect::seed);
  EXPECT_TRUE(decoded.warnings.empty());
  Graph wanted;
  wanted.nodes.push_back({0, make_op(Tag::silu), {"x"}, {"y"}, {}, {}});
  wanted.inputs.push_back({"x", {{-1}, DType::f32, {}, {}}});
  wanted.outputs = {"y"};
  EXPECT_EQ(decoded.graph, wanted);
  EXPECT_EQ(encode(wanted), bytes);
}

TEST(GraphIrBinary, SiluVectorOfTheOtherDialect) {
  const auto bytes = hex_decode(silu_glia_blob);
  EXPECT_EQ(bytes.size(), 29u);
  const Decoded decoded = decode(bytes);
  EXPECT_EQ(decoded.dialect, Dialect::glia);
  EXPECT_TRUE(decoded.graph.inputs.empty());
  EXPECT_THAT(decoded.graph.outputs, ElementsAre("y"));
  EXPECT_EQ(code_of(silu_glia_blob, Dialect::seed), "Truncated");
  EXPECT_EQ(code_of(silu_blob, Dialect::glia), "TrailingBytes");
}

TEST(GraphIrBinary, NormAndSoftmaxVector) {
  const auto bytes = hex_decode(norm_blob);
  EXPECT_EQ(bytes.size(), 119u);
  const Graph graph = decode(bytes).graph;
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].op, make_op(Tag::rms_norm, {{"eps", 1e-6f}}));
  EXPECT_THAT(graph.nodes[0].inputs, ElementsAre("x", "model.norm.weight"));
  EXPECT_EQ(graph.nodes[1].op, make_op(Tag::softmax, {{"dim", std::int32_t{-1}}}));
  EXPECT_EQ(graph.nodes[1].backend_hint, BackendHint::cpu);
  EXPECT_EQ(graph.nodes[0].backend_hint, std::nullopt);
  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.inputs[0].name, "x");
  EXPECT_THAT(graph.inputs[0].spec.shape, ElementsAre(-1, 64));
  EXPECT_EQ(encode(graph), bytes);
}

TEST(GraphIrBinary, GroupNormVector) {
  Graph graph = one_node(make_op(Tag::group_norm, {{"eps", 1e-5f}, {"num_groups", 32u}}), {{1, 64, 8, 8}});
  const auto bytes = encode(graph);
  EXPECT_EQ(hex_encode(bytes).substr(16, 20), "2b00acc5273720000000");
  EXPECT_EQ(decode(bytes).graph, graph);
  // One letter less per name than "a" and "y0" gives the documented size.
  EXPECT_EQ(bytes.size(), 88u + 2u);
}

TEST(GraphIrBinary, GroupNormFieldsAreToldApartByValue) {
  const auto swapped = [](Dialect dialect, const char* payload, const char* rest) {
    DecodeOptions options;
    options.dialect = dialect;
    return decode_hex(
        std::string("01000000 00000000 2b00") + payload + "01000000 01000000 78 01000000 01000000 79" + rest, options);
  };
  const char* seed_rest = "00 01000000 01000000 ffffffffffffffff 00 00 01000000 01000000 79";
  const Op wanted = make_op(Tag::group_norm, {{"eps", 1e-5f}, {"num_groups", 32u}});
  const Decoded odd = swapped(Dialect::seed, "20000000 acc52737", seed_rest);
  EXPECT_EQ(odd.graph.nodes[0].op, wanted);
  ASSERT_EQ(odd.warnings.size(), 1u);
  EXPECT_EQ(odd.warnings[0].code, "DialectMix");
  const Decoded glia = swapped(Dialect::glia, "20000000 acc52737", "00");
  EXPECT_EQ(glia.graph.nodes[0].op, wanted);
  EXPECT_TRUE(glia.warnings.empty());
  EXPECT_EQ(swapped(Dialect::glia, "acc52737 20000000", "00").warnings.size(), 1u);
  const Decoded zero = swapped(Dialect::seed, "00000000 20000000", seed_rest);
  EXPECT_EQ(zero.graph.nodes[0].op, make_op(Tag::group_norm, {{"eps", 0.0f}, {"num_groups", 32u}}));

  // A denormal epsilon would be read back as a count.
  const Graph denormal = one_node(make_op(Tag::group_norm, {{"eps", 1e-42f}, {"num_groups", 32u}}), {{1, 64}});
  EXPECT_EQ(error_of([&] { encode(denormal); }).code(), "NotRepresentable");
}

TEST(GraphIrBinary, GliaSpellsHintsAndArgmaxDifferently) {
  const Decoded decoded = decode_hex(
      "02000000 00000000 7800 02000000 03000000 696473 07000000 6d6f64656c2e77 01000000 01000000 68 00"
      "01000000 c700 00000000 01000000 01000000 68 01000000 06000000 6c6f67697473 04");
  EXPECT_EQ(decoded.dialect, Dialect::glia);
  EXPECT_EQ(decoded.graph.nodes[1].backend_hint, BackendHint::nox);
  EXPECT_TRUE(same_value(decoded.graph.nodes[1].attrs.at("dim"), std::int64_t{0}));
  EXPECT_THAT(decoded.graph.outputs, ElementsAre("logits"));
  ASSERT_EQ(decoded.graph.inputs.size(), 1u);
  EXPECT_EQ(decoded.graph.inputs[0].name, "ids");
  EXPECT_THAT(decoded.graph.inputs[0].spec.shape, ElementsAre(-1));
}

// The same graph as the public implementation writes it: no inputs and outputs, one byte of hint, GroupNorm's group
// count first, Argmax with its axis.
std::vector<std::byte> glia_bytes(const Graph& graph) {
  Graph bare;
  bare.nodes = graph.nodes;
  bare.nodes[0].attrs.clear();
  for (const std::string& name : bare.nodes[0].inputs) bare.weights[name] = {{1}, DType::f32, {}, {}};
  std::string hex = hex_encode(encode(bare));
  hex.resize(hex.size() - 16);  // the empty lists of inputs and outputs
  const Node& node = graph.nodes[0];
  if (node.op.tag == Tag::group_norm) hex = hex.substr(0, 20) + hex.substr(28, 8) + hex.substr(20, 8) + hex.substr(36);
  if (node.op.tag == Tag::argmax) {
    const auto dim = static_cast<std::int32_t>(attr_or_default<std::int64_t>(node, "dim"));
    hex.insert(20, hex_encode(std::as_bytes(std::span(&dim, 1))));
  }
  return hex_decode(hex);
}

TEST(GraphIrBinary, EveryOpIsReadInTheOtherDialectAndTakenForNoOther) {
  for (const GoodCase& good : good_cases()) {
    Graph graph = good.graph();
    const std::string_view name = op_def(good.op.tag).name;
    const auto seed = encode(graph);
    DecodeOptions forced;
    forced.dialect = Dialect::glia;
    EXPECT_NE(error_of([&] { decode(seed, forced); }).code(), "none") << name;
    EXPECT_EQ(decode(seed).dialect, Dialect::seed) << name;
    const auto glia = glia_bytes(graph);
    forced.dialect = Dialect::seed;
    EXPECT_NE(error_of([&] { decode(glia, forced); }).code(), "none") << name;
    Decoded decoded;
    ASSERT_EQ(error_of([&] { decoded = decode(glia); }).code(), "none") << name;
    EXPECT_EQ(decoded.dialect, Dialect::glia) << name;
    EXPECT_TRUE(decoded.warnings.empty()) << name;
    // What the dialect cannot say is not there; the node is.
    for (auto it = graph.nodes[0].attrs.begin(); it != graph.nodes[0].attrs.end();)
      it = good.op.tag == Tag::argmax ? std::next(it) : graph.nodes[0].attrs.erase(it);
    EXPECT_EQ(decoded.graph.nodes, graph.nodes) << name;
  }
}

TEST(GraphIrBinary, EveryOpRoundTrips) {
  for (const GoodCase& good : good_cases()) {
    const Graph graph = good.graph();
    const auto bytes = encode(graph);
    const Decoded decoded = decode(bytes);
    EXPECT_EQ(decoded.dialect, Dialect::seed);
    EXPECT_EQ(decoded.graph, graph) << op_def(good.op.tag).name;
    EXPECT_EQ(encode(decoded.graph), bytes);
  }
}

// Stored graphs depend on every byte: new ops and new payloads may be added, none may change.
TEST(GraphIrBinary, EveryOpKeepsItsBytes) {
  std::ostringstream text;
  text << "# The binary form of a graph of one node, for each op and operand form of the Graph IR.\n";
  for (const GoodCase& good : good_cases())
    text << static_cast<int>(good.op.tag) << ' ' << op_def(good.op.tag).name << ' ' << hex_encode(encode(good.graph()))
         << '\n';
  const std::string path = WEFT_SOURCE_DIR "/tests/data/golden/graph_ir.txt";
  if (std::getenv("WEFT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text.str();
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::set<std::string> pinned;
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    ++lines;
    EXPECT_THAT(text.str(), HasSubstr("\n" + line + "\n"));
    std::istringstream words(line);
    std::string tag, name, bytes;
    words >> tag >> name >> bytes;
    pinned.insert(name);
    EXPECT_EQ(hex_encode(encode(decode(hex_decode(bytes)).graph)), bytes) << name;
  }
  EXPECT_EQ(lines, good_cases().size()) << "a case without its line: set WEFT_UPDATE_GOLDEN and read the diff";
  EXPECT_EQ(pinned.size(), all_ops().size());
}

Attrs one_of_each_type() {
  return {{"a.int", std::int64_t{-7}},
          {"b", std::numeric_limits<float>::quiet_NaN()},
          {"c", std::string("line\nbreak \"q\" \x7f\x01")},
          {"d", Ints{1, std::numeric_limits<std::int64_t>::min()}},
          {"e", std::vector<float>{0.1f, -0.0f, std::numeric_limits<float>::infinity()}},
          {"f", true},
          {"g", std::vector<std::string>{"", "x"}},
          {"h", Ints{}}};
}

TEST(GraphIrBinary, TrailerCarriesAttributesNamesAndWeights) {
  Graph graph = one_node(make_op(Tag::silu), {{3}}, one_of_each_type());
  graph.inputs.push_back({"nobody", {{2}, DType::i32, 64, 8}});
  graph.weights = {{"model.w", {{4, 32}, DType::q8_0, 0, 136}}};
  EncodeOptions with_weights;
  with_weights.weights = true;
  const auto bytes = encode(graph, with_weights);
  const Decoded decoded = decode(bytes);
  EXPECT_EQ(decoded.graph, graph);
  EXPECT_TRUE(decoded.weights_in_blob);
  EXPECT_EQ(encode(decoded.graph, with_weights), bytes);
  graph.weights.clear();
  EXPECT_EQ(decode(encode(graph)).graph, graph);

  EncodeOptions bare;
  bare.trailer = Trailer::never;
  EXPECT_THAT(error_of([&] { encode(graph, bare); }).what(), HasSubstr("turned off"));
  graph.inputs.pop_back();
  EXPECT_EQ(decode(encode(graph, bare)).graph.nodes[0].attrs.size(), 0u);  // none of them has an effect on Silu
  Graph argmax = one_node(make_op(Tag::argmax), {{3, 4}}, {{"dim", std::int64_t{-1}}});
  EXPECT_EQ(decode(encode(argmax, bare)).graph.nodes[0].attrs.size(), 0u);
  argmax.nodes[0].attrs["dim"] = std::int64_t{0};
  EXPECT_EQ(error_of([&] { encode(argmax, bare); }).code(), "NotRepresentable");
}

TEST(GraphIrBinary, TrailerSkipsUnknownOptionalChunksOnly) {
  const std::string body = silu_blob;
  EXPECT_EQ(decode_hex(body + "57465831 06000000 80 01000000 ff").graph.nodes.size(), 1u);
  EXPECT_EQ(code_of(body + "57465831 06000000 7f 01000000 ff"), "BadTrailer");
  EXPECT_EQ(code_of(body + "57465831 06000000 01 01000000 00"), "Truncated");
  EXPECT_EQ(code_of(body + "57465831 09000000 01 04000000 00000000"), "BadTrailer");     // no name for one input
  EXPECT_EQ(code_of(body + "57465831 0a000000 80 00000000 80 00000000"), "BadTrailer");  // a kind twice
  EXPECT_EQ(code_of(body + "57465831 0e000000 01 08000000 01000000 01000000 78"), "BadTrailer");
  EXPECT_EQ(code_of(body + "57465831 00000000 00"), "TrailingBytes");
  EXPECT_EQ(code_of(body + "5746583100"), "Truncated");
  EXPECT_EQ(code_of(body + "57465832 00000000"), "TrailingBytes");
  EXPECT_EQ(code_of(body + "57"), "TrailingBytes");
  const auto attr = [&](const std::string& index, const std::string& value) {
    const std::string chunk = "01000000" + index + "01000000 01000000 6b" + value;
    const auto bytes = hex_decode(chunk);
    const auto u32_hex = [](std::size_t n) {
      const auto word = static_cast<std::uint32_t>(n);
      return hex_encode(std::as_bytes(std::span(&word, 1)));
    };
    return code_of(body + "57465831" + u32_hex(bytes.size() + 5) + "02" + u32_hex(bytes.size()) + chunk);
  };
  EXPECT_EQ(attr("00000000", "05 01"), "none");
  EXPECT_EQ(attr("01000000", "05 01"), "BadTrailer");
  EXPECT_EQ(attr("00000000", "07 01"), "BadTrailer");
  EXPECT_EQ(attr("00000000", "05 02"), "BadBool");
  EXPECT_EQ(attr("00000000", "02 01000000 ff"), "InvalidUtf8");
  EXPECT_EQ(attr("00000000", "03 ffffffff"), "Truncated");
}

TEST(GraphIrBinary, InputNamesFollowFromUse) {
  Graph graph;
  graph.nodes.push_back({0, make_op(Tag::add), {"second", "first"}, {"s"}, {}, {}});
  graph.nodes.push_back({1, make_op(Tag::rope, {{"head_dim", 2u}, {"base", 1e4f}}), {"s", "pos"}, {"r"}, {}, {}});
  graph.nodes.push_back({2, make_op(Tag::matmul), {"r", "w"}, {"y"}, {}, {}});
  graph.outputs = {"y"};
  graph.inputs = {{"second", {{-1, 2}, DType::f32, {}, {}}}, {"first", {{-1, 2}, DType::f32, {}, {}}}};
  graph.weights = {{"w", {{2, 2}, DType::f32, 0, 16}}};
  const auto bytes = encode(graph);
  DecodeOptions options;
  options.weights = &graph.weights;
  EXPECT_EQ(decode(bytes, options).graph, graph);
  EXPECT_EQ(encode(decode(bytes, options).graph), bytes);
  // Without the index "w" counts as an input.
  const Error error = error_of([&] { decode(bytes); });
  EXPECT_EQ(error.code(), "InputCountMismatch");
  EXPECT_THAT(error.what(), HasSubstr("declares 2 inputs, but its nodes consume 3 names"));
  // A position that the caller supplies takes part.
  Graph own_pos = graph;
  own_pos.inputs.push_back({"pos", {{-1}, DType::f32, {}, {}}});
  EXPECT_EQ(decode(encode(own_pos), options).graph, own_pos);
  // Another order of inputs needs the trailer.
  Graph reordered = graph;
  std::swap(reordered.inputs[0], reordered.inputs[1]);
  EXPECT_EQ(decode(encode(reordered), options).graph, reordered);
  EXPECT_GT(encode(reordered).size(), bytes.size());
}

TEST(GraphIrBinary, TiedHeadIsAWeight) {
  Graph graph;
  graph.nodes.push_back({0, make_op(Tag::matmul), {"x", "lm_head.weight"}, {"y"}, {}, {}});
  graph.outputs = {"y"};
  graph.inputs = {{"x", {{-1, 4}, DType::f32, {}, {}}}};
  graph.weights = {{"model.embed_tokens.weight", {{9, 4}, DType::f32, 0, 144}}};
  DecodeOptions options;
  options.weights = &graph.weights;
  EXPECT_EQ(decode(encode(graph), options).graph, graph);
  EXPECT_EQ(validate(graph).types.at("y").shape, (Shape{-1, 9}));
}

TEST(GraphIrBinary, EachBadFieldHasItsCode) {
  const std::string one = "01000000 00000000 ", io = "00 00000000 01000000 01000000 79";
  const std::string names = "01000000 01000000 78 01000000 01000000 79";
  const auto node = [&](const std::string& tag_and_payload) { return code_of(one + tag_and_payload + names + io); };
  EXPECT_EQ(node("0d00"), "UnknownOpTag");
  EXPECT_EQ(node("3d00 02"), "BadBool");                                                        // Gelu
  EXPECT_EQ(node("0b00 00 03"), "BadBool");                                                     // Clamp
  EXPECT_EQ(node("8e00 17"), "BadDtypeTag");                                                    // Quantize
  EXPECT_EQ(node("5600 02 01000000 01000000 01000000 01000000 00000000 00000000"), "BadEnum");  // Pool
  EXPECT_EQ(node("6400 03 0000803f"), "BadEnum");                                               // Interpolate
  EXPECT_EQ(node("9000 05 0000803f 00000000 00000000"), "BadEnum");                             // Sample
  EXPECT_EQ(node("0500 09000000" + std::string(72, '0')), "RankTooLarge");
  EXPECT_EQ(node("0500 ffffffff"), "Truncated");
  EXPECT_EQ(node("0600 09000000" + std::string(144, '0')), "RankTooLarge");
  EXPECT_EQ(code_of(one + "3c00 00000000 01000000 01000000 79" + io), "BadArity");
  EXPECT_EQ(code_of(one + "3c00 01000000 01000000 78 00000000" + io), "BadOutputCount");
  const auto name = [&](const std::string& text) {
    return code_of(one + "3c00 01000000" + text + "01000000 01000000 79" + io);
  };
  EXPECT_EQ(name("00000000"), "EmptyName");
  EXPECT_EQ(name("01000000 ff"), "InvalidUtf8");
  EXPECT_EQ(name("02000000 7809"), "BadName");
  EXPECT_EQ(name("01000000 7f"), "BadName");
  EXPECT_EQ(name("ffffffff 78"), "Truncated");
  std::string long_name(1025 * 2, '7');
  EXPECT_EQ(name("01040000" + long_name), "NameTooLong");
  EXPECT_EQ(code_of(one + "3c00" + names + "02"), "BadBool");
  EXPECT_EQ(code_of(one + "3c00" + names + "01 06"), "BadBackendHint");
  EXPECT_EQ(code_of(one + "3c00" + names + "01 00"), "BadBackendHint");
  EXPECT_EQ(code_of(one + "3c00" + names + "05", Dialect::glia), "none");
  EXPECT_EQ(code_of(one + "3c00" + names + "06", Dialect::glia), "BadBackendHint");
  const auto spec = [&](const std::string& text) {
    return code_of(one + "3c00" + names + "00 01000000" + text + "01000000 01000000 79");
  };
  EXPECT_EQ(spec("00000000 00 00"), "none");
  EXPECT_EQ(spec("00000000 17 00"), "BadDtypeTag");
  EXPECT_EQ(spec("00000000 00 02"), "BadBool");
  EXPECT_EQ(spec("01000000 feffffffffffffff 00 00"), "BadShape");
  EXPECT_EQ(spec("00000000 00 01" + std::string(32, '0')), "none");
  EXPECT_EQ(code_of(one + "3c00" + names + "00 00000000 01000000 01000000 79"), "InputCountMismatch");
  EXPECT_EQ(code_of(std::string(silu_blob) + "00"), "TrailingBytes");
}

TEST(GraphIrBinary, MessagesTellThePlace) {
  DecodeOptions options;
  options.dialect = Dialect::seed;
  options.source = "m.model";
  const Error error = decode_error("01000000 00000000 0d00 00000000 00000000 00 00000000 00000000", options);
  EXPECT_EQ(error.kind(), ErrorKind::bad_file);
  EXPECT_EQ(error.where(), "m.model@0x8");
  EXPECT_THAT(error.what(), HasSubstr("node 0 has op tag 13"));
  EXPECT_THAT(decode_error("01000000 00000000 3c00 ffffffff 00000000 00 00000000 00000000", options).what(),
              HasSubstr("node inputs need at least 4 bytes each"));
}

TEST(GraphIrBinary, CountsBeyondTheBytesAreTruncatedWithoutAllocation) {
  EXPECT_EQ(code_of("ffffffff 00000000"), "Truncated");
  EXPECT_EQ(code_of("00000000 ffffffff 00000000"), "Truncated");
  EXPECT_EQ(code_of("00000000 00000000 ffffffff"), "Truncated");
  EXPECT_EQ(code_of("00000000 01000000 ffffff7f 00000000"), "Truncated");
}

TEST(GraphIrBinary, LimitsHold) {
  DecodeOptions options;
  options.limits.blob_bytes = 55;
  EXPECT_EQ(decode_error(silu_blob, options).code(), "TooLarge");
  options = {};
  options.limits.nodes = 1;
  EXPECT_EQ(decode_error(norm_blob, options).code(), "CountTooLarge");
  options = {};
  options.limits.operands = 1;
  EXPECT_EQ(decode_error(norm_blob, options).code(), "CountTooLarge");
  options = {};
  options.limits.io = 0;
  EXPECT_EQ(decode_error(silu_blob, options).code(), "CountTooLarge");
  options = {};
  options.limits.rank = 1;
  EXPECT_EQ(decode_error(norm_blob, options).code(), "RankTooLarge");
  options = {};
  options.limits.name_bytes = 3;
  EXPECT_EQ(decode_error(norm_blob, options).code(), "NameTooLong");
}

TEST(GraphIrBinary, EveryPrefixIsRefused) {
  std::vector<std::vector<std::byte>> blobs{hex_decode(norm_blob)};
  Graph everything = one_node(make_op(Tag::silu), {{3}}, one_of_each_type());
  everything.inputs.push_back({"nobody", {{2}, DType::i32, 64, 8}});
  blobs.push_back(encode(everything));
  for (const GoodCase& good : good_cases()) blobs.push_back(encode(good.graph()));
  DecodeOptions options;
  options.dialect = Dialect::seed;
  for (const auto& blob : blobs) {
    const auto plain_end = [&] {  // a blob without its trailer is whole too
      const std::string text(reinterpret_cast<const char*>(blob.data()), blob.size());
      return std::min(text.find("WFX1"), blob.size());
    }();
    for (std::size_t length = 0; length < blob.size(); ++length) {
      const std::vector<std::byte> prefix(blob.begin(), blob.begin() + static_cast<std::ptrdiff_t>(length));
      const std::string code = error_of([&] { decode(prefix, options); }).code();
      EXPECT_TRUE(code != "none" || length == plain_end) << length << " of " << blob.size();
    }
  }
}

TEST(GraphIrBinary, ChangedBytesNeverCrash) {
  std::mt19937 random(7);
  std::vector<std::vector<std::byte>> blobs;
  for (const GoodCase& good : good_cases()) blobs.push_back(encode(good.graph()));
  std::size_t accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> blob = blobs[random() % blobs.size()];
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
      blob[random() % blob.size()] = static_cast<std::byte>(random() % 4 == 0 ? 0xff : random());
    try {
      const Decoded decoded = decode(blob);
      ++accepted;
      if (decoded.dialect == Dialect::seed && decoded.warnings.empty()) {
        // What reads back reads back the same; NotRepresentable only where fields were read under the other order.
        EXPECT_EQ(decode(encode(decoded.graph)).graph, decoded.graph);
      }
      validate(decoded.graph);
    } catch (const Error&) {
    }
  }
  EXPECT_GT(accepted, 1000u);
}

TEST(GraphIrBinary, EncoderRefusesWhatTheLayoutHasNoRoomFor) {
  const auto code = [](const std::function<void(Graph&)>& change) {
    Graph graph = one_node(make_op(Tag::silu), {{3}});
    change(graph);
    return error_of([&] { encode(graph); }).code();
  };
  EXPECT_EQ(code([](Graph&) {}), "none");
  EXPECT_EQ(code([](Graph& g) { g.inputs[0].spec.dtype = DType::f64; }), "NotRepresentable");
  EXPECT_EQ(code([](Graph& g) { g.inputs[0].spec.offset = 1; }), "NotRepresentable");
  EXPECT_EQ(code([](Graph& g) { g.inputs[0].spec.shape = {-2}; }), "NotRepresentable");
  EXPECT_EQ(code([](Graph& g) { g.inputs[0].spec.shape.assign(9, 1); }), "NotRepresentable");
  EXPECT_EQ(code([](Graph& g) { g.outputs = {""}; }), "NotRepresentable");
  EXPECT_EQ(code([](Graph& g) { g.nodes[0].outputs = {"a\nb"}; }), "NotRepresentable");
  EXPECT_EQ(code([](Graph& g) { g.nodes[0].attrs["k"] = std::string("\xff"); }), "NotRepresentable");
  EXPECT_EQ(code([](Graph& g) { g.nodes[0].op.params.push_back(true); }), "NotRepresentable");
  EXPECT_EQ(code([](Graph& g) { g.nodes[0].op.tag = static_cast<Tag>(13); }), "NotRepresentable");
  EXPECT_EQ(code([](Graph& g) { g.nodes[0].inputs.clear(); }), "BadArity");
  EXPECT_EQ(error_of([] { make_op(Tag::quantize, {{"dtype", 3u}}); }).code(), "BadParam");
  EXPECT_EQ(error_of([] {
              encode(one_node(make_op(Tag::quantize, {{"dtype", DType::f64}}), {{3}}));
            }).code(),
            "NotRepresentable");
}

}  // namespace
}  // namespace weft::graph_ir
