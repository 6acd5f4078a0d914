#include "weft/ir/binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "local_ops.h"
#include "random_graph.h"
#include "weft/ir/text.h"

namespace weft {
namespace {

using test::code_of;
using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

// Writes the layout by hand, so that the tests do not trust the encoder.
struct Writer {
  Bytes bytes;
  template <class T>
  Writer& put(T number) {
    const auto* raw = reinterpret_cast<const std::byte*>(&number);
    bytes.insert(bytes.end(), raw, raw + sizeof number);
    return *this;
  }
  Writer& u8(std::uint8_t x) { return put(x); }
  Writer& u32(std::uint32_t x) { return put(x); }
  Writer& i32(std::int32_t x) { return put(x); }
  Writer& i64(std::int64_t x) { return put(x); }
  Writer& text(std::string_view x) {
    u32(static_cast<std::uint32_t>(x.size()));
    for (const char c : x) u8(static_cast<std::uint8_t>(c));
    return *this;
  }
  Writer& head(std::uint32_t version = 1) {
    for (const char c : {'W', 'M', 'I', 'R'}) u8(static_cast<std::uint8_t>(c));
    return u32(version);
  }
};

// Everything up to the nodes: name "g", no symbols, states or constants.
Writer start() { return Writer().head().text("g").u32(0).u32(0).u32(0); }

struct Refusal {
  std::string code, where, message;
};
Refusal refusal_of(const Bytes& bytes) {
  try {
    graph_from_binary(bytes, "m");
  } catch (const Error& error) {
    return {error.code(), error.where(), error.message()};
  }
  return {};
}

// Input{name="x", shape=[n, 4]} with the choices that a test spoils.
struct InputNode {
  std::uint32_t tag = 1, attributes = 2;
  std::string second = "shape";
  std::uint8_t second_type = 8, dim_form = 1, dtype = 0, origin_flag = 0;
  std::string dim = "n";
  std::int64_t declared = 4;

  Bytes graph() const {
    Writer w = start();
    w.u32(1).u32(tag).u32(attributes).text("name").u8(3).text("x").text(second).u8(second_type);
    w.u32(2).u8(dim_form).text(dim).u8(0).i64(4);
    w.u32(0).u32(1).u8(dtype).u32(2).u8(1).text("n").u8(0).i64(declared).text("value");
    w.u8(origin_flag).text("");
    return w.u32(1).text("y").i32(0).i32(0).bytes;
  }
};

TEST(Binary, RandomGraphsReadBackEqual) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Graph graph = test::GraphGenerator(seed).graph(5, 30);
    const Bytes bytes = to_binary(graph);
    const Graph read = graph_from_binary(bytes);
    ASSERT_TRUE(read == graph) << "seed " << seed << "\n" << to_text(graph);
    ASSERT_EQ(to_binary(read), bytes);
    for (std::int32_t i = 0; i < graph.size(); ++i)
      EXPECT_EQ(read.node(i).constraints.size(), graph.node(i).constraints.size());
  }
}

TEST(Binary, TheLayoutIsTheDocumentedOne) {
  const Bytes bytes = InputNode{}.graph();
  Graph expected("g");
  const Value x = test::input(expected, "x", {Dim::symbol("n"), 4});
  expected.set_name_of(x, "value");
  expected.add_output("y", x);
  const Graph read = graph_from_binary(bytes);
  EXPECT_EQ(to_text(read), to_text(expected));
  // The encoder also stores the symbol, which a reader finds in the shapes.
  Writer with_symbol = Writer().head().text("g").u32(1).text("n").i64(0).i64(unbounded);
  const std::size_t symbols_at = 4 + 4 + 4 + 1;
  with_symbol.bytes.insert(with_symbol.bytes.end(), bytes.begin() + symbols_at + 4, bytes.end());
  EXPECT_EQ(to_binary(expected), with_symbol.bytes);
}

TEST(Binary, StatesAndConstants) {
  Writer w = Writer().head().text("g").u32(0);
  w.u32(1).text("k").u8(1).u8(1).u32(2).i64(64).i64(32).u8(1).text("past").u8(1).i64(4096);
  w.u32(1).put(std::uint64_t{8}).put(1.0F).put(2.0F);
  w.u32(2);
  for (const std::int64_t rank1 : {1, 0}) {
    w.u32(3).u32(1).text("value").u8(9).u8(0).u32(rank1 != 0 ? 1 : 2);
    if (rank1 == 0) w.i64(1);
    w.i64(2).u32(0);
    w.u32(0).u32(1).u8(0).u32(rank1 != 0 ? 1 : 2);
    if (rank1 == 0) w.u8(0).i64(1);
    w.u8(0).i64(2).text("");
    w.u8(1).text("gguf").u8(1).i64(-5).text("op").text("label").u32(1).text("also").text("cpu");
  }
  w.u32(0);
  const Graph graph = graph_from_binary(w.bytes);
  const StateDecl expected{"k", StateKind::paged_rows, DType::f16, {64, 32}, Dim::symbol("past"), 4096};
  ASSERT_EQ(graph.states().size(), 1u);
  EXPECT_EQ(graph.states()[0], expected);
  EXPECT_EQ(graph.symbols().at("past").high, 4096);
  const auto& row = std::get<Tensor>(graph.node(0).attribute("value"));
  EXPECT_EQ(row.values<float>()[1], 2.0F);
  EXPECT_TRUE(row.shares_bytes_with(std::get<Tensor>(graph.node(1).attribute("value"))));
  EXPECT_EQ(graph.node(1).origin, (Origin{"gguf", -5, "op", "label", {"also"}}));
  EXPECT_EQ(graph.node(0).backend_hint, "cpu");
}

