#include <gtest/gtest.h>

#include <cmath>

#include "infer_node.h"
#include "random_tensor.h"
#include "run_threads.h"
#include "weft/ops/rope_angles.h"

namespace weft::ops {
namespace {

using test::inferred;
using test::random_tensor;

Attributes with(Attributes more) {
  more.emplace_back("head_dim", 8);
  return more;
}
const Attributes plain = with({});

// What inference made of heads and rows.
std::string resolved(const std::vector<std::string>& shapes, Attributes attributes) {
  Graph graph("g");
  std::vector<Var> inputs;
  for (const std::string& shape : shapes)
    inputs.push_back(
        emit(graph, "Input", {}, {{"name", "x" + std::to_string(inputs.size())}, {"shape", Shape::parse(shape)}}));
  std::string text = test::error_code([&] { emit(graph, "Rope", inputs, with(std::move(attributes))); });
  if (!text.empty()) return text;
  const Node& node = graph.nodes().back();
  return node.text("heads") + " " + node.text("rows");
}

TEST(Rope, InfersFromPositions) {
  EXPECT_EQ(inferred("Rope", {"[n, 3, 8] f32", "[n] f32"}, plain), "[n, 3, 8] f32");
  EXPECT_EQ(inferred("Rope", {"[n, 24] bf16", "[n] i32"}, plain), "[n, 24] bf16");
  EXPECT_EQ(inferred("Rope", {"[n, 3, 8] f32", "[1] i64", "[4] f32"}, plain), "[n, 3, 8] f32");
  EXPECT_EQ(inferred("Rope", {"[n, 3, 8] f32", "[n] f32", "[3] f32"}, plain), "ShapeMismatch");
  EXPECT_EQ(inferred("Rope", {"[n, 3, 8] f32", "[n] f32", "[f] f32"}, plain), "[n, 3, 8] f32 if f == 4");
  EXPECT_EQ(inferred("Rope", {"[6, 3, 8] f32", "[4] f32"}, with({{"heads", "token_major"}})), "ShapeMismatch");
  EXPECT_EQ(inferred("Rope", {"[6, 3, 8] f32", "[0] f32"}, with({{"heads", "token_major"}})), "ShapeMismatch");
  EXPECT_EQ(inferred("Rope", {"[n, 3, 9] f32", "[n] f32"}, plain), "ShapeMismatch");
  EXPECT_EQ(inferred("Rope", {"[n, d] f32", "[n] f32"}, plain), "ShapeMismatch");
  EXPECT_EQ(inferred("Rope", {"[n, 0] f32", "[n] f32"}, {{"head_dim", std::int64_t{1} << 60}}), "ShapeMismatch");
  EXPECT_EQ(inferred("Rope", {"[] f32", "[1] f32"}, plain), "ShapeMismatch");
  EXPECT_EQ(inferred("Rope", {"[n, 3, 8] i32", "[n] f32"}, plain), "DTypeMismatch");
  EXPECT_EQ(inferred("Rope", {"[n, 3, 8] f32", "[n] bool"}, plain), "DTypeMismatch");
  EXPECT_EQ(inferred("Rope", {"[b, n, 3, 8] f32", "[b, n] f32"}, with({{"rows", "per_token"}})), "[b, n, 3, 8] f32");
  EXPECT_EQ(inferred("Rope", {"[b, n, 3, 8] f32", "[p] f32"}, with({{"rows", "per_token"}})),
            "[b, n, 3, 8] f32 if p == b*n");
}

TEST(Rope, ChecksItsAttributes) {
  const auto code = [](Attributes more) {
    return inferred("Rope", {"[n, 3, 8] f32", "[n] f32"}, with(std::move(more)));
  };
  EXPECT_EQ(code({{"rotary_dim", 6}}), "[n, 3, 8] f32");
  for (const int bad : {0, -2, 3, 10}) EXPECT_EQ(code({{"rotary_dim", bad}}), "BadAttribute") << bad;
  EXPECT_EQ(code({{"theta", 0.0}}), "BadAttribute");
  EXPECT_EQ(code({{"theta", std::nan("")}}), "BadAttribute");
  EXPECT_EQ(code({{"position_scale", HUGE_VAL}}), "BadAttribute");
  EXPECT_EQ(code({{"style", "other"}}), "BadAttribute");
  EXPECT_EQ(code({{"heads", "packed"}}), "[n, 3, 8] f32");
  EXPECT_EQ(inferred("Rope", {"[n, 24] f32", "[n] f32"}, with({{"heads", "token_major"}})), "BadAttribute");
  EXPECT_EQ(inferred("Rope", {"[n, 3, 8] f32", "[n] f32"}), "BadAttribute");  // head_dim
}

TEST(Rope, FindsTheHeads) {
  EXPECT_EQ(resolved({"[n, 16, 8]", "[n]"}, {}), "token_major position");
  EXPECT_EQ(resolved({"[b, n, 8]", "[n]"}, {}), "packed position");
  EXPECT_EQ(resolved({"[b, n, 8]", "[b, n]"}, {}), "packed per_token");
  EXPECT_EQ(resolved({"[b, n, 16, 8]", "[n]"}, {}), "token_major position");
  EXPECT_EQ(resolved({"[b, n, 128]", "[n]"}, {}), "packed position");
  EXPECT_EQ(resolved({"[n, 128]", "[n]"}, {}), "packed position");
  EXPECT_EQ(resolved({"[n, 8]", "[p]"}, {}), "token_major position");
  EXPECT_EQ(resolved({"[n, 16, 8]", "[1]"}, {}), "token_major position");
  EXPECT_EQ(resolved({"[n, 1, 8]", "[p]"}, {}), "token_major position");
  EXPECT_EQ(resolved({"[n, 16, 8]", "[p]"}, {}), "BadAttribute");
  EXPECT_EQ(resolved({"[5, 5, 8]", "[5]"}, {}), "BadAttribute");
  EXPECT_EQ(resolved({"[n, 16, 8]", "[p]"}, {{"heads", "token_major"}}), "token_major position");
}

TEST(Rope, FindsTheRowsOfTables) {
  const Attributes tables = {{"tables", true}};
  EXPECT_EQ(resolved({"[2, 5, 24]", "[5, 4]", "[5, 4]"}, tables), "packed position");
  EXPECT_EQ(resolved({"[2, 5, 24]", "[10, 4]", "[10, 4]"}, tables), "packed per_token");
  EXPECT_EQ(resolved({"[2, 5, 24]", "[64, 4]", "[64, 4]"}, tables), "packed position");
  EXPECT_EQ(resolved({"[n, 24]", "[64, 4]", "[64, 4]"}, tables), "packed position");
  EXPECT_EQ(resolved({"[b, n, 24]", "[n, 4]", "[n, 4]"}, tables), "packed position");
  EXPECT_EQ(resolved({"[b, n, 24]", "[b*n, 4]", "[b*n, 4]"}, tables), "packed per_token");
  EXPECT_EQ(resolved({"[b, n, 24]", "[64, 4]", "[64, 4]"}, tables), "BadAttribute");
  EXPECT_EQ(resolved({"[b, n, 24]", "[64, 4]", "[64, 4]"}, {{"tables", true}, {"rows", "position"}}),
            "packed position");
  EXPECT_EQ(resolved({"[2, 5, 24]", "[4, 4]", "[4, 4]"}, tables), "ShapeMismatch");
  EXPECT_EQ(resolved({"[2, 5, 24]", "[5, 3]", "[5, 3]"}, tables), "ShapeMismatch");
  EXPECT_EQ(resolved({"[2, 5, 24]", "[5, 4]", "[6, 4]"}, tables), "ShapeMismatch");
  EXPECT_EQ(resolved({"[2, 5, 24]", "[2, 5, 4]", "[2, 5, 4]"}, tables), "ShapeMismatch");
  EXPECT_EQ(resolved({"[2, 5, 24]", "[5, 4]"}, tables), "ShapeMismatch");
}

TEST(Rope, AnAmbiguousShapeNamesTheChoices) {
  Graph graph("g");
  const Var x = emit(graph, "Input", {}, {{"name", "x"}, {"shape", Shape{5, 5, 8}}});
  const Var p = emit(graph, "Input", {}, {{"name", "p"}, {"shape", Shape{5}}});
  const std::string text = test::error_text([&] { emit(graph, "Rope", {x, p}, plain); });
  for (const char* choice : {"token_major", "head_major", "packed"})
    EXPECT_NE(text.find(choice), std::string::npos) << text;
}

TEST(Rope, LengthsThatOnlyARunKnowsAreChecked) {
  Graph graph("g");
  const Var x = emit(graph, "Input", {}, {{"name", "x"}, {"shape", Shape::parse("[n, 3, 8]")}});
  const Var p = emit(graph, "Input", {}, {{"name", "p"}, {"shape", Shape::parse("[p]")}});
  graph.add_output("y", emit(graph, "Rope", {x, p}, with({{"heads", "token_major"}})).value());
  const auto run = [&](std::int64_t tokens, std::int64_t positions) {
    return test::error_code([&] {
      test::run_graph(graph, {{"x", random_tensor({tokens, 3, 8})}, {"p", random_tensor({positions})}});
    });
  };
  EXPECT_EQ(run(6, 6), "");
  EXPECT_EQ(run(6, 3), "");
  EXPECT_EQ(run(6, 4), "ShapeMismatch");
  EXPECT_EQ(run(6, 0), "ShapeMismatch");
  EXPECT_EQ(run(0, 0), "");
}

TEST(Rope, BitsDependOnNeitherThreadsNorRows) {
  const Tensor x = random_tensor({300, 8, 32}), positions = random_tensor({300}, 2);
  const Attributes attributes = {{"head_dim", 32}};
  const Tensor one = test::run_with_threads(1, "Rope", {x, positions}, attributes);
  EXPECT_TRUE(test::same_bytes(test::run_with_threads(5, "Rope", {x, positions}, attributes), one));
  EXPECT_TRUE(test::same_bytes(test::run_with_threads(2, "Rope", {x.rows(9, 1), positions.rows(9, 1)}, attributes),
                               one.rows(9, 1)));
}

TEST(RopeAngles, StayExactFarFromTheStart) {
  const std::vector<double> frequencies = rope_frequencies(64, 128, 10000);
  EXPECT_EQ(frequencies[0], 1);
  EXPECT_NEAR(frequencies[63], std::exp(-126.0 / 128 * std::log(10000.0)), 1e-18);
  const double positions[] = {131071};
  const RopeTables tables = rope_tables(positions, 1, frequencies);
  for (std::size_t j = 0; j < 64; ++j) {
    const long double angle = 131071.0L * std::pow(10000.0L, -2.0L * static_cast<long double>(j) / 128);
    EXPECT_NEAR(tables.cos[j], static_cast<double>(std::cos(angle)), 6.1e-8) << j;
    EXPECT_NEAR(tables.sin[j], static_cast<double>(std::sin(angle)), 6.1e-8) << j;
  }
}

}  // namespace
}  // namespace weft::ops
