#include "weft/formats/graph_ir/to_mir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "weft/formats/graph_ir/lower.h"
#include "weft/formats/graph_ir/test_graphs.h"
#include "weft/formats/graph_ir/validate.h"
#include "weft/ir/verify.h"

namespace weft::graph_ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> ops_of(const weft::Graph& mir) {
  std::vector<std::string> ops;
  for (const weft::Node& node : mir.nodes())
    if (node.schema->op_class != OpClass::leaf) ops.push_back(node.schema->name);
  return ops;
}

const weft::Node& last_node(const weft::Graph& mir) { return mir.node(mir.size() - 1); }

// Tags whose meaning no MIR op has.
bool is_without_ops(Tag tag) { return op_def(tag).lower == nullptr; }

TEST(GraphIrToMir, EveryOpThatMirCoversKeepsItsTypes) {
  for (const GoodCase& good : good_cases()) {
    const Graph graph = good.graph();
    const std::string_view name = op_def(good.op.tag).name;
    weft::Graph mir;
    const Error error = error_of([&] { mir = to_mir(graph); });
    if (error.code() != "none") {
      EXPECT_EQ(error.code(), "UnsupportedOp") << name << ": " << error.what();
      EXPECT_THAT(error.what(), HasSubstr(std::string(name)));
      EXPECT_THAT(error.what(), HasSubstr("node 0 (id 0)"));
      EXPECT_TRUE(is_without_ops(good.op.tag)) << name;
      continue;
    }
    EXPECT_NO_THROW(verify(mir)) << name;
    ASSERT_EQ(mir.outputs().size(), good.results.size());
    for (std::size_t i = 0; i < good.results.size(); ++i) {
      EXPECT_EQ(mir.outputs()[i].name, graph.outputs[i]);
      const TensorType& type = mir.type(mir.outputs()[i].value);
      EXPECT_EQ(type.dtype, good.results[i].dtype) << name;
      const Shape shape = plain_shape(type.shape);
      ASSERT_EQ(shape.size(), good.results[i].shape.size()) << name;
      // MIR keeps symbols apart that the shape rules unify, so it may leave a size open, and never contradicts.
      for (std::size_t axis = 0; axis < shape.size(); ++axis)
        EXPECT_TRUE(unified(shape[axis], good.results[i].shape[axis])) << name << type.text();
    }
  }
}

TEST(GraphIrToMir, OpsWithoutCounterpartAreFew) {
  std::set<std::string_view> without;
  for (const OpDef& def : all_ops())
    if (is_without_ops(def.tag)) without.insert(def.name);
  EXPECT_THAT(without, testing::IsEmpty());
}

TEST(GraphIrToMir, NamesIdsAndHintsAreKept) {
  Graph graph = one_node(make_op(Tag::swi_glu), {{2, 8}, {4, 8}, {4, 8}, {3, 4}});
  graph.nodes[0].id = 17;
  graph.nodes[0].backend_hint = BackendHint::cuda;
  const weft::Graph mir = to_mir(graph, {.name = "ffn"});
  EXPECT_EQ(mir.name(), "ffn");
  EXPECT_THAT(ops_of(mir), ElementsAre("MatMul", "MatMul", "Activation", "Binary", "MatMul"));
  EXPECT_EQ(mir.find_value("y0"), (Value{mir.size() - 1, 0}));
  EXPECT_EQ(mir.find_value("a"), (Value{0, 0}));
  for (const weft::Node& node : mir.nodes()) {
    if (node.schema->op_class == OpClass::leaf) continue;
    EXPECT_EQ(node.origin.format, "graph_ir");
    EXPECT_EQ(node.origin.id, 17);
    EXPECT_EQ(node.origin.op, "SwiGlu");
    EXPECT_EQ(node.origin.label, "y0");
    EXPECT_EQ(node.backend_hint, "cuda");
  }
}

TEST(GraphIrToMir, SpellingsSetAttributes) {
  const weft::Graph softmax = to_mir(one_node(make_op(Tag::softmax, {{"dim", std::int32_t{0}}}), {{2, 3}}));
  EXPECT_EQ(last_node(softmax).text("empty_row"), "nan");
  EXPECT_EQ(last_node(softmax).integer("axis"), 0);
  const weft::Graph argmax = to_mir(one_node(make_op(Tag::argmax), {{2, 3}}));
  EXPECT_EQ(last_node(argmax).dtype("index_dtype"), DType::f32);
  EXPECT_EQ(last_node(argmax).text("nan"), "wins");
  const weft::Graph sample =
      to_mir(one_node(make_op(Tag::sample, {{"method", std::uint8_t{2}}, {"temperature", 0.5f}, {"k", 3u}}), {{9}},
                      {{"seed", std::int64_t{4}}}));
  EXPECT_EQ(last_node(sample).text("method"), "top_k");
  EXPECT_EQ(last_node(sample).text("rng"), "pcg32");
  EXPECT_EQ(last_node(sample).text("order"), "sorted");
  EXPECT_EQ(last_node(sample).integer("top_k"), 3);
  EXPECT_EQ(last_node(sample).integer("seed"), 4);
  EXPECT_EQ(last_node(sample).real("temperature"), 0.5);
}

