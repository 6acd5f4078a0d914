#include "weft/formats/graph_ir/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/formats/graph_ir/test_graphs.h"
#include "weft/formats/graph_ir/validate.h"

namespace weft::graph_ir {
namespace {

using testing::HasSubstr;

TEST(GraphIrInfer, EveryOpGivesItsShapeAndDtype) {
  for (const GoodCase& good : good_cases()) {
    const Graph graph = good.graph();
    const std::string_view name = op_def(good.op.tag).name;
    TypeMap types;
    ASSERT_NO_THROW(types = validate(graph).types) << name;
    ASSERT_EQ(graph.outputs.size(), good.results.size()) << name;
    for (std::size_t i = 0; i < good.results.size(); ++i) {
      const ValueType& type = types.at(graph.outputs[i]);
      EXPECT_EQ(type.shape, good.results[i].shape) << name;
      EXPECT_EQ(type.dtype, good.results[i].dtype) << name;
    }
  }
}

struct BadCase {
  Op op;
  std::vector<Operand> operands;
  const char* code;
  const char* message;
  Attrs attrs = {};
};

ParamValue u(std::uint32_t value) { return value; }

Op conv2d(Words kernel, Words stride, Words padding, std::uint32_t groups = 1) {
  return make_op(
      Tag::conv2d,
      {{"kernel", kernel}, {"stride", stride}, {"padding", padding}, {"dilation", Words{1, 1}}, {"groups", groups}});
}

Op sdpa(std::uint32_t heads, std::uint32_t kv_heads, std::uint32_t dim, bool causal) {
  return make_op(Tag::sdpa,
                 {{"num_heads", u(heads)}, {"kv_heads", u(kv_heads)}, {"head_dim", u(dim)}, {"causal", causal}});
}

std::vector<BadCase> bad_cases() {
  const Op window = make_op(Tag::sdpa_window, {{"num_heads", u(2)}, {"head_dim", u(4)}, {"window_size", u(3)}});
  const Op lora = make_op(Tag::lora_apply, {{"rank", u(2)}, {"alpha", 4.0f}});
  const Op rope = make_op(Tag::rope, {{"head_dim", u(8)}, {"base", 1e4f}});
  const Op transpose2d =
      make_op(Tag::conv_transpose2d, {{"kernel", Words{3, 3}}, {"stride", Words{2, 2}}, {"padding", Words{1, 1}}});
  const Op patch = make_op(Tag::patch_embed, {{"patch_size", u(4)}});
  const Op eps_norm = make_op(Tag::layer_norm, {{"eps", 1e-5f}});
  return {
      {make_op(Tag::matmul), {{2, 8}, {4, 7}}, "ShapeMismatch", "the last axes of x and W must agree, found 8 and 7"},
      {make_op(Tag::matmul), {{}, {4, 7}}, "RankMismatch", "at least 1 dimensions"},
      {make_op(Tag::matmul), {{2, 8}, {8}}, "RankMismatch", "W \"b\" [8] must have at least 2"},
      {make_op(Tag::matmul), {{5, 2, 8}, {3, 4, 8}}, "ShapeMismatch", "leading axes"},
      {make_op(Tag::matmul), {{{2, 32}, DType::q8_0}, {4, 32}}, "UnsupportedDtype", "x \"a\" [2, 32] must be f32"},
      {make_op(Tag::matmul), {{{2, 8}, DType::i32}, {4, 8}}, "UnsupportedDtype", "found i32"},
      {make_op(Tag::add), {{2, 3}, {2}}, "ShapeMismatch", "do not broadcast"},
      {make_op(Tag::mul), {{{2}, DType::boolean}, {2}}, "UnsupportedDtype", "found bool"},
      {make_op(Tag::transpose, {{"perm", Words{0, 1}}}), {{2, 3, 4}}, "BadParam", "lists 2 axes"},
      {make_op(Tag::permute, {{"dims", Words{0}}}), {{2, 3}}, "BadParam", "parameter \"dims\""},
      {make_op(Tag::reshape, {{"shape", Ints{2, -1}}}), {{3, 3}}, "ShapeMismatch", "does not come out even"},
      {make_op(Tag::reshape, {{"shape", Ints{0, -1}}}), {{0, 3}}, "ShapeMismatch", "does not come out even"},
      {make_op(Tag::reshape, {{"shape", Ints{2, 4}}}), {{3, 3}}, "ShapeMismatch", "has 9 elements, but [2, 4] has 8"},
      {make_op(Tag::reshape, {{"shape", Ints{-1}}}), {{{2, 32}, DType::q4_0}}, "UnsupportedDtype", "neither a block"},
      {make_op(Tag::concat, {{"axis", u(2)}}), {{2, 3}}, "BadParam", "has 2 axes"},
      {make_op(Tag::concat, {{"axis", u(0)}}), {{2, 3}, {2, 4}}, "ShapeMismatch", "all axes but the joined one"},
      {make_op(Tag::concat, {{"axis", u(0)}}), {{2, 3}, {2}}, "ShapeMismatch", "same number of axes"},
      {make_op(Tag::concat, {{"axis", u(0)}}), {{2}, {{2}, DType::i32}}, "DtypeMismatch", "found f32 and i32"},
      {make_op(Tag::split, {{"axis", u(0)}, {"sizes", Words{1, 2}}}), {{4}}, "BadParam", "add up to 3, but axis 0"},
      {make_op(Tag::split, {{"axis", u(1)}, {"sizes", Words{1}}}), {{4}}, "BadParam", "axis"},
      {make_op(Tag::chunk, {{"axis", u(0)}, {"chunks", u(3)}}), {{4}}, "ShapeMismatch", "must be a multiple of 3"},
      {sdpa(4, 2, 8, false), {{5, 31}, {5, 16}, {5, 16}}, "ShapeMismatch", "holds no H = 4 heads of D = 8"},
      {sdpa(4, 2, 8, false), {{5, 32}, {5, 16}, {6, 16}}, "ShapeMismatch", "the tokens of K and V"},
      {sdpa(4, 2, 8, false), {{3, 4, 5, 8}, {2, 2, 5, 8}, {2, 2, 5, 8}}, "ShapeMismatch", "the batches of Q"},
      {sdpa(4, 2, 8, true), {{5, 32}, {4, 16}, {4, 16}}, "ShapeMismatch", "found 4 keys for 5 queries"},
      {sdpa(4, 2, 8, false), {{5, 32}, {5, 16}, {5, 16}, {5, 4}}, "ShapeMismatch", "must broadcast to [B, H, Sq, Sk]"},
      {make_op(Tag::sdpa_cross, {{"num_heads", u(2)}, {"head_dim", u(4)}}),
       {{8}, {4}, {4}},
       "ShapeMismatch",
       "holds no"},
      {window, {{7, 8}, {6, 8}, {6, 8}}, "ShapeMismatch", "the tokens of Q and K"},
      {window, {{7, 8}, {7, 8}, {7, 8}, {2, 2, 3, 3}}, "ShapeMismatch", "the windows of bias"},
      {window, {{7, 8}, {7, 8}, {7, 8}, {2, 3, 2}}, "ShapeMismatch", "window_size"},
      {make_op(Tag::flash_attention, {{"num_heads", u(2)}, {"kv_heads", u(2)}, {"head_dim", u(4)}}),
       {{3, 8}, {2, 8}, {2, 8}},
       "ShapeMismatch",
       "causal attention",
       {{"causal", true}}},
      {make_op(Tag::kv_cache), {{2, 3, 4, 8}, {2, 3, 4, 8}}, "KvBatch", "found a batch of 2"},
      {make_op(Tag::kv_cache), {{3, 8}, {4, 8}}, "ShapeMismatch", "the rows that K_new and V_new add"},
      {make_op(Tag::kv_cache), {{}, {4, 8}}, "RankMismatch", "dimensions"},
      {make_op(Tag::kv_compress, {{"head_dim", u(8)}, {"bits", u(3)}}),
       {{5, 12}},
       "ShapeMismatch",
       "multiple of head_dim"},
      {make_op(Tag::kv_decompress, {{"head_dim", u(8)}, {"bits", u(3)}}),
       {{{5, 8}, DType::u8}},
       "ShapeMismatch",
       "7 bytes"},
      {make_op(Tag::kv_decompress, {{"head_dim", u(8)}, {"bits", u(3)}}), {{5, 7}}, "UnsupportedDtype", "must be u8"},
      {rope, {{3, 12}, {1}}, "ShapeMismatch", "head_dim = 8"},
      {rope, {{6, 2, 8}, {4}}, "ShapeMismatch", "gives 4 positions, which do not divide the 6 rows"},
      {rope, {{2, 6, 8}, {4}}, "ShapeMismatch", "do not divide the 6 rows", {{"head_major", true}}},
      {make_op(Tag::sinusoidal_embed, {{"dim", u(8)}}), {{{2}, DType::boolean}}, "UnsupportedDtype", "found bool"},
      {make_op(Tag::relative_pos_embedding, {{"num_buckets", u(32)}}), {{31, 2}, {2, 3, 3}}, "BadParam", "num_buckets"},
      {make_op(Tag::relative_pos_embedding, {{"num_buckets", u(32)}}), {{32, 2}, {4, 3, 3}}, "ShapeMismatch", "heads"},
      {make_op(Tag::rms_norm, {{"eps", 1e-5f}}),
       {{2, 8}, {7}},
       "ShapeMismatch",
       "the length of g and the last axis of x"},
      {eps_norm, {{2, 8}, {8}, {1, 8}}, "RankMismatch", "b \"c\" [1, 8] must have 1 dimensions"},
      {make_op(Tag::batch_norm, {{"eps", 0.0f}, {"momentum", 0.1f}}), {{2, 3}, {3}, {2}}, "ShapeMismatch", "channels"},
      {make_op(Tag::group_norm, {{"eps", 0.0f}, {"num_groups", u(3)}}), {{2, 4, 5}}, "ShapeMismatch", "3 equal groups"},
      {make_op(Tag::instance_norm, {{"eps", 0.0f}}), {{4}}, "RankMismatch", "at least 2"},
      {make_op(Tag::ada_ln), {{2, 7, 8}, {3, 8}, {8}}, "ShapeMismatch", "scale and x"},
      {make_op(Tag::ge_glu), {{2, 5}}, "ShapeMismatch", "must be even"},
      {make_op(Tag::swi_glu), {{2, 6}, {2, 5}}, "ShapeMismatch", "the two operands"},
      {make_op(Tag::swi_glu), {{2, 8}, {4, 8}, {5, 8}, {3, 4}}, "ShapeMismatch", "the rows of Wg and Wu"},
      {make_op(Tag::glu), {{2, 6}}, "BadAttr", "\"dim\" is 2", {{"dim", std::int64_t{2}}}},
      {make_op(Tag::p_relu), {{2, 3}, {2}}, "ShapeMismatch", "channels"},
      {make_op(Tag::softmax, {{"dim", std::int32_t{2}}}), {{2, 3}}, "BadParam", "has 2 axes"},
      {make_op(Tag::conv1d,
               {{"kernel", u(3)}, {"stride", u(1)}, {"padding", u(0)}, {"dilation", u(1)}, {"groups", u(1)}}),
       {{2, 4, 9}, {6, 4, 5}},
       "BadParam",
       "W \"b\" [6, 4, 5] has a side of 5"},
      {conv2d({3, 3}, {1, 1}, {0, 0}), {{1, 3, 2, 8}, {5, 3, 3, 3}}, "ShapeMismatch", "does not fit"},
      {conv2d({3, 3}, {1, 1}, {0, 0}, 2), {{1, 3, 8, 8}, {4, 3, 3, 3}}, "ShapeMismatch", "do not divide into 2 groups"},
      {conv2d({3, 3}, {1, 1}, {0, 0}), {{1, 3, 8, 8}, {4, 2, 3, 3}}, "ShapeMismatch", "channels"},
      {conv2d({3, 3}, {1, 1}, {0, 0}), {{1, 3, 8, 8}, {4, 3, 3, 3}, {3}}, "ShapeMismatch", "output channels"},
      {conv2d({3, 3}, {1, 1}, {0, 0}), {{8, 8}, {4, 3, 3, 3}}, "RankMismatch", "3 to 4 dimensions"},
      {transpose2d, {{1, 4, 5, 5}, {3, 3, 3, 3}}, "ShapeMismatch", "the first axis of W"},
      {transpose2d, {{1, 4, 1, 1}, {4, 3, 3, 3}}, "BadAttr", "output_padding", {{"output_padding", Ints{2, 0}}}},
      {make_op(Tag::conv_transpose2d, {{"kernel", Words{1, 1}}, {"stride", Words{1, 1}}, {"padding", Words{1, 1}}}),
       {{1, 4, 1, 1}, {4, 3, 1, 1}},
       "ShapeMismatch",
       "a side of -1"},
      {make_op(Tag::causal_conv1d, {{"kernel", u(3)}}), {{2, 6, 9}, {6, 4, 3}}, "ShapeMismatch", "no multiple"},
      {make_op(Tag::depthwise_conv, {{"kernel", u(3)}, {"stride", u(1)}}),
       {{4, 9}, {8, 2, 3}},
       "ShapeMismatch",
       "second axis"},
      {make_op(Tag::depthwise_conv, {{"kernel", u(3)}, {"stride", u(1)}}),
       {{4, 9}, {6, 1, 3}},
       "ShapeMismatch",
       "groups"},
      {make_op(Tag::pool,
               {{"mode", std::uint8_t{0}}, {"kernel", Words{3, 3}}, {"stride", Words{1, 1}}, {"padding", Words{0, 0}}}),
       {{1, 2, 2, 9}},
       "ShapeMismatch",
       "does not fit"},
      {make_op(Tag::interpolate, {{"mode", std::uint8_t{0}}, {"scale", 0.01f}}),
       {{1, 2, 9}},
       "ShapeMismatch",
       "leaves no pixel"},
      {make_op(Tag::interpolate, {{"mode", std::uint8_t{0}}, {"scale", 3e38f}}), {{1, 2, 9}}, "SizeOverflow", "2^62"},
      {make_op(Tag::pixel_shuffle, {{"upscale_factor", u(2)}}),
       {{1, 6, 3, 4}},
       "ShapeMismatch",
       "must be a multiple of 4"},
      {make_op(Tag::pixel_unshuffle, {{"downscale_factor", u(2)}}), {{1, 3, 4}}, "ShapeMismatch", "the height"},
      {patch, {{2, 3, 8, 10}, {16, 3, 4, 4}}, "ShapeMismatch", "the width"},
      {patch, {{2, 3, 8, 12}, {16, 3, 2, 2}}, "BadParam", "patch_size"},
      {patch, {{2, 3, 8, 12}, {16, 47}}, "ShapeMismatch", "elements of a patch"},
      {make_op(Tag::unpatchify), {{2, 6, 12}}, "BadParam", "set the attribute"},
      {make_op(Tag::unpatchify), {{2, 6, 12}}, "ShapeMismatch", "form no square", {{"patch_size", std::int64_t{2}}}},
      {make_op(Tag::unpatchify), {{2, 6, 12}, {1, 3, 5, 6}}, "ShapeMismatch", "cannot tile"},
      {make_op(Tag::token_embed), {{{2}, DType::fx16_16}, {100, 8}}, "UnsupportedDtype", "found u32"},
      {make_op(Tag::pos_embed), {{3}, {8}}, "RankMismatch", "2 dimensions"},
      {make_op(Tag::noise_schedule), {{3}, {10, 2}}, "RankMismatch", "1 dimensions"},
      {make_op(Tag::flow_step), {{2, 3}, {4, 2, 3}, {}}, "ShapeMismatch", "must broadcast to x [2, 3]"},
      {make_op(Tag::quantize, {{"dtype", DType::q8_0}}), {{2, 33}}, "BlockMisaligned", "must be a multiple of 32"},
      {make_op(Tag::quantize, {{"dtype", DType::q8_0}}), {{{2, 32}, DType::q8_0}}, "UnsupportedDtype", "Dequantize"},
      {make_op(Tag::sample, {{"method", std::uint8_t{1}}}), {{2, 9}, {3}}, "ShapeMismatch", "the rows of logits"},
      {lora, {{3, 8}, {3, 8}, {8, 3}}, "BadParam", "rank"},
      {lora, {{3, 8}, {2, 8}, {7, 2}}, "ShapeMismatch", "x and the product"},
      {lora, {{4, 5}, {3, 8}, {2, 8}, {5, 2}}, "ShapeMismatch", "y and the product"},
      {make_op(Tag::kron), {{std::int64_t{1} << 40}, {std::int64_t{1} << 40}}, "SizeOverflow", "2^63"},
      {make_op(Tag::matrix_inverse), {{2, 3}}, "ShapeMismatch", "the last two axes of A"},
      {make_op(Tag::fused_norm_matmul, {{"eps", 0.0f}}), {{2, 8}, {7}, {3, 8}}, "ShapeMismatch", "the length of g"},
      {make_op(Tag::fused_skip_norm, {{"eps", 0.0f}}), {{2, 8}, {1, 8}, {8}}, "ShapeMismatch", "x and skip"},
      {make_op(Tag::fused_swi_glu), {{2, 8}, {3, 8}, {3, 7}}, "ShapeMismatch", "the columns of Wu"},
      {make_op(Tag::argmax), {{2, 3}}, "BadAttr", "\"dim\" is -3", {{"dim", std::int64_t{-3}}}},
      {make_op(Tag::token_embed), {{1, 1, 1, 1, 1, 1, 1, 1}, {5, 6}}, "RankTooLarge", "9 dimensions"},
      {make_op(Tag::clamp), {{{3}, DType::u8}}, "UnsupportedDtype", "found u8"},
  };
}

TEST(GraphIrInfer, ContradictionsAreNamed) {
  for (const BadCase& bad : bad_cases()) {
    const Error error = error_of([&] { validate(one_node(bad.op, bad.operands, bad.attrs)); });
    const std::string_view name = op_def(bad.op.tag).name;
    EXPECT_EQ(error.code(), bad.code) << name << ": " << error.what();
    EXPECT_THAT(error.what(), HasSubstr(bad.message)) << name;
    EXPECT_THAT(error.where(), HasSubstr(std::string("[").append(name).append("] node 0 (id 0)")));
  }
}

TEST(GraphIrInfer, WeightsOutsideMatmulsCountAsExpanded) {
  Graph graph = one_node(make_op(Tag::rms_norm, {{"eps", 1e-6f}}), {{2, 64}});
  graph.nodes[0].inputs.push_back("g");
  graph.weights["g"] = {{64}, DType::q8_0, 0, 68};
  EXPECT_EQ(validate(graph).types.at("y0").dtype, DType::f32);
  graph.weights["g"].dtype = DType::i32;
  EXPECT_EQ(error_of([&] { validate(graph); }).code(), "UnsupportedDtype");
  graph.weights["g"] = {{-1}, DType::f32, {}, {}};
  EXPECT_EQ(error_of([&] { validate(graph); }).code(), "BadShape");
}

TEST(GraphIrInfer, UnknownWeightsLeaveTypesOpen) {
  Graph graph = one_node(make_op(Tag::matmul), {{-1, 8}});
  graph.nodes[0].inputs.push_back("model.w");
  EXPECT_EQ(validate(graph).types.at("y0").shape, std::nullopt);
  // Every op survives operands of which nothing is known.
  for (const GoodCase& good : good_cases()) {
    Graph open = good.graph();
    open.inputs.clear();
    for (Node& node : open.nodes)
      for (std::string& name : node.inputs)
        if (name != "pos") name.insert(0, "model.");
    const Error error = error_of([&] { validate(open); });
    EXPECT_THAT(error.code(), testing::AnyOf("none", "BadParam")) << error.what();
  }
}

TEST(GraphIrInfer, CacheRowsTakeTheirWidthFromTheReader) {
  Graph graph;
  graph.inputs = {{"k", {{2, 8}, DType::f32, {}, {}}}, {"q", {{4, 8}, DType::f32, {}, {}}}};
  graph.nodes.push_back({0, make_op(Tag::kv_cache), {"k", "k"}, {"kf", "vf"}, {}, {}});
  graph.nodes.push_back({1, sdpa(4, 2, 8, true), {"q", "kf", "vf"}, {"y"}, {}, {}});
  graph.outputs = {"y"};
  EXPECT_EQ(validate(graph).types.at("kf").shape, (Shape{-1, 16}));  // one token of two heads, not two rows
  graph.inputs[0].spec.shape = {3, 8};
  EXPECT_EQ(error_of([&] { validate(graph); }).code(), "KvRowWidthChanged");
  graph.inputs[0].spec.shape = {2, 5, 8};  // head-major
  EXPECT_EQ(validate(graph).types.at("kf").shape, (Shape{-1, 16}));
  graph.inputs[0].spec.shape = {2, 5, 16};
  EXPECT_EQ(error_of([&] { validate(graph); }).code(), "KvBatch");
}

TEST(GraphIrInfer, UnpatchifyReadsTheOnlyPatchEmbed) {
  Graph graph;
  graph.inputs = {{"x", {{1, 3, 8, 8}, DType::f32, {}, {}}}, {"w", {{48, 3, 4, 4}, DType::f32, {}, {}}}};
  const Op embed = make_op(Tag::patch_embed, {{"patch_size", 4u}});
  graph.nodes.push_back({0, embed, {"x", "w"}, {"p"}, {}, {}});
  graph.nodes.push_back({1, make_op(Tag::unpatchify), {"p"}, {"y"}, {}, {}});
  graph.outputs = {"y"};
  EXPECT_EQ(validate(graph).types.at("y").shape, (Shape{1, 3, 8, 8}));
  graph.nodes.push_back({2, embed, {"y", "w"}, {"p2"}, {}, {}});
  EXPECT_EQ(error_of([&] { validate(graph); }).code(), "BadParam");
}

TEST(GraphIrInfer, ProblemsOfAStageAreCollected) {
  Graph graph;
  graph.inputs = {{"x", {{2, 3}, DType::f32, {}, {}}}, {"y", {{4}, DType::f32, {}, {}}}};
  for (std::uint32_t i = 0; i < 40; ++i)
    graph.nodes.push_back({i, make_op(Tag::add), {"x", "y"}, {std::string("o").append(std::to_string(i))}, {}, {}});
  graph.nodes.push_back({40, make_op(Tag::silu), {"o0"}, {"last"}, {}, {}});
  graph.outputs = {"last"};
  const Error error = error_of([&] { validate(graph); });
  EXPECT_EQ(error.kind(), ErrorKind::shape_mismatch);
  ASSERT_EQ(error.details().size(), 31u);
  EXPECT_THAT(error.details()[0], HasSubstr("ShapeMismatch: [Add] node 1 (id 1): "));
}

}  // namespace
}  // namespace weft::graph_ir
