#include "weft/formats/graph_ir/from_mir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "weft/formats/graph_ir/test_graphs.h"
#include "weft/formats/graph_ir/to_mir.h"
#include "weft/formats/graph_ir/toml_form.h"
#include "weft/formats/graph_ir/validate.h"
#include "weft/ir/binary.h"
#include "weft/ir/builder.h"
#include "weft/ir/text.h"

namespace weft::graph_ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Written without what a reader would assume: attributes with their defaults, and fields that a sampling method does
// not read, which have no place in MIR.
Graph without_defaults(const GoodCase& good, Graph graph) {
  Node& node = graph.nodes[0];
  if (node.op.tag == Tag::sample) {
    const bool top_p = node.op.get<std::uint8_t>("method") == 3;
    node.op = make_op(Tag::sample, {{"method", node.op.get<std::uint8_t>("method")},
                                    {"temperature", node.op.get<float>("temperature")},
                                    {"p", top_p ? node.op.get<float>("p") : 0.0f}});
  }
  for (auto it = node.attrs.begin(); it != node.attrs.end();) {
    const auto fallback = default_attr(*find_attr(op_def(good.op.tag), it->first), good.op);
    it = fallback && it->first != "scale" && same_value(*fallback, it->second) ? node.attrs.erase(it) : std::next(it);
  }
  return graph;
}

TEST(GraphIrFromMir, OpsComeBackAsTheyWere) {
  for (const GoodCase& good : good_cases()) {
    Graph graph = good.graph();
    graph.nodes[0].id = 41;
    graph.nodes[0].backend_hint = BackendHint::honeycrisp;
    weft::Graph mir;
    if (error_of([&] { mir = to_mir(graph); }).code() != "none") continue;
    const std::string_view name = op_def(good.op.tag).name;
    FromMir back;
    const Error error = error_of([&] { back = from_mir(mir); });
    ASSERT_EQ(error.code(), "none") << name << ": " << error.what();
    const Graph wanted = without_defaults(good, graph);
    EXPECT_EQ(back.graph, wanted) << to_toml(back.graph) << to_toml(wanted);
    EXPECT_TRUE(back.constants.empty()) << name;
  }
}

TEST(GraphIrFromMir, StoredMirComesBackAlike) {
  for (const GoodCase& good : good_cases()) {
    weft::Graph mir;
    FromMir back;
    if (error_of([&] { back = from_mir(mir = to_mir(good.graph())); }).code() != "none") continue;
    EXPECT_EQ(from_mir(graph_from_text(to_text(mir))).graph, back.graph) << op_def(good.op.tag).name;
    EXPECT_EQ(from_mir(graph_from_binary(to_binary(mir))).graph, back.graph) << op_def(good.op.tag).name;
  }
}

TEST(GraphIrFromMir, ChangedCompositionsComeBackAsTheirParts) {
  const auto ops_after = [](const GoodCase& good, const std::function<void(weft::Graph&)>& change) {
    weft::Graph mir = to_mir(good.graph());
    change(mir);
    std::vector<std::string> ops;
    for (const Node& node : from_mir(mir).graph.nodes) ops.emplace_back(op_def(node.op.tag).name);
    return ops;
  };
  const GoodCase fused{make_op(Tag::fused_norm_matmul, {{"eps", 1e-6f}}), {{2, 8}, {8}, {3, 8}}, {{2, 3}}};
  EXPECT_THAT(ops_after(fused, [](weft::Graph&) {}), ElementsAre("FusedNormMatmul"));
  // An inner value that the graph gives out.
  EXPECT_THAT(ops_after(fused,
                        [](weft::Graph& mir) {
                          mir.add_output("inner", {mir.size() - 2, 0});
                        }),
              ElementsAre("RmsNorm", "Matmul"));
  // A node that says something else than before.
  EXPECT_THAT(ops_after(fused,
                        [](weft::Graph& mir) {
                          weft::Graph changed(mir.name());
                          for (const weft::Node& node : mir.nodes()) {
                            Attributes attributes;
                            for (std::size_t i = 0; i < node.attributes.size(); ++i)
                              attributes.emplace_back(node.schema->attributes[i].name, node.attributes[i]);
                            NodeOptions options;
                            options.names = {node.outputs[0].name};
                            options.origin = node.origin;
                            if (node.schema->name == "MatMul") attributes = {{"transpose_b", false}};
                            const std::vector<Value> inputs = node.schema->name == "MatMul"
                                                                  ? std::vector<Value>{node.inputs[0], node.inputs[0]}
                                                                  : node.inputs;
                            changed.add(*node.schema, inputs,
                                        node.schema->name == "MatMul" ? Attributes{{"transpose_a", true}} : attributes,
                                        options);
                          }
                          changed.set_outputs(mir.outputs());
                          mir = changed;
                        }),
              ElementsAre("RmsNorm", "Permute", "Permute", "Matmul"));
}

