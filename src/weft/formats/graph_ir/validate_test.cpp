#include "weft/formats/graph_ir/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "weft/formats/graph_ir/test_graphs.h"

namespace weft::graph_ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Node node(std::uint32_t id, Op op, std::vector<std::string> inputs, std::vector<std::string> outputs) {
  return {id, std::move(op), std::move(inputs), std::move(outputs), {}, {}};
}

// x -> Silu -> h -> Add(h, model.w) -> y
Graph chain() {
  Graph graph;
  graph.inputs = {{"x", {{-1, 4}, DType::f32, {}, {}}}};
  graph.weights = {{"model.w", {{4}, DType::f32, 0, 16}}};
  graph.nodes = {node(0, make_op(Tag::silu), {"x"}, {"h"}), node(1, make_op(Tag::add), {"h", "model.w"}, {"y"})};
  graph.outputs = {"y"};
  return graph;
}

Error broken(const std::function<void(Graph&)>& change) {
  Graph graph = chain();
  change(graph);
  return error_of([&] { validate(graph); });
}

TEST(GraphIrValidate, AcceptsASoundGraph) {
  const Validation result = validate(chain());
  EXPECT_TRUE(result.warnings.empty());
  EXPECT_EQ(result.types.at("y").shape, (Shape{-1, 4}));
  EXPECT_TRUE(validate(Graph{}).types.count("pos") == 1);
}

TEST(GraphIrValidate, EachStructureRuleHasItsCode) {
  struct Case {
    const char* code;
    const char* message;
    std::function<void(Graph&)> change;
  };
  const std::vector<Case> cases{
      {"DuplicateNodeId", "node 0 has the id 0 already", [](Graph& g) { g.nodes[1].id = 0; }},
      {"BadArity", "takes (a, b), found 1 inputs", [](Graph& g) { g.nodes[1].inputs.pop_back(); }},
      {"BadOutputCount", "gives 1 outputs (y), found 2 names", [](Graph& g) { g.nodes[1].outputs.push_back("z"); }},
      {"DuplicateProducer", "\"h\" is an output of node 0 already", [](Graph& g) { g.nodes[1].outputs = {"h"}; }},
      {"ShadowedName", "name of a graph input", [](Graph& g) { g.nodes[1].outputs = {"x"}; }},
      {"ShadowedName", "name of a weight", [](Graph& g) { g.nodes[1].outputs = {"model.w"}; }},
      {"ShadowedName", "is an input and a weight",
       [](Graph& g) {
         g.weights["x"] = {{4}, DType::f32, {}, {}};
       }},
      {"ReservedName", "give this output another name", [](Graph& g) { g.nodes[1].outputs = {"pos"}; }},
      {"DuplicateInput", "\"x\" is listed twice", [](Graph& g) { g.inputs.push_back(g.inputs[0]); }},
      {"DuplicateOutput", "\"y\" is listed twice", [](Graph& g) { g.outputs.push_back("y"); }},
      {"UndefinedInput", "reads \"q\"", [](Graph& g) { g.nodes[1].inputs[0] = "q"; }},
      {"NotTopological", "which node 1 gives only later", [](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); }},
      {"Cycle", "nodes 1, 0 each read", [](Graph& g) { g.nodes[0].inputs = {"y"}; }},
      {"Cycle", "nodes 0 each read", [](Graph& g) { g.nodes[0].inputs = {"h"}; }},
      {"OutputUndefined", "\"z\" is no output", [](Graph& g) { g.outputs = {"z"}; }},
      {"NoOutputs", "at least one output", [](Graph& g) { g.outputs.clear(); }},
      {"WeightMissing", "needs the weight \"model.v\"", [](Graph& g) { g.nodes[1].inputs[1] = "model.v"; }},
  };
  for (const Case& one : cases) {
    const Error error = broken(one.change);
    EXPECT_EQ(error.code(), one.code);
    EXPECT_THAT(error.what(), HasSubstr(one.message));
    EXPECT_EQ(error.kind(),
              std::string(one.code) == "WeightMissing" ? ErrorKind::missing_tensor : ErrorKind::invalid_graph);
  }
}

