// Inference of the elementwise ops and the edges that the stored values do not reach.
#include <gtest/gtest.h>

#include <cmath>

#include "infer_node.h"
#include "run_node.h"
#include "weft/ops/special_functions.h"

namespace weft::ops {
namespace {

using test::inferred;

TEST(Activation, Infers) {
  EXPECT_EQ(inferred("Activation", {"[n, 4] f16"}, {{"kind", "gelu"}}), "[n, 4] f16");
  EXPECT_EQ(inferred("Activation", {"[n, 4] f16"}, {{"kind", "is_nan"}}), "[n, 4] bool");
  EXPECT_EQ(inferred("Activation", {"[3] i8"}, {{"kind", "neg"}}), "[3] i8");
  EXPECT_EQ(inferred("Activation", {"[3] i8"}, {{"kind", "exp"}}), "DTypeMismatch");
  EXPECT_EQ(inferred("Activation", {"[3] bool"}, {{"kind", "abs"}}), "DTypeMismatch");
  EXPECT_EQ(inferred("Activation", {"[3] f32"}, {{"kind", "not"}}), "DTypeMismatch");
  EXPECT_EQ(inferred("Activation", {"[32] q8_0"}, {{"kind", "relu"}}), "DTypeMismatch");
  EXPECT_EQ(inferred("Activation", {"[3] c64"}, {{"kind", "exp"}}), "DTypeMismatch");
  EXPECT_EQ(inferred("Activation", {"[3] f32"}, {{"kind", "swish"}}), "BadAttribute");
  EXPECT_EQ(inferred("Activation", {"[3] f32"}), "BadAttribute");
  EXPECT_EQ(inferred("Activation", {"[3] f32"}, {{"kind", "relu"}, {"alpha", 0.1}}), "BadAttribute");
  EXPECT_EQ(inferred("Activation", {}, {{"kind", "relu"}}), "BadArity");
}

TEST(Binary, Infers) {
  const Attributes add = {{"kind", "add"}};
  EXPECT_EQ(inferred("Binary", {"[n, 1, 4] f32", "[3, 1] f32"}, add), "[n, 3, 4] f32");
  EXPECT_EQ(inferred("Binary", {"[n] f32", "[m] f32"}, add), "[broadcast(m, n)] f32");
  EXPECT_EQ(inferred("Binary", {"[] f32", "[0] f32"}, add), "[0] f32");
  EXPECT_EQ(inferred("Binary", {"[3] f32", "[4] f32"}, add), "ShapeMismatch");
  EXPECT_EQ(inferred("Binary", {"[3] f32", "[3] f16"}, add), "DTypeMismatch");
  EXPECT_EQ(inferred("Binary", {"[3] f32", "[3] f32"}, {{"kind", "bit_and"}}), "DTypeMismatch");
  EXPECT_EQ(inferred("Binary", {"[3] i32", "[3] i32"}, {{"kind", "atan2"}}), "DTypeMismatch");
  EXPECT_EQ(inferred("Binary", {"[3] bool", "[3] bool"}, add), "DTypeMismatch");
  EXPECT_EQ(inferred("Binary", {"[3] bool", "[3] bool"}, {{"kind", "bit_xor"}}), "[3] bool");
  EXPECT_EQ(inferred("Binary", {"[3] bool", "[3] bool"}, {{"kind", "shl"}}), "DTypeMismatch");
  EXPECT_EQ(inferred("Compare", {"[n] i64", "[1] i64"}, {{"kind", "le"}}), "[n] bool");
}

TEST(Binary, ASymbolicBroadcastIsCheckedByTheRun) {
  Graph graph("g");
  const Var a = emit(graph, "Input", {}, {{"name", "a"}, {"shape", Shape{Dim::symbol("n")}}});
  const Var b = emit(graph, "Input", {}, {{"name", "b"}, {"shape", Shape{Dim::symbol("m")}}});
  graph.add_output("y", emit(graph, "Binary", {a, b}, {{"kind", "add"}}).value());
  const float values[] = {1, 2, 3};
  const Tensor three = Tensor::from(values, {3}), one = Tensor::from(std::span(values).first(1), {1});
  EXPECT_EQ(test::run_graph(graph, {{"a", three}, {"b", one}})[0].values<float>()[2], 4);
  EXPECT_EQ(test::run_graph(graph, {{"a", one}, {"b", three}})[0].values<float>()[2], 4);
  const Tensor two = Tensor::from(std::span(values).first(2), {2});
  EXPECT_EQ(test::error_code([&] { test::run_graph(graph, {{"a", two}, {"b", three}}); }), "ShapeMismatch");
}

TEST(Select, Infers) {
  EXPECT_EQ(inferred("Where", {"[n, 1] bool", "[3] f16", "[] f16"}), "[n, 3] f16");
  EXPECT_EQ(inferred("Where", {"[2] bool", "[2] f16", "[2] f32"}), "DTypeMismatch");
  EXPECT_EQ(inferred("Where", {"[32] bool", "[32] q8_0", "[32] q8_0"}), "DTypeMismatch");
  EXPECT_EQ(inferred("Fma", {"[n] f32", "[1] f32", "[] f32"}), "[n] f32");
  EXPECT_EQ(inferred("Fma", {"[1] bool", "[1] bool", "[1] bool"}), "DTypeMismatch");
  EXPECT_EQ(inferred("Clamp", {"[n] f32"}, {{"min", 1.0}}), "[n] f32");
  EXPECT_EQ(inferred("Clamp", {"[n] f32"}, {{"min", NAN}}), "BadAttribute");
  EXPECT_EQ(inferred("Clamp", {"[n] bool"}), "DTypeMismatch");
  EXPECT_EQ(inferred("NanToNum", {"[n] i32"}), "DTypeMismatch");
}

TEST(Cast, Infers) {
  EXPECT_EQ(inferred("Cast", {"[n] f32"}, {{"to", DType::i8}}), "[n] i8");
  EXPECT_EQ(inferred("Cast", {"[32] q8_0"}, {{"to", DType::f32}}), "DTypeMismatch");
  EXPECT_EQ(inferred("Cast", {"[32] f32"}, {{"to", DType::q8_0}}), "BadAttribute");
  EXPECT_EQ(inferred("BitCast", {"[n] f32"}, {{"to", DType::u32}}), "[n] u32");
  EXPECT_EQ(inferred("BitCast", {"[n] f32"}, {{"to", DType::f16}}), "BadAttribute");
  EXPECT_EQ(inferred("BitCast", {"[n] u8"}, {{"to", DType::boolean}}), "BadAttribute");
  EXPECT_EQ(inferred("Encode", {"[n, 64] f32"}, {{"dtype", DType::q4_0}}), "[n, 64] q4_0");
  EXPECT_EQ(inferred("Encode", {"[n, 48] f32"}, {{"dtype", DType::q4_0}}), "ShapeMismatch");
  EXPECT_EQ(inferred("Encode", {"[] f32"}, {{"dtype", DType::q4_0}}), "ShapeMismatch");
  EXPECT_EQ(inferred("Encode", {"[32] f16"}, {{"dtype", DType::q4_0}}), "DTypeMismatch");
  EXPECT_EQ(inferred("Decode", {"[n, 256] q4_k"}), "[n, 256] f32");
  EXPECT_EQ(inferred("ToIndex", {"[n] f16"}), "[n] i32");
  EXPECT_EQ(inferred("ToIndex", {"[32] q8_0"}), "DTypeMismatch");
}

TEST(Cast, BadValuesAreNamed) {
  const auto run = [](std::string_view op, float value, const Attributes& attributes = {}) {
    std::vector<float> values(32, 1);
    values[5] = value;
    const Tensor x = Tensor::from(values, {32});
    return test::error_code([&] { test::run_node(op, {x}, attributes); });
  };
  EXPECT_EQ(run("ToIndex", 7), "");
  EXPECT_EQ(run("ToIndex", 7.5f), "NonIntegralIndex");
  EXPECT_EQ(run("ToIndex", NAN), "NonIntegralIndex");
  EXPECT_EQ(run("ToIndex", INFINITY), "NonIntegralIndex");
  EXPECT_EQ(run("ToIndex", 3e9f), "IndexOutOfRange");
  EXPECT_EQ(run("Encode", NAN, {{"dtype", DType::i8}}), "QuantNaN");
  EXPECT_EQ(run("Encode", NAN, {{"dtype", DType::q8_0}}), "QuantNaN");
  EXPECT_EQ(run("Encode", NAN, {{"dtype", DType::f16}}), "");
  const std::int64_t wide[] = {std::int64_t{1} << 40};
  EXPECT_EQ(test::error_code([&] { test::run_node("ToIndex", {Tensor::from(wide, {1})}); }), "IndexOutOfRange");
  const float half[] = {0, 2.5f};
  EXPECT_EQ(test::error_text([&] { test::run_node("ToIndex", {Tensor::from(half, {2})}); }),
            "[ToIndex] node %1: 2.5 at element 1 is no whole number: an index is expected");
}

TEST(SpecialFunctions, KnownValues) {
  EXPECT_DOUBLE_EQ(digamma(1), -0.57721566490153286);
  EXPECT_DOUBLE_EQ(digamma(0.5), -1.9635100260214235);
  EXPECT_EQ(digamma(0.0), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(digamma(-3)));
  EXPECT_DOUBLE_EQ(erf_inv(0.5), 0.47693627620446987);
  EXPECT_DOUBLE_EQ(erf_inv(-1e-10), -8.8622692545275801e-11);
  for (const double x : {0.01, 0.3, 0.9, 2.0}) EXPECT_NEAR(erf_inv(std::erf(x)), x, 1e-14 * std::exp(x * x));
  EXPECT_EQ(erf_inv(1), HUGE_VAL);
  EXPECT_EQ(erf_inv(-1), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(erf_inv(1.5)));
  EXPECT_DOUBLE_EQ(log_gamma(-0.5), 1.2655121234846454);
}

}  // namespace
}  // namespace weft::ops
