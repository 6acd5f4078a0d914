#include <gtest/gtest.h>

#include <cmath>

#include "infer_node.h"
#include "random_tensor.h"
#include "run_threads.h"
#include "weft/ir/infer.h"

namespace weft::ops {
namespace {

using test::inferred;
using test::random_tensor;

Attributes heads(std::int64_t count, std::int64_t width, Attributes more = {}) {
  more.emplace_back("num_heads", count);
  more.emplace_back("head_dim", width);
  return more;
}

// "layout k_layout v_layout mask_axes num_kv_heads" as inference stored them.
std::string resolved(const std::vector<std::string>& shapes, const Attributes& attributes) {
  Graph graph("g");
  std::vector<Var> inputs;
  for (const std::string& shape : shapes)
    inputs.push_back(
        emit(graph, "Input", {}, {{"name", "x" + std::to_string(inputs.size())}, {"shape", Shape::parse(shape)}}));
  const std::string code = test::error_code([&] { emit(graph, "Attention", inputs, attributes); });
  if (!code.empty()) return code;
  const Node& node = graph.nodes().back();
  return node.text("layout") + " " + node.text("k_layout") + " " + node.text("v_layout") + " " +
         node.text("mask_axes") + " " + std::to_string(node.optional_integer("num_kv_heads").value_or(-1));
}

TEST(Attention, FindsLayouts) {
  EXPECT_EQ(resolved({"[n, 32]", "[past + n, 16]", "[past + n, 16]"}, heads(4, 8)), "packed packed packed auto 2");
  EXPECT_EQ(resolved({"[b, n, 32]", "[b, n, 32]", "[b, n, 32]"}, heads(4, 8)), "packed packed packed auto 4");
  EXPECT_EQ(resolved({"[n, 4, 8]", "[past + n, 16]", "[past + n, 16]"}, heads(4, 8)), "shd packed packed auto 2");
  EXPECT_EQ(resolved({"[n, 4, 8]", "[m, 2, 8]", "[m, 2, 8]"}, heads(4, 8)), "shd shd shd auto 2");
  EXPECT_EQ(resolved({"[4, n, 8]", "[2, m, 8]", "[2, m, 8]"}, heads(4, 8)), "hsd hsd hsd auto 2");
  EXPECT_EQ(resolved({"[n, 4, 8]", "[m, 1, 8]", "[m, 1, 8]"}, heads(4, 8)), "shd shd shd auto 1");
  EXPECT_EQ(resolved({"[b, n, 4, 8]", "[b, m, 2, 8]", "[b, m, 2, 8]"}, heads(4, 8)), "bshd bshd bshd auto 2");
  EXPECT_EQ(resolved({"[b, 4, n, 8]", "[b, 2, m, 8]", "[b, 2, m, 8]"}, heads(4, 8)), "bhsd bhsd bhsd auto 2");
  EXPECT_EQ(resolved({"[2, 4, 4, 8]", "[2, 4, 4, 8]", "[2, 4, 4, 8]"}, heads(4, 8)), "bshd bshd bshd auto 4");
  EXPECT_EQ(resolved({"[32]", "[m, 32]", "[m, 32]"}, heads(4, 8)), "packed packed packed auto 4");
  EXPECT_EQ(resolved({"[12, 8]", "[m, 16]", "[m, 16]"}, heads(4, 8)), "rows packed packed auto 2");
  EXPECT_EQ(resolved({"[n, m, 8]", "[n, m, 8]", "[n, m, 8]"}, heads(1, 8)), "packed packed packed auto 1");
  EXPECT_EQ(resolved({"[1, n, 8]", "[1, n, 8]", "[1, n, 8]"}, heads(1, 8)), "packed packed packed auto 1");
}

TEST(Attention, ASizeThatIsNotKnownIsNoGuess) {
  EXPECT_EQ(resolved({"[b, n, m, 8]", "[b, n, m, 8]", "[b, n, m, 8]"}, heads(4, 8)), "BadAttribute");
  EXPECT_EQ(resolved({"[n, 1, 8]", "[n, 1, 8]", "[n, 1, 8]"}, heads(1, 8)), "BadAttribute");
  EXPECT_EQ(resolved({"[n, 1, 8]", "[n, 1, 8]", "[n, 1, 8]"}, heads(1, 8, {{"layout", "shd"}})), "shd shd shd auto 1");
  EXPECT_EQ(
      resolved({"[b, n, m, 8]", "[b, n, m, 8]", "[b, n, m, 8]"},
               heads(4, 8, {{"layout", "bhsd"}, {"num_kv_heads", 4}, {"k_layout", "bhsd"}, {"v_layout", "bhsd"}})),
      "bhsd bhsd bhsd auto 4");
  EXPECT_EQ(resolved({"[12, 8]", "[m, 8]", "[m, 8]"}, heads(4, 8)), "BadAttribute");  // k: one head, or rows of some
  Graph graph("g");
  const Var x = emit(graph, "Input", {}, {{"name", "x"}, {"shape", Shape::parse("[b, n, m, 8]")}});
  const std::string text = test::error_text([&] { emit(graph, "Attention", {x, x, x}, heads(4, 8)); });
  EXPECT_NE(text.find("bshd"), std::string::npos) << text;
  EXPECT_NE(text.find("bhsd"), std::string::npos) << text;
}

TEST(Attention, FindsMaskAxes) {
  const auto mask = [](const char* batch, const char* shape, Attributes more = {}) {
    const std::string b(batch), q = "[" + b + ", 5, 32]", k = "[" + b + ", 7, 32]";
    const std::string text = resolved({q, k, k, shape}, heads(4, 8, std::move(more)));
    return text.starts_with("packed") ? text.substr(21) : text;
  };
  EXPECT_EQ(mask("3", "[3, 7]"), "batch 4");
  EXPECT_EQ(mask("3", "[5, 7]"), "right 4");
  EXPECT_EQ(mask("3", "[1, 7]"), "right 4");
  EXPECT_EQ(mask("3", "[7]"), "right 4");
  EXPECT_EQ(mask("3", "[3, 5, 7]"), "batch 4");
  EXPECT_EQ(mask("3", "[4, 5, 7]"), "right 4");
  EXPECT_EQ(mask("3", "[3, 1, 5, 7]"), "right 4");
  EXPECT_EQ(mask("5", "[5, 7]"), "BadAttribute");
  EXPECT_EQ(mask("5", "[5, 7]", {{"mask_axes", "batch"}}), "batch 4");
  EXPECT_EQ(mask("4", "[4, 5, 7]"), "BadAttribute");
  EXPECT_EQ(mask("b", "[b, 7]"), "batch 4");
  EXPECT_EQ(mask("b", "[m, 7]"), "BadAttribute");
  EXPECT_EQ(mask("1", "[m, 7]"), "right 4");
  EXPECT_EQ(mask("3", "[2, 7]"), "BadAttribute");
  EXPECT_EQ(mask("3", "[3, 6]"), "ShapeMismatch");
  EXPECT_EQ(mask("3", "[3, 7]", {{"mask_axes", "right"}}), "ShapeMismatch");
  EXPECT_EQ(mask("3", "[7]", {{"mask_axes", "batch"}}), "BadAttribute");
  EXPECT_EQ(mask("3", "[1, 3, 1, 5, 7]"), "ShapeMismatch");
}

TEST(Attention, InfersItsResult) {
  const auto packed = heads(4, 8, {{"num_kv_heads", 2}});
  EXPECT_EQ(inferred("Attention", {"[n, 32] f32", "[past + n, 16] f32", "[past + n, 16] f32"}, packed), "[n, 32] f32");
  EXPECT_EQ(inferred("Attention", {"[n, 32] f32", "[m, 16] f16", "[m, 16] f16"}, packed), "[n, 32] f32");
  EXPECT_EQ(inferred("Attention", {"[n, 32] bf16", "[m, 32] q8_0", "[m, 32] q8_0"}, heads(4, 8)), "[n, 32] bf16");
  EXPECT_EQ(inferred("Attention", {"[n, 32] f32", "[m, 16] f32", "[k, 24] f32"}, packed), "[n, 48] f32 if m == k");
  EXPECT_EQ(inferred("Attention", {"[n, 4, 8] f32", "[m, 16] f32", "[m, 24] f32"}, packed), "[n, 4, 12] f32");
  EXPECT_EQ(inferred("Attention", {"[b, n, 32] f32", "[c, m, 16] f32", "[c, m, 16] f32"}, packed),
            "[b, n, 32] f32 if c == b if c == b");
  EXPECT_EQ(inferred("Attention", {"[b, n, 32] f32", "[1, m, 16] f32", "[1, m, 16] f32"}, packed), "[b, n, 32] f32");
  EXPECT_EQ(inferred("Attention", {"[n, 32] f32", "[m, 16] f32", "[m, 16] f32", "", "", "[4] f32"}, packed),
            "[n, 32] f32");
  EXPECT_EQ(inferred("Attention", {"[n, 32] f32", "[m, 16] f32", "[m, 16] f32", "", "[m, m] f32"}, packed),
            "[n, 32] f32 if m == n");
}

TEST(Attention, RefusesWhatDoesNotFit) {
  const auto code = [](std::vector<std::string> operands, Attributes more = {}) {
    return inferred("Attention", operands, heads(4, 8, std::move(more)));
  };
  const std::vector<std::string> good = {"[5, 32] f32", "[7, 32] f32", "[7, 32] f32"};
  EXPECT_EQ(code(good), "[5, 32] f32");
  EXPECT_EQ(code({"[5, 31] f32", "[7, 32] f32", "[7, 32] f32"}), "ShapeMismatch");
  EXPECT_EQ(code({"[5, 32] f32", "[7, 24] f32", "[7, 24] f32"}), "BadAttribute");  // 3 does not divide 4
  EXPECT_EQ(code({"[5, 32] f32", "[7, 32] f32", "[7, 30] f32"}), "ShapeMismatch");
  EXPECT_EQ(code({"[5, 32] f32", "[7, 32] f32", "[6, 32] f32"}), "ShapeMismatch");
  EXPECT_EQ(code({"[2, 5, 32] f32", "[3, 7, 32] f32", "[3, 7, 32] f32"}), "ShapeMismatch");
  EXPECT_EQ(code({"[1, 2, 5, 4, 8] f32", "[7, 32] f32", "[7, 32] f32"}), "ShapeMismatch");
  EXPECT_EQ(code({"[5, 32] i32", "[7, 32] f32", "[7, 32] f32"}), "DTypeMismatch");
  EXPECT_EQ(code({"[5, 32] f32", "[7, 32] i32", "[7, 32] f32"}), "DTypeMismatch");
  EXPECT_EQ(code({"[5, 32] f32", "[7, 32] f32", "[7, 32] f32", "[5, 7] c64"}), "DTypeMismatch");
  EXPECT_EQ(code({"[5, 32] f32", "[7, 32] f32", "[7, 32] f32", "", "[5, 7] i32"}), "DTypeMismatch");
  EXPECT_EQ(code({"[5, 32] f32", "[7, 32] f32", "[7, 32] f32", "", "[4, 6, 7] f32"}), "ShapeMismatch");
  EXPECT_EQ(code({"[5, 32] f32", "[7, 32] f32", "[7, 32] f32", "", "", "[3] f32"}), "ShapeMismatch");
  EXPECT_EQ(code(good, {{"num_kv_heads", 3}}), "BadAttribute");
  EXPECT_EQ(code(good, {{"num_kv_heads", 0}}), "BadAttribute");
  EXPECT_EQ(code(good, {{"window_keys", 0}}), "BadAttribute");
  EXPECT_EQ(code(good, {{"softcap", 0.0}}), "BadAttribute");
  EXPECT_EQ(code(good, {{"scale", HUGE_VAL}}), "BadAttribute");
  EXPECT_EQ(code(good, {{"layout", "bshd"}}), "BadAttribute");
  EXPECT_EQ(code(good, {{"layout", "shd"}}), "BadAttribute");
  EXPECT_EQ(inferred("Attention", good, {{"num_heads", 0}, {"head_dim", 8}}), "BadAttribute");
  EXPECT_EQ(inferred("Attention", {"[0, 8] f32", "[0, 8] f32", "[0, 8] f32"},
                     {{"num_heads", std::int64_t{1} << 60}, {"head_dim", 8}}),
            "BadAttribute");
  EXPECT_EQ(code({"[5, 32] f32", "[4, 32] f32", "[4, 32] f32"}, {{"causal", true}}), "[5, 32] f32");
  EXPECT_EQ(code({"[5, 32] f32", "[4, 32] f32", "[4, 32] f32"}, {{"causal", true}, {"strict", true}}), "ShapeMismatch");
}

TEST(Attention, StrictIsCheckedInTheRunToo) {
  Graph graph("g");
  const Var q = emit(graph, "Input", {}, {{"name", "q"}, {"shape", Shape::parse("[n, 8]")}});
  const Var k = emit(graph, "Input", {}, {{"name", "k"}, {"shape", Shape::parse("[m, 8]")}});
  graph.add_output("y", emit(graph, "Attention", {q, k, k}, heads(1, 8, {{"causal", true}, {"strict", true}})).value());
  const auto run = [&](std::int64_t queries, std::int64_t keys) {
    return test::error_code([&] {
      test::run_graph(graph, {{"q", random_tensor({queries, 8})}, {"k", random_tensor({keys, 8}, 2)}});
    });
  };
  EXPECT_EQ(run(3, 3), "");
  EXPECT_EQ(run(3, 5), "");
  EXPECT_EQ(run(3, 2), "ShapeMismatch");
}

TEST(Attention, BitsDependOnNeitherThreadsNorQueries) {
  // More keys than one tile, a group of heads, and an odd width.
  const Tensor q = random_tensor({90, 4 * 20}), k = random_tensor({1200, 2 * 20}, 2),
               v = random_tensor({1200, 2 * 20}, 3);
  const Attributes attributes = heads(4, 20, {{"causal", true}});
  const Tensor one = test::run_with_threads(1, "Attention", {q, k, v}, attributes);
  for (const int threads : {2, 3, 8})
    EXPECT_TRUE(test::same_bytes(test::run_with_threads(threads, "Attention", {q, k, v}, attributes), one)) << threads;
  // A token at a time over the keys that were there by then: what decoding does.
  for (const std::int64_t row : {0, 1, 40, 88, 89}) {
    const std::int64_t keys = 1200 - 90 + row + 1;
    const Tensor y =
        test::run_with_threads(2, "Attention", {q.rows(row, 1), k.rows(0, keys), v.rows(0, keys)}, attributes);
    EXPECT_TRUE(test::same_bytes(y, one.rows(row, 1))) << row;
  }
}

TEST(Attention, TilesOfKeysAgreeWithOneSum) {
  const std::int64_t keys = 1500, width = 8;
  const Tensor q = random_tensor({1, width}), k = random_tensor({keys, width}, 2), v = random_tensor({keys, width}, 3);
  const Tensor y = test::run_node("Attention", {q, k, v}, heads(1, width))[0];
  std::vector<double> scores, expected(static_cast<std::size_t>(width), 0.0);
  double total = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    double z = 0;
    for (std::int64_t d = 0; d < width; ++d)
      z += static_cast<double>(q.values<float>()[static_cast<std::size_t>(d)]) *
           static_cast<double>(k.values<float>()[static_cast<std::size_t>(j * width + d)]);
    const double w = std::exp(z / std::sqrt(static_cast<double>(width)));
    total += w;
    for (std::int64_t d = 0; d < width; ++d)
      expected[static_cast<std::size_t>(d)] +=
          w * static_cast<double>(v.values<float>()[static_cast<std::size_t>(j * width + d)]);
  }
  for (std::size_t d = 0; d < expected.size(); ++d)
    EXPECT_FLOAT_EQ(y.values<float>()[d], static_cast<float>(expected[d] / total)) << d;
}

TEST(Attention, TheRunningMaximumMayRiseAndFall) {
  // Scores of tile 0 are far below those of tile 1, and those of tile 2 below both.
  const std::int64_t keys = 1536;
  Tensor q = Tensor::zeros(DType::f32, {1, 1}), k = Tensor::zeros(DType::f32, {keys, 1});
  Tensor v = Tensor::zeros(DType::f32, {keys, 1});
  q.mutable_values<float>()[0] = 1;
  for (std::int64_t j = 0; j < keys; ++j) {
    k.mutable_values<float>()[static_cast<std::size_t>(j)] = j / 512 == 0 ? 10.f : j / 512 == 1 ? 2000.f : 0.f;
    v.mutable_values<float>()[static_cast<std::size_t>(j)] = static_cast<float>(j);
  }
  const Tensor y = test::run_node("Attention", {q, k, v}, heads(1, 1))[0];
  EXPECT_EQ(y.values<float>()[0], (512.f + 1023.f) / 2);
}

TEST(Attention, CountsFlops) {
  Graph graph("g");
  const Var q = emit(graph, "Input", {}, {{"name", "q"}, {"shape", Shape::parse("[n, 32]")}});
  const Var k = emit(graph, "Input", {}, {{"name", "k"}, {"shape", Shape::parse("[m, 16]")}});
  const Var y = emit(graph, "Attention", {q, k, k}, heads(4, 8));
  Node node = graph.node(y.value().node);
  InferContext context(graph, node, "");
  node.schema->infer(context);
  EXPECT_EQ(node.schema->flops(context).text(), "148*m*n");
}

}  // namespace
}  // namespace weft::ops