TEST(GraphIrValidate, ProblemsComeInTheOrderOfTheRules) {
  const Error error = broken([](Graph& g) {
    g.outputs = {"nowhere"};
    g.nodes[1].inputs = {"h", "undefined"};
    g.nodes[1].id = 0;
  });
  EXPECT_EQ(error.code(), "DuplicateNodeId");
  ASSERT_EQ(error.details().size(), 2u);
  EXPECT_THAT(error.details()[0], testing::StartsWith("UndefinedInput: [Add] node 1 (id 0): "));
  EXPECT_THAT(error.details()[1], testing::StartsWith("OutputUndefined: graph outputs: "));
}

TEST(GraphIrValidate, WithoutAnIndexThePrefixMakesAWeight) {
  Graph graph = chain();
  graph.weights.clear();
  EXPECT_NO_THROW(validate(graph));
  ValidateOptions strict;
  strict.weights_indexed = true;
  EXPECT_EQ(error_of([&] { validate(graph, strict); }).code(), "WeightMissing");
}

TEST(GraphIrValidate, MalformedOpsAreRefusedFirst) {
  EXPECT_EQ(broken([](Graph& g) { g.nodes[0].op.tag = static_cast<Tag>(14); }).code(), "BadParam");
  EXPECT_EQ(broken([](Graph& g) { g.nodes[0].op = {Tag::split, {}}; }).code(), "BadParam");
  EXPECT_EQ(broken([](Graph& g) { g.nodes[0].op = {Tag::gelu, {1u}}; }).code(), "BadParam");
  EXPECT_EQ(broken([](Graph& g) {
              g.nodes[0].op = {Tag::pool, {std::uint8_t{2}, Words{1, 1}, Words{1, 1}, Words{0, 0}}};
            }).code(),
            "BadParam");
  EXPECT_EQ(broken([](Graph& g) {
              g.nodes[0].op = {Tag::pool, {std::uint8_t{1}, Words{1}, Words{1, 1}, Words{0, 0}}};
            }).code(),
            "BadParam");
}

std::vector<std::string> warning_codes(const std::function<void(Graph&)>& change) {
  Graph graph = chain();
  change(graph);
  std::vector<std::string> codes;
  for (const Warning& warning : validate(graph).warnings) codes.push_back(warning.code);
  return codes;
}

TEST(GraphIrValidate, Warnings) {
  EXPECT_THAT(warning_codes([](Graph& g) { g.nodes.push_back(node(2, make_op(Tag::relu), {"y"}, {"z"})); }),
              ElementsAre("DeadNode"));
  EXPECT_TRUE(warning_codes([](Graph& g) {
                g.nodes.push_back(node(2, make_op(Tag::kv_cache), {"h", "h"}, {"k", "v"}));
              }).empty());
  EXPECT_THAT(warning_codes([](Graph& g) {
                g.inputs.push_back({"unread", {{1}, DType::f32, {}, {}}});
              }),
              ElementsAre("UnusedInput"));
  EXPECT_THAT(warning_codes([](Graph& g) {
                g.weights["model.v"] = {{1}, DType::f32, {}, {}};
              }),
              ElementsAre("UnusedWeight"));
  EXPECT_THAT(warning_codes([](Graph& g) {
                g.inputs[0].spec.offset = 0;
                g.inputs[0].spec.size = 16;
              }),
              ElementsAre("InputHasOffset"));
  EXPECT_THAT(warning_codes([](Graph& g) { g.nodes[1].id = 7; }), ElementsAre("NonSequentialId"));
  const auto rope = [](float base) {
    return [base](Graph& g) {
      g.nodes[0] = node(0, make_op(Tag::rope, {{"head_dim", 4u}, {"base", base}}), {"x", "pos"}, {"h"});
    };
  };
  EXPECT_THAT(warning_codes(rope(0.5f)), ElementsAre("RopeBaseRange"));
  EXPECT_THAT(warning_codes(rope(2e9f)), ElementsAre("RopeBaseRange"));
  EXPECT_TRUE(warning_codes(rope(1e4f)).empty());
}

