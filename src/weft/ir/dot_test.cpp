#include "weft/ir/dot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "local_ops.h"

namespace weft {
namespace {

using testing::HasSubstr;

TEST(Dot, DrawsNodesEdgesAndOutputs) {
  Graph graph("g");
  const Value x = test::input(graph, "x", {Dim::symbol("n"), 4});
  const Value w{graph.add("Param", {}, {{"name", "w"}, {"shape", Shape{4}}}), 0};
  const Value sum{graph.add(test::join_schema(), {x, w}, {{"scale", 2.0}}, {.names = {"sum"}}), 0};
  const std::int32_t part = graph.add(test::part_schema(), {sum});
  graph.add_output("y", {part, 1});
  const std::string dot = to_dot(graph);
  EXPECT_THAT(dot, testing::StartsWith("digraph \"g\" {\n"));
  EXPECT_THAT(dot, testing::EndsWith("}\n"));
  EXPECT_THAT(dot, HasSubstr("n1 [label=\"%1 Param\\nname = \\\"w\\\"\", color=gray70, fontcolor=gray50];\n"));
  EXPECT_THAT(dot, HasSubstr("n2 [label=\"%2 Join\\nsum\\nscale = 2.0\\nmode = fast\"];\n"));
  EXPECT_THAT(dot, HasSubstr("n0 -> n2 [label=\"[n, 4] f32\"];\n"));
  EXPECT_THAT(dot, HasSubstr("n1 -> n2 [label=\"[4] f32\", color=gray70, fontcolor=gray50];\n"));
  EXPECT_THAT(dot, HasSubstr("out0 [label=\"y\", shape=ellipse];\n"));
  EXPECT_THAT(dot, HasSubstr("n3 -> out0 [label=\"#1 [n] i32\"];\n"));
}

TEST(Dot, EscapesWhatDotReads) {
  Graph graph("a\"b\\c\n");
  const Value x = test::input(graph, "\"\\N\n", {});
  graph.set_name_of(x, "quote\" back\\slash");
  const std::string dot = to_dot(graph);
  EXPECT_THAT(dot, HasSubstr("digraph \"a\\\"b\\\\c \" {"));
  EXPECT_THAT(dot, HasSubstr("%0 Input\\nquote\\\" back\\\\slash\\n"));
  // Every line has an even number of quotes that are not escaped.
  bool inside = false;
  for (std::size_t i = 0; i < dot.size(); ++i) {
    if (dot[i] == '\\' && inside) {
      ++i;
    } else if (dot[i] == '"') {
      inside = !inside;
    } else if (dot[i] == '\n') {
      EXPECT_FALSE(inside) << "a label runs over the end of its line";
    }
  }
  EXPECT_FALSE(inside);
}

}  // namespace
}  // namespace weft