Op sdpa(std::uint32_t heads, std::uint32_t kv_heads, std::uint32_t dim, bool causal) {
  return make_op(Tag::sdpa, {{"num_heads", heads}, {"kv_heads", kv_heads}, {"head_dim", dim}, {"causal", causal}});
}

TEST(GraphIrToMir, AttentionArrangementsAreDecidedOnce) {
  const auto layouts = [](const std::vector<Operand>& operands, std::uint32_t heads, std::uint32_t kv_heads,
                          std::uint32_t dim) {
    const weft::Graph mir = to_mir(one_node(sdpa(heads, kv_heads, dim, false), operands));
    const weft::Node& node = last_node(mir);
    return node.text("layout") + " " + node.text("k_layout") + " " + node.text("v_layout");
  };
  EXPECT_EQ(layouts({{1, 4, 5, 8}, {1, 2, 6, 8}, {1, 2, 6, 8}}, 4, 2, 8), "bhsd bhsd bhsd");
  EXPECT_EQ(layouts({{1, 5, 4, 8}, {1, 6, 2, 8}, {1, 6, 2, 8}}, 4, 2, 8), "bshd bshd bshd");
  EXPECT_EQ(layouts({{1, 4, 4, 8}, {1, 2, 6, 8}, {1, 2, 6, 8}}, 4, 2, 8),
            "bhsd bhsd bhsd");  // heads first where both fit
  EXPECT_EQ(layouts({{4, 8}, {-1, 16}, {-1, 16}}, 4, 2, 8), "rows packed packed");
  EXPECT_EQ(layouts({{32}, {3, 16}, {2, 3, 8}}, 4, 2, 8), "packed packed hsd");
  EXPECT_EQ(layouts({{5, 4, 8}, {6, 2, 8}, {6, 16}}, 4, 2, 8), "shd shd packed");
  EXPECT_EQ(layouts({{2, 5, 32}, {1, 6, 16}, {2, 6, 16}}, 4, 2, 8), "packed packed packed");
  EXPECT_EQ(layouts({{1, -1, 4, 8}, {-1, -1, 2, 8}, {-1, -1, 2, 8}}, 4, 2, 8), "bshd bshd bshd");
  const Error error = error_of([] { to_mir(one_node(sdpa(4, 2, 8, false), {{1, -1, -1, 8}, {6, 16}, {6, 16}})); });
  EXPECT_EQ(error.code(), "AmbiguousLayout");
  EXPECT_THAT(error.what(), HasSubstr("bhsd or bshd"));
}

TEST(GraphIrToMir, AttentionAttributes) {
  const weft::Graph mir = to_mir(one_node(sdpa(2, 2, 4, true), {{3, 8}, {7, 8}, {7, 8}, {{3, 7}, DType::boolean}},
                                          {{"window", std::int64_t{2}}, {"softcap", 30.0f}, {"scale", 0.5f}}));
  const weft::Node& node = last_node(mir);
  EXPECT_TRUE(node.boolean("causal"));
  EXPECT_TRUE(node.boolean("strict"));
  EXPECT_EQ(node.optional_integer("window_keys"), 2);
  EXPECT_EQ(node.optional_real("softcap"), 30.0);
  EXPECT_EQ(node.optional_real("scale"), 0.5);
  ASSERT_EQ(node.inputs.size(), 4u);
  const weft::Graph added = to_mir(one_node(sdpa(2, 2, 4, false), {{3, 8}, {7, 8}, {7, 8}, {3, 7}}));
  ASSERT_EQ(last_node(added).inputs.size(), 5u);
  EXPECT_FALSE(last_node(added).inputs[3].defined());
  EXPECT_EQ(last_node(added).optional_real("scale"), std::nullopt);
}