struct ParamCase {
  Op op;
  const char* code;
  const char* message;
  Attrs attrs = {};
};

ParamValue u(std::uint32_t value) { return value; }

TEST(GraphIrValidate, EachParameterRuleIsEnforced) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto sdpa = [](std::uint32_t heads, std::uint32_t kv_heads, std::uint32_t dim) {
    return make_op(Tag::sdpa,
                   {{"num_heads", u(heads)}, {"kv_heads", u(kv_heads)}, {"head_dim", u(dim)}, {"causal", false}});
  };
  const auto rope = [](std::uint32_t head_dim, std::uint32_t rope_dim, float base) {
    return make_op(Tag::rope, {{"head_dim", u(head_dim)}, {"rope_dim", u(rope_dim)}, {"base", base}});
  };
  const auto sample = [](std::uint8_t method, float temperature, float p) {
    return make_op(Tag::sample, {{"method", method}, {"temperature", temperature}, {"p", p}, {"k", u(1)}});
  };
  const auto pool = [](Words kernel, Words padding) {
    return make_op(Tag::pool,
                   {{"mode", std::uint8_t{0}}, {"kernel", kernel}, {"stride", Words{0, 0}}, {"padding", padding}});
  };
  const auto conv1d = [](std::uint32_t kernel, std::uint32_t stride, std::uint32_t dilation, std::uint32_t groups) {
    return make_op(Tag::conv1d, {{"kernel", u(kernel)},
                                 {"stride", u(stride)},
                                 {"padding", u(0)},
                                 {"dilation", u(dilation)},
                                 {"groups", u(groups)}});
  };
  const Op flash = make_op(Tag::flash_attention, {{"num_heads", u(2)}, {"kv_heads", u(2)}, {"head_dim", u(4)}});
  const Op argmax = make_op(Tag::argmax);
  const std::vector<ParamCase> cases{
      {make_op(Tag::transpose, {{"perm", Words{0, 0}}}), "BadParam", "permutation of 0..1, found [0, 0]"},
      {make_op(Tag::permute, {{"dims", Words{0, 2}}}), "BadParam", "\"dims\" must be a permutation"},
      {make_op(Tag::reshape, {{"shape", Ints{-2}}}), "BadParam", "at least -1"},
      {make_op(Tag::reshape, {{"shape", Ints{-1, -1}}}), "BadParam", "one -1 at most"},
      {make_op(Tag::chunk, {{"axis", u(0)}, {"chunks", u(0)}}), "BadParam", "\"chunks\" must be at least 1, found 0"},
      {make_op(Tag::clamp, {{"max", std::optional<float>(nan)}}), "BadParam", "\"max\" must be a number"},
      {sdpa(0, 1, 1), "BadParam", "\"num_heads\""},
      {sdpa(1, 0, 1), "BadParam", "\"kv_heads\" must be at least 1"},
      {sdpa(1, 1, 0), "BadParam", "\"head_dim\""},
      {sdpa(3, 2, 8), "BadParam", "3 heads cannot share 2"},
      {make_op(Tag::sdpa_cross, {{"num_heads", u(0)}, {"head_dim", u(1)}}), "BadParam", "\"num_heads\""},
      {make_op(Tag::sdpa_window, {{"num_heads", u(1)}, {"head_dim", u(1)}, {"window_size", u(0)}}), "BadParam",
       "\"window_size\""},
      {make_op(Tag::flash_attention, {{"num_heads", u(3)}, {"kv_heads", u(2)}, {"head_dim", u(4)}}), "BadParam",
       "share"},
      {make_op(Tag::kv_compress, {{"head_dim", u(0)}, {"bits", u(1)}}), "BadParam", "\"head_dim\""},
      {make_op(Tag::kv_compress, {{"head_dim", u(1)}, {"bits", u(9)}}), "BadParam", "\"bits\" must be 1 to 8, found 9"},
      {make_op(Tag::kv_decompress, {{"head_dim", u(1)}, {"bits", u(0)}}), "BadParam", "\"bits\""},
      {rope(7, 4, 1e4f), "BadParam", "\"head_dim\" must be even"},
      {rope(0, 0, 1e4f), "BadParam", "\"head_dim\" must be even"},
      {rope(8, 3, 1e4f), "BadParam", "\"rope_dim\" must be even"},
      {rope(8, 10, 1e4f), "BadParam", "from 2 to head_dim = 8"},
      {rope(8, 8, 0), "BadParam", "\"base\" must be finite and above 0"},
      {rope(8, 8, inf), "BadParam", "\"base\""},
      {make_op(Tag::sinusoidal_embed, {{"dim", u(0)}}), "BadParam", "\"dim\""},
      {make_op(Tag::relative_pos_embedding, {{"num_buckets", u(1)}}), "BadParam", "at least 2"},
      {make_op(Tag::relative_pos_embedding, {{"num_buckets", u(7)}}), "BadParam", "even when bidirectional"},
      {make_op(Tag::rms_norm, {{"eps", nan}}), "BadParam", "\"eps\" must be finite and at least 0"},
      {make_op(Tag::layer_norm, {{"eps", -1e-9f}}), "BadParam", "\"eps\""},
      {make_op(Tag::batch_norm, {{"eps", 0.0f}, {"momentum", inf}}), "BadParam", "\"momentum\" must be finite"},
      {make_op(Tag::group_norm, {{"eps", 0.0f}, {"num_groups", u(0)}}), "BadParam", "\"num_groups\""},
      {make_op(Tag::instance_norm, {{"eps", inf}}), "BadParam", "\"eps\""},
      {make_op(Tag::leaky_relu, {{"slope", nan}}), "BadParam", "\"slope\""},
      {conv1d(0, 1, 1, 1), "BadParam", "\"kernel\""},
      {conv1d(1, 0, 1, 1), "BadParam", "\"stride\""},
      {conv1d(1, 1, 0, 1), "BadParam", "\"dilation\""},
      {conv1d(1, 1, 1, 0), "BadParam", "\"groups\""},
      {make_op(Tag::conv_transpose2d, {{"kernel", Words{1, 1}}, {"stride", Words{1, 0}}, {"padding", Words{0, 0}}}),
       "BadParam", "\"stride\""},
      {make_op(Tag::causal_conv1d, {{"kernel", u(0)}}), "BadParam", "\"kernel\""},
      {make_op(Tag::depthwise_conv, {{"kernel", u(1)}, {"stride", u(0)}}), "BadParam", "\"stride\""},
      {pool({2, 0}, {0, 0}), "BadParam", "\"kernel\""},
      {pool({2, 3}, {1, 2}), "BadParam", "at most half the kernel, found 2 for a kernel of 3"},
      {make_op(Tag::interpolate, {{"mode", std::uint8_t{0}}, {"scale", 0.0f}}), "BadParam", "\"scale\""},
      {make_op(Tag::pixel_shuffle, {{"upscale_factor", u(0)}}), "BadParam", "\"upscale_factor\""},
      {make_op(Tag::pixel_unshuffle, {{"downscale_factor", u(0)}}), "BadParam", "\"downscale_factor\""},
      {make_op(Tag::patch_embed, {{"patch_size", u(0)}}), "BadParam", "\"patch_size\""},
      {sample(1, nan, 0), "BadParam", "\"temperature\" must be finite"},
      {sample(3, 1, 1.5f), "BadParam", "\"p\" must be from 0 to 1"},
      {sample(4, 1, nan), "BadParam", "\"p\""},
      {make_op(Tag::lora_apply, {{"rank", u(0)}, {"alpha", 1.0f}}), "BadParam", "\"rank\""},
      {make_op(Tag::lora_apply, {{"rank", u(1)}, {"alpha", nan}}), "BadParam", "\"alpha\""},
      {flash, "BadAttr", "\"scale\" must be a float", {{"scale", std::int64_t{1}}}},
      {flash, "BadAttr", "\"scale\" must be finite", {{"scale", inf}}},
      {flash, "BadAttr", "\"window\" must be at least 0", {{"window", std::int64_t{-1}}}},
      {flash, "BadAttr", "\"softcap\"", {{"softcap", -1.0f}}},
      {flash, "BadAttr", "\"causal\" must be a boolean", {{"causal", std::int64_t{1}}}},
      {argmax, "BadAttr", "\"dim\" must be an integer", {{"dim", 0.0f}}},
      {rope(8, 8, 1e4f),
       "BadAttr",
       "one of prefix, proportional, found \"neox\"",
       {{"rope_layout", std::string("neox")}}},
      {make_op(Tag::unpatchify), "BadAttr", "a list of integers or one integer", {{"patch_size", std::string("4")}}},
      {make_op(Tag::unpatchify), "BadAttr", "must list 2 integers, found 3", {{"patch_size", Ints{1, 2, 3}}}},
      {make_op(Tag::unpatchify), "BadAttr", "\"patch_size\" must be at least 1", {{"patch_size", Ints{1, 0}}}},
      {make_op(Tag::unpatchify), "BadAttr", "\"patch_size\" must be at least 1", {{"patch_size", std::int64_t{0}}}},
      {make_op(Tag::noise_schedule), "BadAttr", "\"max_sigma\"", {{"max_sigma", nan}}},
  };
  for (const ParamCase& one : cases) {
    // Enough operands of any shape: parameters are checked before shapes.
    std::vector<Operand> operands;
    while (form_for(op_def(one.op.tag), operands.size()) == nullptr) operands.push_back({1});
    Graph graph = one_node(one.op, operands, one.attrs);
    graph.outputs = {"a"};  // a Chunk into no parts gives nothing to name
    const Error error = error_of([&] { validate(graph); });
    EXPECT_EQ(error.code(), one.code) << op_def(one.op.tag).name << ": " << error.what();
    EXPECT_THAT(error.what(), HasSubstr(one.message)) << op_def(one.op.tag).name;
    EXPECT_EQ(error.kind(), ErrorKind::invalid_graph);
  }
}