TEST(Binary, EqualConstantsAreStoredOnce) {
  Graph graph;
  for (const DType dtype : {DType::f32, DType::i32})
    graph.add("Constant", {}, {{"value", Tensor::zeros(dtype, {1000})}});
  EXPECT_LT(to_binary(graph).size(), 4500u);
  EXPECT_TRUE(graph_from_binary(to_binary(graph)) == graph);
}

TEST(Binary, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(refusal_of({}).code, "Truncated");
  EXPECT_EQ(refusal_of(Writer().text("not a graph").bytes).code, "NotMir");
  for (const std::uint32_t version : {0u, 2u, 0xFFFFFFFFu}) {
    const Refusal refusal = refusal_of(Writer().head(version).bytes);
    EXPECT_EQ(refusal.code, "UnsupportedVersion");
    EXPECT_EQ(refusal.where, "m@0x4");
  }
  const auto spoiled = [](auto&& change) {
    InputNode node;
    change(node);
    return refusal_of(node.graph());
  };
  EXPECT_EQ(spoiled([](InputNode&) {}).code, "");
  const Refusal unknown = spoiled([](InputNode& node) { node.tag = 0xABCDEF; });
  EXPECT_EQ(unknown.code, "UnknownOpTag");
  EXPECT_THAT(unknown.message, HasSubstr("node %0"));
  EXPECT_THAT(unknown.message, HasSubstr("11259375"));
  EXPECT_EQ(spoiled([](InputNode& node) { node.second = "shapes"; }).code, "BadAttribute");
  EXPECT_EQ(spoiled([](InputNode& node) { node.second = "name"; }).code, "BadAttribute");
  EXPECT_EQ(spoiled([](InputNode& node) { node.second_type = 5; }).code, "BadAttribute");
  EXPECT_EQ(spoiled([](InputNode& node) { node.dim_form = 2; }).code, "BadEnum");
  EXPECT_EQ(spoiled([](InputNode& node) { node.dim = "n+"; }).code, "BadDim");
  EXPECT_EQ(spoiled([](InputNode& node) { node.dtype = 23; }).code, "BadDtypeTag");
  EXPECT_EQ(spoiled([](InputNode& node) { node.dtype = 1; }).code, "DTypeMismatch");
  EXPECT_EQ(spoiled([](InputNode& node) { node.declared = 5; }).code, "ShapeMismatch");
  EXPECT_EQ(spoiled([](InputNode& node) { node.origin_flag = 2; }).code, "BadBool");
  Bytes trailing = InputNode{}.graph();
  trailing.push_back({});
  const Refusal refusal = refusal_of(trailing);
  EXPECT_EQ(refusal.code, "TrailingBytes");
  EXPECT_THAT(refusal.message, HasSubstr("1 bytes"));
}

TEST(Binary, CountsAreCheckedBeforeAnythingIsAllocated) {
  constexpr std::uint32_t many = 0xFFFFFFFF;
  EXPECT_EQ(refusal_of(Writer().head().u32(many).bytes).code, "Truncated");
  EXPECT_EQ(refusal_of(Writer().head().text("g").u32(many).bytes).code, "Truncated");
  EXPECT_EQ(refusal_of(Writer().head().text("g").u32(0).u32(many).bytes).code, "Truncated");
  EXPECT_EQ(refusal_of(Writer().head().text("g").u32(0).u32(0).u32(many).bytes).code, "Truncated");
  EXPECT_EQ(refusal_of(start().u32(many).bytes).code, "Truncated");
  EXPECT_EQ(refusal_of(start().u32(1).u32(1).u32(many).bytes).code, "Truncated");
  EXPECT_EQ(refusal_of(start().u32(0).u32(many).bytes).code, "Truncated");
  Writer blob = Writer().head().text("g").u32(0).u32(0).u32(1);
  EXPECT_EQ(refusal_of(blob.put(~std::uint64_t{0}).bytes).code, "Truncated");
}

TEST(Binary, EveryPrefixIsRefused) {
  for (const std::uint32_t seed : {3u, 11u, 12u}) {
    const Bytes bytes = to_binary(test::GraphGenerator(seed).graph(5, 30));
    for (std::size_t length = 0; length < bytes.size(); ++length)
      EXPECT_EQ(refusal_of(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length))).code, "Truncated")
          << length << " of " << bytes.size();
  }
}

TEST(Binary, ChangedBytesNeverCrash) {
  std::mt19937 random(6);
  int refused = 0, accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    static std::map<std::uint32_t, Bytes> originals;
    Bytes& original = originals[static_cast<std::uint32_t>(round) % 40];
    if (original.empty())
      original = to_binary(test::GraphGenerator(static_cast<std::uint32_t>(round) % 40).graph(5, 30));
    Bytes bytes = original;
    for (std::uint32_t changes = 1 + random() % 3; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random() % 4 == 0 ? 0xff : random());
    try {
      const Graph graph = graph_from_binary(bytes);
      ASSERT_TRUE(graph_from_binary(to_binary(graph)) == graph);
      ++accepted;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 5000);
  EXPECT_GT(accepted, 500);  // names, labels and values of constants may be anything
}

}  // namespace
}  // namespace weft
