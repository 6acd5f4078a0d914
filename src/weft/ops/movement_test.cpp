// Inference of the ops that move elements, and the errors of a run.
#include "weft/ops/movement.h"

#include <gtest/gtest.h>

#include "infer_node.h"
#include "run_node.h"

namespace weft::ops {
namespace {

using test::inferred;
using Integers = std::vector<std::int64_t>;

Attributes with(const char* name, Integers values) { return {{name, AttributeValue(std::move(values))}}; }

TEST(Reshape, Infers) {
  EXPECT_EQ(inferred("Reshape", {"[2, 6] f32"}, with("shape", {3, -1})), "[3, 4] f32");
  EXPECT_EQ(inferred("Reshape", {"[2, 6] f32"}, with("shape", {})), "ShapeMismatch");
  EXPECT_EQ(inferred("Reshape", {"[1, 1] i8"}, with("shape", {})), "[] i8");
  EXPECT_EQ(inferred("Reshape", {"[2, 6] f32"}, with("shape", {5, -1})), "ShapeMismatch");
  EXPECT_EQ(inferred("Reshape", {"[2, 6] f32"}, with("shape", {-1, -1})), "BadAttribute");
  EXPECT_EQ(inferred("Reshape", {"[2, 6] f32"}, with("shape", {-2, 6})), "BadAttribute");
  EXPECT_EQ(inferred("Reshape", {"[0, 6] f32"}, with("shape", {0, -1})), "ShapeMismatch");
  EXPECT_EQ(inferred("Reshape", {"[0, 6] f32"}, with("shape", {-1, 3})), "[0, 3] f32");
  EXPECT_EQ(inferred("Reshape", {"[4, 64] q8_0"}, with("shape", {2, 2, -1})), "[2, 2, 64] q8_0");
  EXPECT_EQ(inferred("Reshape", {"[4, 64] q8_0"}, with("shape", {64, 4})), "ShapeMismatch");
}

TEST(Reshape, InfersSymbols) {
  EXPECT_EQ(inferred("Reshape", {"[n, 64] f32"}, with("shape", {-1, 4, 16})), "[n, 4, 16] f32");
  EXPECT_EQ(inferred("Reshape", {"[b, n, 64] f32"}, with("shape", {-1, 64})), "[b*n, 64] f32");
  EXPECT_EQ(inferred("Reshape", {"[n + m, 6] f32"}, with("shape", {-1, 3})), "[2*m + 2*n, 3] f32");
  // Whether 4 divides n, or n is 3, only a run can say.
  EXPECT_EQ(inferred("Reshape", {"[n] f32"}, with("shape", {-1, 4})),
            "[floor_div(n, 4), 4] f32 if n == 4*floor_div(n, 4)");
  EXPECT_EQ(inferred("Reshape", {"[n, 2] f32"}, with("shape", {3, 2})), "[3, 2] f32 if 2*n == 6");
}

TEST(Reshape, AnOpenCountIsCheckedByTheRun) {
  Graph graph("g");
  const Var x = emit(graph, "Input", {}, {{"name", "x"}, {"shape", Shape{Dim::symbol("n")}}});
  graph.add_output("y", emit(graph, "Reshape", {x}, with("shape", {-1, 4})).value());
  EXPECT_EQ(test::run_graph(graph, {{"x", Tensor::zeros(DType::f32, {12})}})[0].dims(), (Integers{3, 4}));
  EXPECT_EQ(test::error_code([&] {
              test::run_graph(graph, {{"x", Tensor::zeros(DType::f32, {10})}});
            }),
            "ShapeMismatch");
}

TEST(Transpose, Infers) {
  EXPECT_EQ(inferred("Transpose", {"[n, 2, 3] f32"}), "[3, 2, n] f32");
  EXPECT_EQ(inferred("Transpose", {"[n, 2, 3] f32"}, with("perm", {1, 0, -1})), "[2, n, 3] f32");
  EXPECT_EQ(inferred("Transpose", {"[n, 2] f32"}, with("perm", {0, 0})), "BadAttribute");
  EXPECT_EQ(inferred("Transpose", {"[n, 2] f32"}, with("perm", {0, 2})), "BadAttribute");
  EXPECT_EQ(inferred("Transpose", {"[n, 2] f32"}, with("perm", {0, -3})), "BadAttribute");
  EXPECT_EQ(inferred("Transpose", {"[n, 2] f32"}, with("perm", {0})), "BadAttribute");
  EXPECT_EQ(inferred("Transpose", {"[] f32"}), "[] f32");
  EXPECT_EQ(inferred("Transpose", {"[2, 32] q8_0"}), "DTypeMismatch");
}

TEST(Expand, Infers) {
  const auto to = [](const char* shape) { return Attributes{{"shape", Shape::parse(shape)}}; };
  EXPECT_EQ(inferred("Expand", {"[n, 1] f32"}, to("[2, -1, 5]")), "[2, n, 5] f32");
  EXPECT_EQ(inferred("Expand", {"[1, 3] f32"}, to("[n, 3]")), "[n, 3] f32");
  EXPECT_EQ(inferred("Expand", {"[2, 3] f32"}, to("[4, 3]")), "ShapeMismatch");
  EXPECT_EQ(inferred("Expand", {"[2, 3] f32"}, to("[3]")), "ShapeMismatch");
  EXPECT_EQ(inferred("Expand", {"[3] f32"}, to("[-1, 3]")), "BadAttribute");
  EXPECT_EQ(inferred("Expand", {"[3] f32"}, to("[-2]")), "BadAttribute");
  EXPECT_EQ(inferred("Expand", {"[n] f32"}, to("[4]")), "[4] f32 if broadcast(4, n) == 4");
}

TEST(Concat, Infers) {
  const Attributes last = {{"axis", -1}};
  EXPECT_EQ(inferred("Concat", {"[n, 2] f32", "[n, m] f32"}, last), "[n, m + 2] f32");
  EXPECT_EQ(inferred("Concat", {"[n, 2] f32", "[4, 2] f32"}, last), "[4, 4] f32 if n == 4");
  EXPECT_EQ(inferred("Concat", {"[3, 2] f32", "[4, 2] f32"}, last), "ShapeMismatch");
  EXPECT_EQ(inferred("Concat", {"[3, 2] f32", "[3] f32"}, last), "ShapeMismatch");
  EXPECT_EQ(inferred("Concat", {"[3, 2] f32", "[3, 2] f16"}, last), "DTypeMismatch");
  EXPECT_EQ(inferred("Concat", {"[] f32"}, last), "ShapeMismatch");
  EXPECT_EQ(inferred("Concat", {"[3] f32"}, {{"axis", 1}}), "BadAttribute");
  EXPECT_EQ(inferred("Concat", {}, last), "BadArity");
}

TEST(Split, Infers) {
  const auto sizes = [](Integers values) {
    return Attributes{{"axis", 0}, {"sizes", AttributeValue(std::move(values))}};
  };
  EXPECT_EQ(inferred("Split", {"[5, n] f32"}, sizes({2, 3})), "[2, n] f32; [3, n] f32");
  EXPECT_EQ(inferred("Split", {"[5, n] f32"}, sizes({2, 2})), "ShapeMismatch");
  EXPECT_EQ(inferred("Split", {"[n] f32"}, sizes({2, 3})), "[2] f32; [3] f32 if n == 5");
  EXPECT_EQ(inferred("Split", {"[5] f32"}, sizes({6, -1})), "BadAttribute");
  EXPECT_EQ(inferred("Split", {"[5] f32"}, sizes({})), "BadAttribute");
  EXPECT_EQ(inferred("Split", {"[64] q8_0"}, sizes({16, 48})), "ShapeMismatch");
}

TEST(Narrow, Infers) {
  const auto part = [](int start, int length) { return Attributes{{"axis", 0}, {"start", start}, {"len", length}}; };
  EXPECT_EQ(inferred("Narrow", {"[5, n] f32"}, part(1, 4)), "[4, n] f32");
  EXPECT_EQ(inferred("Narrow", {"[5, n] f32"}, part(2, 4)), "ShapeMismatch");
  EXPECT_EQ(inferred("Narrow", {"[5, n] f32"}, part(-1, 2)), "BadAttribute");
  EXPECT_EQ(inferred("Narrow", {"[5, n] f32"}, part(1, -2)), "BadAttribute");
  EXPECT_EQ(inferred("Narrow", {"[n] f32"}, part(1, 4)), "[4] f32 if max(5, n) == n");
  EXPECT_EQ(inferred("Narrow", {"[n + 5] f32"}, part(1, 4)), "[4] f32");
  EXPECT_EQ(inferred("Narrow", {"[5] f32"}, {{"axis", 0}, {"start", INT64_MAX}, {"len", INT64_MAX}}), "SizeOverflow");
  EXPECT_EQ(inferred("Narrow", {"[64] q8_0"}, part(16, 32)), "ShapeMismatch");
}

TEST(Gather, Infers) {
  EXPECT_EQ(inferred("Gather", {"[v, 8] f16", "[n, 2] i32"}), "[n, 2, 8] f16");
  EXPECT_EQ(inferred("Gather", {"[v, 8] f16", "[n] i64"}, {{"axis", 1}}), "[v, n] f16");
  EXPECT_EQ(inferred("Gather", {"[v, 64] q4_0", "[n] i32"}), "[n, 64] f32");
  EXPECT_EQ(inferred("Gather", {"[v, 64] q4_0", "[n] i32"}, {{"axis", 1}}), "DTypeMismatch");
  EXPECT_EQ(inferred("Gather", {"[64] q4_0", "[n] i32"}), "DTypeMismatch");
  EXPECT_EQ(inferred("Gather", {"[v, 8] f16", "[n] f32"}), "DTypeMismatch");
  EXPECT_EQ(inferred("Gather", {"[] f16", "[n] i32"}), "ShapeMismatch");
}

TEST(Gather, BadIndicesAreNamed) {
  const Tensor table = Tensor::zeros(DType::f32, {5, 2});
  const auto run = [&](std::vector<std::int64_t> ids, const Attributes& attributes = {}) {
    return test::error_text([&] {
      test::run_node("Gather", {table, Tensor::from(ids, {static_cast<std::int64_t>(ids.size())})}, attributes);
    });
  };
  EXPECT_EQ(run({0, 4}), "");
  EXPECT_EQ(run({0, 5}),
            "[Gather] node %2: index 5 at element 1 of [2] is outside axis 0 of size 5 (0..4 are allowed)");
  EXPECT_EQ(run({-1}), "[Gather] node %2: index -1 at element 0 of [1] is outside axis 0 of size 5 (0..4 are allowed)");
  EXPECT_EQ(run({-5}, {{"negative", "wrap"}}), "");
  EXPECT_EQ(run({-6}, {{"negative", "wrap"}}),
            "[Gather] node %2: index -6 at element 0 of [1] is outside axis 0 of size 5 (-5..4 are allowed)");
  EXPECT_EQ(run({INT64_MIN}, {{"negative", "wrap"}}).substr(0, 23), "[Gather] node %2: index");
  Tensor huge = Tensor::allocate(DType::u64, {1});
  huge.mutable_values<std::uint64_t>()[0] = UINT64_MAX;
  EXPECT_EQ(test::error_code([&] {
              test::run_node("Gather", {table, huge}, {{"negative", "wrap"}});
            }),
            "IndexOutOfRange");
}

TEST(Movement, SlicesInFrontAreViews) {
  EXPECT_EQ(slice_view(Integers{1, 4, 3}, 1, 2)->first_element, 6);
  EXPECT_EQ(slice_view(Integers{1, 4, 3}, -2, 1)->first_element, 3);
  EXPECT_EQ(slice_view(Integers{4, 0}, 0, 2)->first_element, 0);
  EXPECT_FALSE(slice_view(Integers{1, 4, 3}, 2, 0)) << "rows are not contiguous";
}

}  // namespace
}  // namespace weft::ops