TEST(GraphIrFromMir, OriginsMayClaimAnything) {
  // Whatever op nodes say they come from, they come back as what they compute, or not at all.
  std::size_t stored = 0;
  for (const GoodCase& good : good_cases()) {
    weft::Graph mir;
    if (error_of([&] { mir = to_mir(good.graph()); }).code() != "none") continue;
    for (const OpDef& claimed : all_ops()) {
      weft::Graph lying = mir;
      for (std::int32_t i = 0; i < lying.size(); ++i)
        if (lying.node(i).schema->op_class != OpClass::leaf || lying.node(i).schema->name == "Constant")
          lying.set_origin(i, {"graph_ir", 3, std::string(claimed.name), "y0"});
      FromMir back;
      const Error error = error_of([&] { back = from_mir(lying); });
      EXPECT_THAT(error.code(), testing::AnyOf("none", "NotRepresentable")) << error.what();
      if (error.code() != "none") continue;
      ++stored;
      std::vector<std::string> before, after;
      for (const weft::Node& node : mir.nodes())
        if (node.schema->op_class != OpClass::leaf) before.push_back(node.schema->name);
      const weft::Graph again = to_mir(back.graph);
      for (const weft::Node& node : again.nodes())
        if (node.schema->op_class != OpClass::leaf) after.push_back(node.schema->name);
      EXPECT_EQ(before, after) << op_def(good.op.tag).name << " as " << claimed.name;
    }
  }
  EXPECT_GT(stored, 3000u);
}

TEST(GraphIrFromMir, AlphasOfAdaptersAreFoundAgain) {
  for (const std::uint32_t rank : {1u, 3u, 7u, 12u, 100u})
    for (const float alpha : {1.0f, 0.1f, 16.0f, 255.0f, 3.7f, -2.5f}) {
      const Graph graph = one_node(make_op(Tag::lora_apply, {{"rank", rank}, {"alpha", alpha}}),
                                   {{2, 5}, {2, 4}, {rank, 4}, {5, rank}});
      EXPECT_EQ(from_mir(to_mir(graph)).graph.nodes[0].op, graph.nodes[0].op) << rank << " " << alpha;
    }
}

Var input(weft::Graph& graph, const std::string& name, weft::Shape shape, DType dtype = DType::f32) {
  return emit(graph, "Input", {}, {{"name", name}, {"shape", std::move(shape)}, {"dtype", dtype}});
}
Var param(weft::Graph& graph, const std::string& name, weft::Shape shape, DType dtype = DType::f32) {
  return emit(graph, "Param", {}, {{"name", name}, {"shape", std::move(shape)}, {"dtype", dtype}});
}

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes) ops.emplace_back(op_def(node.op.tag).name);
  return ops;
}

struct Built {
  weft::Graph graph{"built"};
  Var x = input(graph, "x", {weft::Dim::symbol("n"), 8});
};

// The graph's only output "y".
FromMir exported(Built& built, Var y, const FromMirOptions& options = {}) {
  built.graph.add_output("y", y.value());
  return from_mir(built.graph, options);
}

std::string refusal(const std::function<Var(Built&)>& build) {
  Built built;
  const Var y = build(built);
  const Error error = error_of([&] { exported(built, y); });
  if (error.code() == "none") return "none";
  EXPECT_EQ(error.code(), "NotRepresentable");
  EXPECT_EQ(error.kind(), ErrorKind::not_representable);
  return error.what();
}

TEST(GraphIrFromMir, ProductsAreTurnedToTheGraphIrsOrder) {
  Built built;
  const Var w = param(built.graph, "w", {8, 4});
  const FromMir back = exported(built, emit(built.graph, "MatMul", {built.x, w}));
  EXPECT_THAT(ops_of(back.graph), ElementsAre("Permute", "Matmul"));
  EXPECT_THAT(back.graph.nodes[1].inputs, ElementsAre("x", back.graph.nodes[0].outputs[0]));
  EXPECT_THAT(back.graph.outputs, ElementsAre("y"));
  Built left;
  const Var a = emit(left.graph, "MatMul", {left.x, left.x}, {{"transpose_a", true}});
  EXPECT_THAT(ops_of(exported(left, a).graph), ElementsAre("Permute", "Permute", "Matmul"));
}

