#include "weft/ops/builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "infer_node.h"
#include "run_node.h"
#include "weft/ops/element.h"

namespace weft {
namespace {

using test::error_code;

std::vector<double> evaluated(Graph& graph, Var value, const test::Bindings& bindings = {}) {
  graph.set_outputs({{"y", value.value()}});
  return ops::load_f64(test::run_graph(graph, bindings)[0]);
}

std::size_t count_of(const Graph& graph, std::string_view op) {
  std::size_t count = 0;
  for (const Node& node : graph.nodes()) count += node.schema->name == op ? 1 : 0;
  return count;
}

TEST(Builder, LeavesAreBoundAndNamedAlike) {
  Graph graph("g");
  const Var x = input(graph, "x", {Dim::symbol("n"), 4}), w = param(graph, "w", {4, 2}, DType::f16);
  EXPECT_EQ(x.type().text(), "[n, 4] f32");
  EXPECT_EQ(w.type().text(), "[4, 2] f16");
  EXPECT_EQ(graph.find_value("x"), x.value());
  EXPECT_EQ(graph.find_input("x"), x.value().node);
  EXPECT_EQ(graph.find_param("w"), w.value().node);
  const Var pos = position_input(graph, Dim::symbol("n"));
  EXPECT_EQ(graph.node(pos.value().node).text("source"), "position");
  output(graph, "y", x);
  EXPECT_EQ(graph.outputs()[0].name, "y");
}

TEST(Builder, ArithmeticReadsAsItIsWritten) {
  Graph graph("g");
  const float values[] = {1, 2, 4};
  const Var x = input(graph, "x", {3});
  const Var y = 2 * (x + 1) / x - (-x) + (1 - x) * x - 3 / x;
  EXPECT_EQ(evaluated(graph, y, {{"x", Tensor::from(values, {3})}}),
            (std::vector<double>{4 + 1 + 0 - 3, 3 + 2 - 2 - 1.5, 2.5 + 4 - 12 - 0.75}));
}

TEST(Builder, OperandsArePromoted) {
  Graph graph("g");
  const Var f32 = input(graph, "a", {2}), f16 = input(graph, "b", {2}, DType::f16);
  const Var i64 = input(graph, "c", {2}, DType::i64), u8 = input(graph, "d", {2}, DType::u8);
  EXPECT_EQ((f32 + f16).dtype(), DType::f32);
  EXPECT_EQ((f32 * i64).dtype(), DType::f64);
  EXPECT_EQ((u8 - i64).dtype(), DType::i64);
  EXPECT_EQ(concat({f16, u8}, 0).dtype(), DType::f32);
  EXPECT_EQ(where(u8, f16, f32).dtype(), DType::f32);
  EXPECT_EQ(lt(u8, f16).dtype(), DType::boolean);
  EXPECT_EQ(matmul(f16, f32).dtype(), DType::f32);
  EXPECT_EQ(count_of(graph, "Cast"), 10u);
  const Var packed = input(graph, "p", {32}, DType::q8_0);
  EXPECT_EQ(error_code([&] { packed + f32; }), "DTypeMismatch");
}

TEST(Builder, ScalarsTakeTheDtypeOfTheTensor) {
  Graph graph("g");
  const Var half = input(graph, "h", {2}, DType::f16), bytes = input(graph, "b", {2}, DType::i8);
  EXPECT_EQ((half * 0.5).dtype(), DType::f16);
  EXPECT_EQ((half * constant(graph, 0.5)).dtype(), DType::f16);
  EXPECT_EQ((bytes + 100).dtype(), DType::i8);
  EXPECT_EQ(add(constant(graph, 3, DType::i32), half).dtype(), DType::f16);
  // A float scalar lifts integers, it is not cut to one.
  EXPECT_EQ(mul(bytes, constant(graph, 0.5)).dtype(), DType::f32);
  EXPECT_EQ(add(constant(graph, 1, DType::f16), constant(graph, 1, DType::bf16)).dtype(), DType::f32);
  EXPECT_EQ(error_code([&] { bytes + 200; }), "NotRepresentable");
  EXPECT_EQ(error_code([&] { bytes + 0.5; }), "NotRepresentable");
  EXPECT_EQ(error_code([&] { add(bytes, constant(graph, 300, DType::i32)); }), "NotRepresentable");
  EXPECT_EQ(error_code([&] { half * 1e6; }), "NotRepresentable");
}

TEST(Builder, ConstantsAreChecked) {
  Graph graph("g");
  const auto code = [&](double value, DType dtype) { return error_code([&] { constant(graph, value, dtype); }); };
  EXPECT_EQ(code(255, DType::u8), "");
  EXPECT_EQ(code(256, DType::u8), "NotRepresentable");
  EXPECT_EQ(code(-1, DType::u64), "NotRepresentable");
  EXPECT_EQ(code(0x1p63, DType::i64), "NotRepresentable");
  EXPECT_EQ(code(-0x1p63, DType::i64), "");
  EXPECT_EQ(code(NAN, DType::i32), "NotRepresentable");
  EXPECT_EQ(code(NAN, DType::f16), "");
  EXPECT_EQ(code(INFINITY, DType::f32), "");
  EXPECT_EQ(code(1e39, DType::f32), "NotRepresentable");
  EXPECT_EQ(code(2, DType::boolean), "NotRepresentable");
  EXPECT_EQ(code(1, DType::q8_0), "NotRepresentable");
  EXPECT_EQ(evaluated(graph, constant(graph, 0.1, DType::f16)), (std::vector<double>{0.0999755859375}));
}

TEST(Builder, EveryActivationKindHasItsFunction) {
  Graph graph("g");
  const Var x = input(graph, "x", {2}), flag = input(graph, "flag", {2}, DType::boolean);
  const Var built[] = {gelu(x),       gelu_approx(x),  gelu_quick(x), silu(x),     relu(x),
                       sigmoid(x),    tanh(x),         exp(x),        log(x),      sqrt(x),
                       rsqrt(x),      neg(x),          abs(x),        sin(x),      cos(x),
                       tan(x),        atan(x),         round(x),      recip(x),    floor(x),
                       ceil(x),       sign(x),         softplus(x),   elu(x),      erf(x),
                       hard_swish(x), hard_sigmoid(x), mish(x),       softsign(x), log_sigmoid(x),
                       log1p(x),      expm1(x),        asin(x),       acos(x),     sinh(x),
                       cosh(x),       asinh(x),        acosh(x),      atanh(x),    lgamma(x),
                       digamma(x),    erf_inv(x),      is_nan(x),     is_inf(x),   logical_not(flag),
                       leaky_relu(x), trunc(x),        cbrt(x)};
  std::vector<std::string> kinds;
  for (const Var& value : built) kinds.push_back(graph.node(value.value().node).text("kind"));
  const OpSchema& schema = OpRegistry::global().at("Activation");
  EXPECT_EQ(kinds, schema.attributes[*schema.attribute_index("kind")].choices);
}

TEST(Builder, EveryBinaryAndCompareKindHasItsFunction) {
  Graph graph("g");
  const Var a = input(graph, "a", {2}), b = input(graph, "b", {2});
  const Var i = cast(a, DType::i32), j = cast(b, DType::i32);
  const Var built[] = {add(a, b),     sub(a, b), mul(a, b), div(a, b),     maximum(a, b),
                       minimum(a, b), pow(a, b), mod(a, b), bit_and(i, j), bit_or(i, j),
                       bit_xor(i, j), shl(i, j), shr(i, j), atan2(a, b)};
  const Var compared[] = {eq(a, b), ne(a, b), lt(a, b), le(a, b), gt(a, b), ge(a, b)};
  const auto kinds = [&](std::span<const Var> values) {
    std::vector<std::string> found;
    for (const Var& value : values) found.push_back(graph.node(value.value().node).text("kind"));
    return found;
  };
  const OpSchema &binary_op = OpRegistry::global().at("Binary"), &compare_op = OpRegistry::global().at("Compare");
  EXPECT_EQ(kinds(built), binary_op.attributes[0].choices);
  EXPECT_EQ(kinds(compared), compare_op.attributes[0].choices);
  EXPECT_EQ(graph.node(maximum(a, b, Tie::all).value().node).text("tie"), "all");
}

TEST(Builder, OptionsReachTheAttributes) {
  Graph graph("g");
  const Dim n = Dim::symbol("n");
  const Var x = input(graph, "x", {n, 8});
  const auto node = [&](Var value) -> const Node& { return graph.node(value.value().node); };
  EXPECT_EQ(node(clamp(x, {.max = 2.0})).optional_real("max"), 2.0);
  EXPECT_EQ(node(clamp(x, {.max = 2.0})).optional_real("min"), std::nullopt);
  EXPECT_EQ(node(nan_to_num(x, {.nan = 1, .neginf = -5})).optional_real("neginf"), -5.0);
  EXPECT_EQ(node(elu(x, 0.5)).optional_real("alpha"), 0.5);
  EXPECT_EQ(reshape(x, {-1, 2, 4}).type().text(), "[n, 2, 4] f32");
  EXPECT_EQ(transpose(x).type().text(), "[8, n] f32");
  EXPECT_EQ(split(x, {3, 5}, -1)[1].type().text(), "[n, 5] f32");
  EXPECT_EQ(narrow(x, 1, 2, 3).type().text(), "[n, 3] f32");
  EXPECT_EQ(expand(x, {2, -1, 8}).type().text(), "[2, n, 8] f32");
  EXPECT_EQ(node(gather(x, to_index(x))).text("negative"), "wrap");
  EXPECT_EQ(gather(x, input(graph, "ids", {3}), {.axis = 1}).type().text(), "[n, 3] f32");
  EXPECT_EQ(sum(x, {0}, true).type().text(), "[1, 8] f32");
  EXPECT_EQ(node(mean(x, {0})).text("op"), "mean");
  EXPECT_EQ(node(reduce_prod(x, {0})).text("op"), "prod");
  EXPECT_EQ(node(softmax(x, {.nan_for_empty_row = true})).text("empty_row"), "nan");
  EXPECT_EQ(argmax(x, {.index_dtype = DType::f32}).type().text(), "[n] f32");
  EXPECT_EQ(node(argmin(x, {.ignore_nan = true})).text("nan"), "ignore");
  EXPECT_EQ(encode(cast(x, DType::bf16), DType::i8).type().text(), "[n, 8] i8");
  EXPECT_EQ(decode(encode(x, DType::i8)).type().text(), "[n, 8] f32");
  EXPECT_EQ(log_softmax(stop_gradient(bit_cast(bit_cast(x, DType::i32), DType::f32))).type().text(), "[n, 8] f32");
  EXPECT_EQ(fma(x, x, x).type().text(), "[n, 8] f32");
}

TEST(Builder, Layers) {
  Graph graph("g");
  const Dim n = Dim::symbol("n");
  const Var x = input(graph, "x", {n, 64});
  const Var packed = param(graph, "w", {128, 64}, DType::q8_0);
  const Var q = matmul(x, packed, {.transpose_b = true});
  EXPECT_EQ(q.type().text(), "[n, 128] f32");
  EXPECT_EQ(matmul(x, param(graph, "half", {128, 64}, DType::f16), {.transpose_b = true}).type().text(),
            "[n, 128] f32");
  EXPECT_EQ(count_of(graph, "Cast"), 0u) << "weights stay as they are stored";
  const Var gain = param(graph, "gain", {64}), bias = param(graph, "bias", {64});
  EXPECT_EQ(rms_norm(x).shape(), x.shape());
  EXPECT_EQ(rms_norm(x, gain, {.eps = 1e-5}).shape(), x.shape());
  EXPECT_EQ(rms_norm(x, gain, bias, {}).shape(), x.shape());
  EXPECT_EQ(layer_norm(x, gain, bias, {.eps = 1e-6}).shape(), x.shape());
  const Var pos = position_input(graph, n);
  const Var turned = rope(q, pos, {.head_dim = 32, .theta = 1e6});
  EXPECT_EQ(turned.shape(), q.shape());
  const Var table = param(graph, "table", {512, 16});
  EXPECT_EQ(rope_tables(q, table, table, {.head_dim = 32, .style = "interleaved"}).shape(), q.shape());

  graph.add_state({.name = "layer0",
                   .kind = StateKind::rows,
                   .dtype = DType::f32,
                   .planes = {64, 64},
                   .length = Dim::symbol("past"),
                   .capacity = {}});
  const auto [k, v] = kv_append("layer0", x, x);
  EXPECT_EQ(k.type().text(), "[n + past, 64] f32");
  const Var y = attention(turned, k, v, {.heads = 4, .kv_heads = 2, .mask = Mask::sliding_window(7), .softcap = 50.0});
  EXPECT_EQ(y.shape(), q.shape());
  const Node& node = graph.node(y.value().node);
  EXPECT_EQ(node.integer("head_dim"), 32);
  EXPECT_EQ(node.optional_integer("window_keys"), 8) << "the query's own key and the 7 before it";
  EXPECT_TRUE(node.boolean("causal"));
  const Var z = attention(x, x, x, {.heads = 2, .mask = Mask::bias(input(graph, "b", {2, n, n}))});
  EXPECT_FALSE(graph.node(z.value().node).inputs[3].defined());
  EXPECT_TRUE(graph.node(z.value().node).inputs[4].defined());
  EXPECT_EQ(error_code([&] { attention(x, x, x, {}); }), "BadAttribute");
  EXPECT_EQ(error_code([&] { attention(x, x, x, {.heads = 5}); }), "BadAttribute");

  EXPECT_EQ(sample(y, {.method = "greedy", .index_dtype = DType::i64}).type().text(), "[n] i64");
  EXPECT_EQ(sample(y, {.temperature = 0.8, .top_k = 40}, input(graph, "u", {n})).type().text(), "[n] i32");
}

TEST(Builder, GraphsDoNotMix) {
  Graph one("one"), two("two");
  const Var a = input(one, "a", {2}), b = input(two, "b", {2});
  EXPECT_EQ(error_code([&] { a + b; }), "ForeignValue");
}

}  // namespace
}  // namespace weft