// ids -> embed -> q, k, v -> cache -> attention, as a decoder layer has it.
Graph cached_graph() {
  Graph graph;
  graph.inputs = {{"ids", {{-1}, DType::f32, {}, {}}}};
  graph.weights = {{"model.embed_tokens.weight", {{32, 16}, DType::f32, {}, {}}},
                   {"model.k", {{8, 16}, DType::f16, {}, {}}}};
  const auto add = [&](Op op, std::vector<std::string> inputs, std::vector<std::string> outputs) {
    graph.nodes.push_back(
        {static_cast<std::uint32_t>(graph.nodes.size()), std::move(op), std::move(inputs), std::move(outputs), {}, {}});
  };
  add(make_op(Tag::token_embed), {"ids", "model.embed_tokens.weight"}, {"x"});
  add(make_op(Tag::rope, {{"head_dim", 4u}, {"base", 1e4f}}), {"x", "pos"}, {"q"});
  add(make_op(Tag::matmul), {"x", "model.k"}, {"k"});
  add(make_op(Tag::kv_cache), {"k", "k"}, {"kf", "vf"});
  add(sdpa(4, 2, 4, true), {"q", "kf", "vf"}, {"a"});
  add(make_op(Tag::matmul), {"a", "lm_head.weight"}, {"logits"});
  graph.outputs = {"logits"};
  return graph;
}

TEST(GraphIrToMir, CachesPositionsAndTiedHeads) {
  const weft::Graph mir = to_mir(cached_graph());
  EXPECT_THAT(ops_of(mir), ElementsAre("ToIndex", "Gather", "Rope", "MatMul", "KvAppend", "Attention", "MatMul"));
  ASSERT_EQ(mir.states().size(), 1u);
  EXPECT_EQ(mir.states()[0].name, "kf");
  EXPECT_EQ(mir.states()[0].length.text(), "past");
  EXPECT_THAT(mir.states()[0].planes, ElementsAre(8, 8));
  const weft::Node& pos = mir.node(*mir.find_input("pos"));
  EXPECT_EQ(pos.text("source"), "position");
  EXPECT_EQ(pos.outputs[0].type.shape.text(), "[ids.0]");
  EXPECT_EQ(mir.params().size(), 2u);  // the head is the embedding
  EXPECT_EQ(mir.type(*mir.find_value("kf")).shape.text(),
            (weft::Shape{weft::Dim::symbol("past") + weft::Dim::symbol("ids.0"), 8}).text());
  ToMirOptions options;
  options.scalar_position = true;
  const weft::Graph scalar = to_mir(cached_graph(), options);
  EXPECT_EQ(scalar.node(*scalar.find_input("pos")).outputs[0].type.shape.text(), "[1]");
}

TEST(GraphIrToMir, CacheRowsComeTokenByToken) {
  const auto ops = [](Shape k, std::uint32_t kv_heads) {
    Graph graph;
    graph.inputs = {{"k", {std::move(k), DType::f32, {}, {}}}, {"q", {{4, 8}, DType::f32, {}, {}}}};
    graph.nodes.push_back({0, make_op(Tag::kv_cache), {"k", "k"}, {"kf", "vf"}, {}, {}});
    graph.nodes.push_back({1, sdpa(4, kv_heads, 8, false), {"q", "kf", "vf"}, {"y"}, {}, {}});
    graph.outputs = {"y"};
    return ops_of(to_mir(graph));
  };
  EXPECT_THAT(ops({3, 16}, 2), ElementsAre("KvAppend", "Attention"));
  EXPECT_THAT(ops({2, 8}, 2), ElementsAre("Reshape", "Reshape", "KvAppend", "Attention"));
  EXPECT_THAT(ops({5, 2, 8}, 2), ElementsAre("Reshape", "Reshape", "KvAppend", "Attention"));
  EXPECT_THAT(ops({2, 5, 8}, 2), ElementsAre("Transpose", "Reshape", "Transpose", "Reshape", "KvAppend", "Attention"));
  EXPECT_THAT(ops({1, 2, 5, 8}, 2),
              ElementsAre("Transpose", "Reshape", "Transpose", "Reshape", "KvAppend", "Attention"));
  EXPECT_EQ(error_of([&] { ops({-1, -1, 8}, 2); }).code(), "AmbiguousLayout");
}

TEST(GraphIrToMir, CachesOfTwoTypesAreTwoStates) {
  const weft::Graph mir = to_mir(one_node(make_op(Tag::kv_cache), {{-1, 4}, {{-1, 6}, DType::u8}}));
  EXPECT_THAT(ops_of(mir), ElementsAre("RowsAppend", "RowsAppend"));
  ASSERT_EQ(mir.states().size(), 2u);
  EXPECT_EQ(mir.states()[0].dtype, DType::f32);
  EXPECT_EQ(mir.states()[1].dtype, DType::u8);
  EXPECT_EQ(mir.states()[0].length, mir.states()[1].length);
  EXPECT_EQ(last_node(mir).constraints.size(), 1u);  // as many rows of V as of K
}