TEST(GraphIrFromMir, HelpersFoldIntoTheirReaders) {
  Built built;
  const Var gain = emit(built.graph, "Decode", {param(built.graph, "g", {8}, DType::f16)});
  const Var table = param(built.graph, "t", {16, 8}, DType::f16);
  const Var ids = input(built.graph, "ids", {weft::Dim::symbol("m")});
  const Var rows =
      emit(built.graph, "Decode", {emit(built.graph, "Gather", {table, emit(built.graph, "ToIndex", {ids})})});
  const Var y = emit(built.graph, "RmsNorm", {rows, gain}, {{"eps", 0.5}});
  const FromMir back = exported(built, y);
  EXPECT_THAT(ops_of(back.graph), ElementsAre("TokenEmbed", "RmsNorm"));
  EXPECT_THAT(back.graph.nodes[0].inputs, ElementsAre("ids", "t"));
  EXPECT_THAT(back.graph.nodes[1].inputs, ElementsAre(back.graph.nodes[0].outputs[0], "g"));
  EXPECT_EQ(back.graph.weights.at("g").dtype, DType::f16);
  // A decoded matrix says so: undecoded it would stay packed.
  Built matrix;
  const Var decoded = emit(matrix.graph, "Decode", {param(matrix.graph, "w", {4, 8}, DType::f16)});
  const Var product = emit(matrix.graph, "MatMul", {matrix.x, decoded}, {{"transpose_b", true}});
  EXPECT_THAT(ops_of(exported(matrix, product).graph), ElementsAre("Dequantize", "Matmul"));
}

TEST(GraphIrFromMir, ConstantsBecomeWeights) {
  Built built;
  const float half = 0.5f;
  const Var c = emit(built.graph, "Constant", {}, {{"value", Tensor::from(std::span<const float>(&half, 1), {})}});
  const FromMir back = exported(built, emit(built.graph, "Binary", {built.x, c}, {{"kind", "mul"}}));
  ASSERT_EQ(back.constants.size(), 1u);
  const auto& [name, value] = *back.constants.begin();
  EXPECT_EQ(value.values<float>()[0], 0.5f);
  EXPECT_EQ(back.graph.weights.at(name).shape, Shape());
  EXPECT_THAT(back.graph.nodes[0].inputs, ElementsAre("x", name));
}

TEST(GraphIrFromMir, PartsOfAnAxisAreSplits) {
  Built built;
  const FromMir back =
      exported(built, emit(built.graph, "Narrow", {built.x}, {{"axis", -1}, {"start", 2}, {"len", 3}}));
  EXPECT_EQ(back.graph.nodes[0].op, make_op(Tag::split, {{"axis", 1u}, {"sizes", Words{2, 3, 3}}}));
  EXPECT_EQ(back.graph.nodes[0].outputs[1], "y");
}

TEST(GraphIrFromMir, EveryValueGetsOneName) {
  weft::Graph graph("names");
  const Var x = input(graph, "x", {4});
  const Var a = emit(graph, "Activation", {x}, {{"kind", "silu"}}).named("same");
  const Var b = emit(graph, "Activation", {a}, {{"kind", "silu"}});
  const Var c = emit(graph, "Activation", {b}, {{"kind", "relu"}}).named("pos");
  graph.add_output("same", c.value());
  graph.add_output("again", c.value());
  graph.add_output("x", x.value());
  const FromMir back = from_mir(graph);
  EXPECT_THAT(back.graph.outputs, ElementsAre("same", "again", "x"));
  EXPECT_THAT(ops_of(back.graph), ElementsAre("Silu", "Silu", "Relu", "Clamp"));
  EXPECT_NE(back.graph.nodes[0].outputs[0], "same");
  EXPECT_EQ(back.graph.nodes[2].outputs[0], "same");
  EXPECT_NO_THROW(validate(back.graph));
  EXPECT_EQ(to_mir(back.graph).outputs().size(), 3u);
}

