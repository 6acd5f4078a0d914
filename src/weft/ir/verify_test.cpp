#include "weft/ir/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "local_ops.h"
#include "random_graph.h"

namespace weft {
namespace {

using test::input;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Dim n = Dim::symbol("n"), past = Dim::symbol("past");

std::vector<std::string> codes(const Graph& graph) {
  std::vector<std::string> out;
  for (const Problem& problem : find_problems(graph)) out.push_back(problem.code);
  return out;
}

// A sound node to be spoiled: Join(x, x) as node %1 over the input %0.
Graph with_join(const std::function<void(Node&)>& spoil) {
  Graph graph;
  const Value x = input(graph, "x", {n, 4});
  Graph other = graph;
  Node node = other.node(other.add(test::join_schema(), {x, x}));
  spoil(node);
  graph.append_unchecked(std::move(node));
  return graph;
}

TEST(Verify, AcceptsWhatTheGraphBuilt) {
  EXPECT_THAT(codes(Graph()), IsEmpty());
  EXPECT_THAT(codes(with_join([](Node&) {})), IsEmpty());
  int nodes = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Graph graph = test::GraphGenerator(seed).graph(6, 20);
    EXPECT_THAT(codes(graph), IsEmpty()) << "seed " << seed;
    nodes += graph.size();
  }
  EXPECT_GT(nodes, 500);
}

TEST(Verify, OperandsExist) {
  EXPECT_THAT(codes(with_join([](Node& node) { node.inputs[1] = {9, 0}; })), ElementsAre("UndefinedInput"));
  EXPECT_THAT(codes(with_join([](Node& node) { node.inputs[1] = {0, 1}; })), ElementsAre("UndefinedInput"));
  EXPECT_THAT(codes(with_join([](Node& node) { node.inputs[1] = {0, -1}; })), ElementsAre("UndefinedInput"));
  EXPECT_THAT(codes(with_join([](Node& node) { node.inputs[1] = {-2, 0}; })), ElementsAre("UndefinedInput"));
}

TEST(Verify, ALaterOperandIsOutOfOrderOrACycle) {
  EXPECT_THAT(codes(with_join([](Node& node) { node.inputs[1] = {1, 0}; })), ElementsAre("Cycle"));
  const auto join_of_later = [](Value later_operand) {
    Graph graph = with_join([](Node& node) { node.inputs[1] = {2, 0}; });
    Node node = graph.node(1);
    node.inputs[1] = later_operand;
    graph.append_unchecked(std::move(node));
    return codes(graph);
  };
  EXPECT_THAT(join_of_later({0, 0}), ElementsAre("NotTopological"));
  EXPECT_THAT(join_of_later({1, 0}), ElementsAre("Cycle"));
}

TEST(Verify, ALongCycleNeedsNoDeepStack) {
  Graph graph = with_join([](Node&) {});
  Node node = graph.node(1);
  constexpr std::int32_t length = 200000;
  for (std::int32_t i = 2; i < length; ++i) {
    node.inputs[1] = {i == length - 1 ? 2 : i + 1, 0};
    graph.append_unchecked(node);
  }
  const auto found = codes(graph);
  EXPECT_EQ(found.size(), 32u);
  EXPECT_THAT(found, testing::Each("Cycle"));
}

TEST(Verify, ArityAndAttributes) {
  EXPECT_THAT(codes(with_join([](Node& node) { node.inputs.pop_back(); })), ElementsAre("BadArity"));
  EXPECT_THAT(codes(with_join([](Node& node) { node.inputs[1] = {}; })), ElementsAre("BadArity"));
  EXPECT_THAT(codes(with_join([](Node& node) { node.inputs.resize(4, {0, 0}); })), ElementsAre("BadArity"));
  EXPECT_THAT(codes(with_join([](Node& node) { node.attributes.pop_back(); })), ElementsAre("BadAttribute"));
  EXPECT_THAT(codes(with_join([](Node& node) { node.attributes[0] = std::int64_t{1}; })), ElementsAre("BadAttribute"));
  EXPECT_THAT(codes(with_join([](Node& node) { node.attributes[0] = {}; })), ElementsAre("BadAttribute"));
  EXPECT_THAT(codes(with_join([](Node& node) { node.attributes[1] = std::int64_t{2}; })), ElementsAre("BadAttribute"));
  EXPECT_THAT(codes(with_join([](Node& node) { node.attributes[2] = std::string("slow"); })),
              ElementsAre("BadAttribute"));
  // Inference settles `auto`; a graph that still says so was never inferred.
  EXPECT_THAT(codes(with_join([](Node& node) { node.attributes[2] = std::string("auto"); })),
              ElementsAre("BadAttribute"));
}

TEST(Verify, DeclaredTypesAreTheInferredOnes) {
  EXPECT_THAT(codes(with_join([](Node& node) { node.outputs[0].type.dtype = DType::f16; })),
              ElementsAre("DTypeMismatch"));
  EXPECT_THAT(codes(with_join([](Node& node) { node.outputs[0].type.shape = {n, 5}; })), ElementsAre("ShapeMismatch"));
  EXPECT_THAT(codes(with_join([](Node& node) { node.outputs.emplace_back(); })), ElementsAre("BadOutputCount"));
  EXPECT_THAT(codes(with_join([](Node& node) { node.outputs.clear(); })), ElementsAre("BadOutputCount"));
  // [] and [1] hold one element each and are different types all the same.
  Graph graph;
  const Value scalar = input(graph, "x", {});
  Graph other = graph;
  Node node = other.node(other.add(test::stack_schema(), {scalar}));
  node.outputs[0].type.shape = {1};
  graph.append_unchecked(std::move(node));
  EXPECT_THAT(codes(graph), ElementsAre("ShapeMismatch"));
  EXPECT_THAT(find_problems(graph)[0].message, HasSubstr("declared [1] f32, inferred [] f32"));
}

// An Input as a damaged file might declare it; building one would be refused.
void declare(Graph& graph, const std::string& name, const Shape& shape, DType dtype = DType::f32) {
  Graph other;
  const Value sound = input(other, name, {1}, DType::f32);
  Node node = other.node(sound.node);
  node.attributes[*node.schema->attribute_index("shape")] = shape;
  node.attributes[*node.schema->attribute_index("dtype")] = dtype;
  node.outputs[0] = {{shape, dtype}, ""};
  graph.append_unchecked(std::move(node));
}

TEST(Verify, SizesArePossible) {
  Graph graph;
  declare(graph, "negative", {n, -4});
  declare(graph, "always negative", {Dim(-5) - n});
  declare(graph, "huge", {std::int64_t{1} << 40, std::int64_t{1} << 40});
  declare(graph, "cut", {n, 33}, DType::q8_0);
  input(graph, "whole", {n, 64}, DType::q8_0);
  input(graph, "may be negative", {n - 5});
  EXPECT_THAT(codes(graph), ElementsAre("BadShape", "BadShape", "SizeOverflow", "BlockMisaligned"));
}

TEST(Verify, AConstantHasItsBytes) {
  Graph graph;
  Node node;
  node.schema = OpRegistry::global().find("Constant");
  node.attributes = {Tensor()};  // [] f32 with no bytes at all
  node.outputs.push_back({{{}, DType::f32}, ""});
  graph.append_unchecked(std::move(node));
  EXPECT_THAT(codes(graph), ElementsAre("TensorSizeMismatch"));
}

TEST(Verify, LeavesHaveTheirOwnNames) {
  Graph graph;
  input(graph, "x", {4});
  input(graph, "x", {4});
  graph.add("Param", {}, {{"name", "w"}, {"shape", Shape{4}}});
  graph.add("Param", {}, {{"name", "w"}, {"shape", Shape{4}}});
  graph.add("Param", {}, {{"name", "x"}, {"shape", Shape{4}}});
  EXPECT_THAT(codes(graph), ElementsAre("DuplicateInput", "DuplicateParam", "ShadowedName"));
}

TEST(Verify, SlotsAreDeclared) {
  Graph graph;
  const Value x = input(graph, "x", {n, 8});
  graph.add_state({"slot", StateKind::rows, DType::f32, {8}, past, std::nullopt});
  Node node = graph.node(graph.add(test::keep_schema(), {x}, {{"slot", "slot"}}));
  EXPECT_THAT(codes(graph), IsEmpty());
  node.attributes[0] = std::string("other");
  graph.append_unchecked(std::move(node));
  EXPECT_THAT(codes(graph), ElementsAre("UnknownState"));
}

TEST(Verify, StatesAreSound) {
  Graph graph;
  graph.add_state({"", StateKind::rows, DType::f32, {8}, past, std::nullopt});
  graph.add_state({"no planes", StateKind::rows, DType::f32, {}, past, std::nullopt});
  graph.add_state({"narrow", StateKind::rows, DType::f32, {0}, past, std::nullopt});
  graph.add_state({"no room", StateKind::rows, DType::f32, {8}, past, 0});
  graph.add_state({"static length", StateKind::paged_rows, DType::f32, {8}, 4, std::nullopt});
  graph.add_state({"cut", StateKind::rows, DType::q8_0, {40}, past, std::nullopt});
  graph.add_state({"fixed", StateKind::fixed, DType::f32, {8}, 1, std::nullopt});
  EXPECT_THAT(codes(graph), ElementsAre("BadState", "BadState", "BadState", "BadState", "BadState", "BlockMisaligned"));
}

TEST(Verify, SymbolsHaveNamesAndRanges) {
  Graph graph;
  graph.set_symbol("n", {3, 2});
  graph.set_symbol("m", {-1, 2});
  graph.set_symbol("2 n", {0, 1});
  graph.set_symbol("zero", {0, 0});
  EXPECT_THAT(codes(graph), ElementsAre("BadSymbol", "BadSymbol", "BadSymbol"));
}

TEST(Verify, OutputsExistAndHaveNames) {
  Graph graph;
  const Value x = input(graph, "x", {4});
  graph.set_outputs({{"a", x}, {"a", x}, {"", x}, {"b", {7, 0}}, {"c", {}}, {"d", x}});
  EXPECT_THAT(codes(graph), ElementsAre("DuplicateOutput", "EmptyName", "OutputUndefined", "OutputUndefined"));
}

TEST(Verify, ANodeWithoutAnOpIsReported) {
  Graph graph;
  graph.append_unchecked(Node{});
  EXPECT_THAT(codes(graph), ElementsAre("UnknownOp"));
}

TEST(Verify, ThrowsOneErrorWithTheOthersInItsDetails) {
  Graph graph = with_join([](Node& node) { node.inputs[1] = {9, 0}; });
  graph.set_outputs({{"", {1, 0}}, {"y", {8, 0}}});
  try {
    verify(graph);
    FAIL() << "the graph is sound";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_graph);
    EXPECT_EQ(error.code(), "UndefinedInput");
    EXPECT_EQ(error.where(), "[Join] node %1");
    EXPECT_THAT(error.message(), HasSubstr("%9#0"));
    EXPECT_EQ(error.details().size(), 2u);
  }
  EXPECT_NO_THROW(verify(Graph()));
}

TEST(Verify, ReportsTheFirst32Problems) {
  Graph graph;
  for (int i = 0; i < 100; ++i) declare(graph, "x", {-1});
  EXPECT_EQ(find_problems(graph).size(), 32u);
}

}  // namespace
}  // namespace weft