TEST(GraphIrToMir, CachesOfOtherLengthCountForThemselves) {
  Graph graph = cached_graph();
  graph.inputs.push_back({"extra", {{3, 8}, DType::f32, {}, {}}});
  graph.nodes.push_back({6, make_op(Tag::kv_cache), {"extra", "extra"}, {"e k", "ev"}, {}, {}});
  const weft::Graph mir = to_mir(graph);
  ASSERT_EQ(mir.states().size(), 2u);
  EXPECT_EQ(mir.states()[1].length.text(), "past.e_k.6");
}

TEST(GraphIrToMir, RopeFindsItsHeads) {
  const auto shape_of = [](const std::vector<Operand>& operands, Attrs attrs = {}) {
    const weft::Graph mir =
        to_mir(one_node(make_op(Tag::rope, {{"head_dim", 8u}, {"base", 1e4f}}), operands, std::move(attrs)));
    std::string text;
    for (const weft::Node& node : mir.nodes())
      if (node.schema->op_class != OpClass::leaf)
        text += node.schema->name + (node.schema->name == "Rope" ? ":" + node.text("heads") + " " : " ");
    return text;
  };
  EXPECT_EQ(shape_of({{6, 2, 8}, {3}}), "Rope:token_major ");
  EXPECT_EQ(shape_of({{6, 8}, {3}}), "Rope:token_major ");
  EXPECT_EQ(shape_of({{6, 16}, {6}}), "Rope:packed ");
  EXPECT_EQ(shape_of({{6, 16}, {1}}), "Rope:packed ");
  EXPECT_EQ(shape_of({{6, 16}, {3}}), "Reshape Rope:token_major Reshape ");
  EXPECT_EQ(shape_of({{2, 3, 16}, {3}}), "Rope:packed ");
  EXPECT_EQ(shape_of({{2, 3, 8}, {3}}, {{"head_major", true}}), "Rope:head_major ");
}

TEST(GraphIrToMir, OpenSizesAreCutIntoEqualPieces) {
  EXPECT_THAT(ops_of(to_mir(one_node(make_op(Tag::chunk, {{"axis", 0u}, {"chunks", 2u}}), {{-1, 3}}))),
              ElementsAre("Chunk"));
  EXPECT_THAT(ops_of(to_mir(one_node(make_op(Tag::chunk, {{"axis", 1u}, {"chunks", 3u}}), {{-1, 3}}))),
              ElementsAre("Split"));
  EXPECT_THAT(ops_of(to_mir(one_node(make_op(Tag::glu), {{2, -1}}))), ElementsAre("Chunk", "Activation", "Binary"));
}

TEST(GraphIrToMir, NarrowOperandsAreDecodedOnce) {
  Graph graph = one_node(make_op(Tag::add), {{{4}, DType::f16}, {{4}, DType::f16}});
  graph.nodes[0].inputs = {"a", "a"};
  graph.inputs.pop_back();
  EXPECT_THAT(ops_of(to_mir(graph)), ElementsAre("Decode", "Binary"));
  Graph packed = one_node(make_op(Tag::matmul), {{2, 32}, {{4, 32}, DType::q8_0}});
  EXPECT_THAT(ops_of(to_mir(packed)), ElementsAre("MatMul"));
  Graph table = one_node(make_op(Tag::token_embed), {{{2}, DType::i32}, {{4, 32}, DType::bf16}});
  EXPECT_THAT(ops_of(to_mir(table)), ElementsAre("Gather", "Decode"));
}

TEST(GraphIrToMir, ErrorsNameTheNode) {
  const Error missing = error_of([] {
    Graph graph = one_node(make_op(Tag::silu), {{2}});
    graph.nodes[0].inputs = {"model.w"};
    to_mir(graph);
  });
  EXPECT_EQ(missing.code(), "WeightMissing");
  const Error open = error_of([] {
    to_mir(one_node(make_op(Tag::pixel_unshuffle, {{"downscale_factor", 2u}}), {{3, -1, 4}}));
  });
  EXPECT_EQ(open.code(), "UnsupportedOp");
  EXPECT_THAT(open.what(),
              HasSubstr("[PixelUnshuffle] node 0 (id 0): op PixelUnshuffle (tag 102): the height must be known"));
}

}  // namespace
}  // namespace weft::graph_ir