TEST(GraphIrValidate, UnusedSampleFieldsAndUnknownAttributesAreLeftAlone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NO_THROW(validate(one_node(
      make_op(Tag::sample, {{"method", std::uint8_t{0}}, {"temperature", nan}, {"p", 9.0f}, {"k", u(3)}}), {{4}})));
  EXPECT_NO_THROW(validate(one_node(make_op(Tag::silu), {{4}}, {{"scale", std::string("x")}, {"fuse", true}})));
}

TEST(GraphIrValidate, SortsNodesStably) {
  Graph graph;
  graph.inputs = {{"x", {{2}, DType::f32, {}, {}}}};
  graph.outputs = {"d"};
  graph.nodes = {node(0, make_op(Tag::add), {"b", "c"}, {"d"}), node(1, make_op(Tag::silu), {"x"}, {"c"}),
                 node(2, make_op(Tag::silu), {"a"}, {"b"}), node(3, make_op(Tag::relu), {"x"}, {"a"})};
  EXPECT_EQ(error_of([&] { validate(graph); }).code(), "NotTopological");
  sort_nodes(graph);
  std::vector<std::uint32_t> ids;
  for (const Node& each : graph.nodes) ids.push_back(each.id);
  EXPECT_THAT(ids, ElementsAre(1, 3, 2, 0));
  EXPECT_NO_THROW(validate(graph));
  graph.nodes[1].inputs = {"d"};
  EXPECT_EQ(error_of([&] { sort_nodes(graph); }).code(), "Cycle");
}

}  // namespace
}  // namespace weft::graph_ir