TEST(GraphIrFromMir, WhatTheGraphIrCannotSayIsNamed) {
  const auto activation = [](Built& b, const char* kind) {
    return emit(b.graph, "Activation", {b.x}, {{"kind", kind}});
  };
  EXPECT_THAT(refusal([&](Built& b) { return activation(b, "sqrt"); }),
              HasSubstr("[Activation] node %1: the Graph IR has no activation sqrt"));
  EXPECT_EQ(refusal([&](Built& b) { return activation(b, "tanh"); }), "none");
  EXPECT_THAT(refusal([](Built& b) {
                return emit(b.graph, "Binary", {b.x, b.x}, {{"kind", "max"}});
              }),
              HasSubstr("elementwise max"));
  EXPECT_THAT(refusal([](Built& b) { return emit(b.graph, "Fma", {b.x, b.x, b.x}); }), HasSubstr("no such op"));
  EXPECT_THAT(refusal([](Built& b) { return emit(b.graph, "Softmax", {b.x}); }), HasSubstr("empty_row"));
  EXPECT_THAT(refusal([](Built& b) { return emit(b.graph, "ArgMax", {b.x}); }), HasSubstr("indices as f32, not i32"));
  EXPECT_THAT(refusal([](Built& b) {
                return emit(b.graph, "RmsNorm", {b.x}, {{"eps", 1e-6}});
              }),
              HasSubstr("eps = 1e-06 is no f32"));
  EXPECT_THAT(refusal([](Built& b) {
                return emit(b.graph, "LayerNorm", {b.x}, {{"axis", -2}, {"eps", 0.0}});
              }),
              HasSubstr("last axis"));
  EXPECT_THAT(refusal([](Built& b) { return emit(b.graph, "ToIndex", {b.x}); }),
              HasSubstr("not a value of the Graph IR"));
  EXPECT_THAT(refusal([](Built& b) {
                return emit(b.graph, "Cast", {b.x}, {{"to", DType::i32}});
              }),
              HasSubstr("f32 to i32"));
  EXPECT_THAT(refusal([](Built& b) { return input(b.graph, "z", {2}, DType::f64); }),
              HasSubstr("no dtype tag for f64"));
  EXPECT_THAT(
      refusal([](Built& b) {
        return emit(b.graph, "Rope", {b.x, input(b.graph, "p", {1})}, {{"head_dim", 8}, {"position_scale", 0.5}});
      }),
      HasSubstr("scale positions"));
  EXPECT_THAT(refusal([](Built& b) {
                b.graph.add_state({.name = "s", .planes = {8, 8}, .length = weft::Dim::symbol("past"), .capacity = {}});
                emit_all(b.graph, "KvAppend", {b.x, b.x}, {{"slot", "s"}});
                return emit_all(b.graph, "KvAppend", {b.x, b.x}, {{"slot", "s"}})[0];
              }),
              HasSubstr("used by another node"));
  EXPECT_THAT(refusal([](Built& b) {
                NodeOptions options;
                options.backend_hint = "vulkan";
                return emit(b.graph, "Activation", {b.x}, {{"kind", "silu"}}, options);
              }),
              HasSubstr("no backend \"vulkan\""));
  // Halves that stay halves: the Graph IR computes in f32.
  EXPECT_THAT(refusal([](Built& b) {
                return emit(b.graph, "Activation", {input(b.graph, "h", {2}, DType::f16)}, {{"kind", "silu"}});
              }),
              HasSubstr("the Graph IR would make it [2] f32"));
}

TEST(GraphIrFromMir, RealsAreRoundedOnDemand) {
  Built built;
  FromMirOptions options;
  options.round_reals = true;
  const FromMir back = exported(built, emit(built.graph, "RmsNorm", {built.x}, {{"eps", 1e-6}}), options);
  EXPECT_EQ(back.graph.nodes[0].op, make_op(Tag::rms_norm, {{"eps", 1e-6f}}));
}

Var attend(Built& b, Var q, Var k, Attributes attributes) {
  attributes.emplace_back("head_dim", 4);
  return emit(b.graph, "Attention", {q, k, k}, attributes);
}

TEST(GraphIrFromMir, AttentionMustReadTheSameWay) {
  EXPECT_EQ(refusal([](Built& b) { return attend(b, b.x, b.x, {{"num_heads", 2}, {"causal", true}}); }), "none");
  // As many keys as there are queries, or more, whatever the run; with an open number the Graph IR would refuse runs.
  EXPECT_THAT(
      refusal([](Built& b) {
        return attend(b, b.x, input(b.graph, "k", {weft::Dim::symbol("m"), 8}), {{"num_heads", 2}, {"causal", true}});
      }),
      HasSubstr("set strict"));
  EXPECT_EQ(refusal([](Built& b) {
              return attend(b, b.x, input(b.graph, "k", {weft::Dim::symbol("m"), 8}),
                            {{"num_heads", 2}, {"causal", true}, {"strict", true}});
            }),
            "none");
  EXPECT_THAT(
      refusal([](Built& b) {
        const Var q = input(b.graph, "q", {1, 2, 2, 4});
        return attend(b, q, q, {{"num_heads", 2}, {"layout", "bshd"}, {"k_layout", "bshd"}, {"v_layout", "bshd"}});
      }),
      HasSubstr("as bshd, and the Graph IR would read it as bhsd"));
}

TEST(GraphIrFromMir, PositionsMustCountTheTokens) {
  const auto build = [](weft::Shape positions) {
    return [positions](Built& b) {
      const Var ids = input(b.graph, "ids", {weft::Dim::symbol("m")}, DType::i32);
      const Var rows = emit(b.graph, "Gather", {param(b.graph, "t", {16, 8}), ids});
      const Var pos = emit(b.graph, "Input", {}, {{"name", "pos"}, {"shape", positions}, {"source", "position"}});
      return emit(b.graph, "Rope", {rows, pos}, {{"head_dim", 8}});
    };
  };
  EXPECT_EQ(refusal(build({weft::Dim::symbol("m")})), "none");
  EXPECT_THAT(refusal(build({1})), HasSubstr("the positions of a run are [m], not [1]"));
}

}  // namespace
}  // namespace weft::graph_ir
