#include "weft/ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "local_ops.h"

namespace weft {
namespace {

using test::code_of;
using test::input;
using testing::ElementsAre;

const Dim n = Dim::symbol("n"), past = Dim::symbol("past");

struct Small {
  Graph graph{"small"};
  Value x, y, joined, first, second;
  Small() {
    x = input(graph, "x", {n, 4});
    y = input(graph, "y", {4});
    joined = {graph.add(test::join_schema(), {x, y}, {{"scale", 2.0}}, {.names = {"sum"}}), 0};
    const std::int32_t part = graph.add(test::part_schema(), {joined}, {}, {.names = {"", "count"}});
    first = {part, 0};
    second = {part, 1};
    graph.add_output("result", first);
  }
};

TEST(Graph, AddInfersTypesAndFillsDefaults) {
  const Small s;
  EXPECT_EQ(s.graph.type(s.joined).text(), "[n, 4] f32");
  EXPECT_EQ(s.graph.type(s.first).text(), "[n, 4] f32");
  EXPECT_EQ(s.graph.type(s.second).text(), "[n] i32");
  const Node& node = s.graph.node(s.joined.node);
  EXPECT_EQ(node.real("scale"), 2.0);
  EXPECT_EQ(node.integer("axis"), -1);
  EXPECT_EQ(node.text("mode"), "fast");  // resolved by inference
  EXPECT_EQ(code_of([&] { node.attribute("width"); }), "BadAttribute");
}

TEST(Graph, AddRefusesWhatTheSchemaDoesNotSay) {
  Small s;
  const auto join = [&](std::vector<Value> inputs, const Attributes& attributes) {
    return code_of([&] { s.graph.add(test::join_schema(), std::move(inputs), attributes); });
  };
  EXPECT_EQ(join({s.x, s.y}, {{"width", 1}}), "BadAttribute");
  EXPECT_EQ(join({s.x, s.y}, {{"scale", 1.0}, {"scale", 2.0}}), "BadAttribute");
  EXPECT_EQ(join({s.x, s.y}, {{"scale", 1}}), "BadAttribute");
  EXPECT_EQ(join({s.x, s.y}, {{"mode", "slow"}}), "BadAttribute");
  EXPECT_EQ(join({s.x, s.y}, {{"axis", 2}}), "BadAttribute");
  EXPECT_EQ(join({s.x}, {}), "BadArity");
  EXPECT_EQ(join({s.x, Value{}}, {}), "BadArity");
  EXPECT_EQ(join({s.x, s.y, s.y, s.y}, {}), "BadArity");
  EXPECT_EQ(join({s.x, {99, 0}}, {}), "UndefinedInput");
  EXPECT_EQ(join({s.x, {0, 1}}, {}), "UndefinedInput");
  EXPECT_EQ(join({s.x, s.second}, {}), "DTypeMismatch");
  EXPECT_EQ(code_of([&] { s.graph.add("NoSuchOp", {}); }), "UnknownOp");
  EXPECT_EQ(code_of([&] { s.graph.add("Input", {}, {{"shape", Shape{4}}}); }), "BadAttribute");
  EXPECT_EQ(s.graph.size(), 4);  // nothing was added
}

TEST(Graph, AnAbsentOptionalOperandMayStandLastOrBeLeftOut) {
  Small s;
  EXPECT_EQ(s.graph.type({s.graph.add(test::join_schema(), {s.x, s.y, Value{}}), 0}).text(), "[n, 4] f32");
  EXPECT_EQ(s.graph.type({s.graph.add(test::join_schema(), {s.x, s.y, s.y}), 0}).text(), "[n, 4] f32");
}

TEST(Graph, NamesAreUnique) {
  Small s;
  EXPECT_EQ(s.graph.find_value("sum"), s.joined);
  EXPECT_EQ(s.graph.find_value("count"), s.second);
  EXPECT_EQ(s.graph.find_value("nothing"), std::nullopt);
  s.graph.set_name_of(s.joined, "total");
  EXPECT_EQ(s.graph.find_value("sum"), std::nullopt);
  EXPECT_EQ(s.graph.find_value("total"), s.joined);
  s.graph.set_name_of(s.x, "sum");
  EXPECT_EQ(s.graph.find_value("sum"), s.x);
  s.graph.set_name_of(s.joined, "total");
  s.graph.set_name_of(s.joined, "");
  EXPECT_EQ(s.graph.find_value("total"), std::nullopt);
  EXPECT_EQ(code_of([&] { s.graph.set_name_of(s.y, "count"); }), "DuplicateProducer");
  EXPECT_EQ(code_of([&] { s.graph.add(test::part_schema(), {s.x}, {}, {.names = {"count"}}); }), "DuplicateProducer");
  EXPECT_EQ(code_of([&] { s.graph.add(test::part_schema(), {s.x}, {}, {.names = {"p", "p"}}); }), "DuplicateProducer");
}

TEST(Graph, ANodeThatIsRefusedLeavesNoName) {
  Small s;
  EXPECT_EQ(code_of([&] {
              s.graph.add(test::part_schema(), {s.x}, {}, {.names = {"fresh", "count"}});
            }),
            "DuplicateProducer");
  EXPECT_EQ(s.graph.find_value("fresh"), std::nullopt);
}

TEST(Graph, QueriesFindLeavesAndUsers) {
  Small s;
  EXPECT_EQ(s.graph.find_input("x"), s.x.node);
  EXPECT_EQ(s.graph.find_input("sum"), std::nullopt);
  EXPECT_EQ(s.graph.find_param("x"), std::nullopt);
  EXPECT_THAT(s.graph.inputs(), ElementsAre(0, 1));
  EXPECT_TRUE(s.graph.params().empty());
  const std::int32_t twice = s.graph.add(test::join_schema(), {s.y, s.y});
  EXPECT_THAT(s.graph.users(s.y), ElementsAre(Value{2, 1}, Value{twice, 0}, Value{twice, 1}));
  EXPECT_EQ(s.graph.use_count(s.y), 3u);
  EXPECT_EQ(s.graph.use_count(s.first), 1u);
  s.graph.add_output("again", s.first);
  EXPECT_EQ(s.graph.use_count(s.first), 2u);
  EXPECT_EQ(s.graph.use_count(s.second), 0u);
}

TEST(Graph, LiveNodesAreThoseThatOutputsAndStatesNeed) {
  Small s;
  s.graph.add(test::join_schema(), {s.x, s.x});  // for nobody
  const Value only_kept = input(s.graph, "k", {n, 8});
  s.graph.add_state({"slot", StateKind::rows, DType::f32, {8}, past, std::nullopt});
  s.graph.add(test::keep_schema(), {only_kept}, {{"slot", "slot"}});
  EXPECT_THAT(s.graph.live_nodes(), ElementsAre(true, true, true, true, false, true, true));
}

TEST(Graph, SymbolsComeWithTheShapesThatNameThem) {
  Small s;
  ASSERT_TRUE(s.graph.symbols().contains("n"));
  EXPECT_EQ(s.graph.symbols().at("n").low, 0);
  EXPECT_EQ(s.graph.symbols().at("n").high, unbounded);
  s.graph.set_symbol("n", {1, 512});
  input(s.graph, "z", {n});
  EXPECT_EQ(s.graph.symbols().at("n").high, 512);
  s.graph.add_state({"slot", StateKind::rows, DType::f32, {8}, past, 4096});
  EXPECT_EQ(s.graph.symbols().at("past").high, 4096);
  EXPECT_TRUE(s.graph.is_dynamic());
  Graph fixed;
  input(fixed, "x", {4});
  EXPECT_FALSE(fixed.is_dynamic());
}

TEST(Graph, StatesAreFoundByNameAndDeclaredOnce) {
  Small s;
  const StateDecl state{"slot", StateKind::rows, DType::f16, {8, 8}, past, std::nullopt};
  s.graph.add_state(state);
  ASSERT_NE(s.graph.state("slot"), nullptr);
  EXPECT_EQ(*s.graph.state("slot"), state);
  EXPECT_EQ(s.graph.state("other"), nullptr);
  EXPECT_EQ(code_of([&] { s.graph.add_state(state); }), "DuplicateState");
  EXPECT_EQ(code_of([&] { s.graph.add(test::keep_schema(), {s.x}, {{"slot", "other"}}); }), "UnknownState");
}

TEST(Graph, PlacesReadWell) {
  Small s;
  EXPECT_EQ(s.graph.label(s.joined), "sum (%2)");
  EXPECT_EQ(s.graph.label(s.first), "%3");
  EXPECT_EQ(s.graph.label(s.second), "count (%3#1)");
  EXPECT_EQ(s.graph.label({99, 0}), "%99");
  EXPECT_EQ(s.graph.where(s.joined.node), "[Join] node %2 \"sum\"");
  s.graph.set_origin(s.first.node, {"gguf", 7, "Part", "layers.0.part"});
  EXPECT_EQ(s.graph.where(s.first.node), "[Part] node %3 \"layers.0.part\"");
  try {
    s.graph.add(test::join_schema(), {s.x, s.second}, {}, {.names = {"q"}});
    FAIL() << "f32 and i32 join";
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "[Join] node %4 \"q\"");
  }
}

TEST(Graph, ACopyIsAnotherGraph) {
  const Small s;
  Graph copy = s.graph;
  EXPECT_TRUE(copy == s.graph);
  copy.set_name_of(s.joined, "renamed");
  EXPECT_EQ(s.graph.find_value("sum"), s.joined);
  EXPECT_FALSE(copy == s.graph);
}

TEST(Graph, EqualityLooksAtEveryPart) {
  const auto differs = [](auto&& change) {
    Small a, b;
    EXPECT_TRUE(a.graph == b.graph);
    change(b);
    return !(a.graph == b.graph);
  };
  EXPECT_TRUE(differs([](Small& s) { s.graph.set_name("other"); }));
  EXPECT_TRUE(differs([](Small& s) { s.graph.set_symbol("n", {0, 7}); }));
  EXPECT_TRUE(differs([](Small& s) { s.graph.set_symbol("m", {0, 7}); }));
  EXPECT_TRUE(differs([](Small& s) { s.graph.set_name_of(s.first, "f"); }));
  EXPECT_TRUE(differs([](Small& s) { s.graph.set_origin(0, {"c++", std::nullopt, "", ""}); }));
  EXPECT_TRUE(differs([](Small& s) { s.graph.add_output("more", s.x); }));
  EXPECT_TRUE(differs([](Small& s) { s.graph.set_outputs({{"result", s.second}}); }));
  EXPECT_TRUE(differs([](Small& s) { s.graph.add_state({"s", StateKind::fixed, DType::f32, {1}, 0, {}}); }));
  EXPECT_TRUE(differs([](Small& s) { input(s.graph, "z", {}); }));
  const auto last_node_differs = [](auto&& change) {
    Small a, b;
    Node node = a.graph.node(a.joined.node);
    node.outputs[0].name.clear();
    a.graph.append_unchecked(node);
    change(node);
    b.graph.append_unchecked(node);
    return !(a.graph == b.graph);
  };
  EXPECT_FALSE(last_node_differs([](Node&) {}));
  EXPECT_TRUE(last_node_differs([](Node& node) { node.attributes[0] = 3.0; }));
  EXPECT_TRUE(last_node_differs([](Node& node) { node.inputs.push_back({}); }));
  EXPECT_TRUE(last_node_differs([](Node& node) { node.backend_hint = "cpu"; }));
  EXPECT_TRUE(last_node_differs([](Node& node) { node.outputs[0].type.dtype = DType::f16; }));
  EXPECT_TRUE(last_node_differs([](Node& node) { node.schema = &test::stack_schema(); }));
}

TEST(Graph, OutputsMustExist) {
  Small s;
  EXPECT_EQ(code_of([&] { s.graph.add_output("no", {99, 0}); }), "UndefinedInput");
  EXPECT_EQ(code_of([&] { s.graph.add_output("no", {}); }), "UndefinedInput");
}

}  // namespace
}  // namespace weft
