#include "weft/formats/graph_ir/test_graphs.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace weft::graph_ir {
namespace {

Op op(Tag tag, std::initializer_list<std::pair<std::string_view, ParamValue>> params = {}) {
  return make_op(tag, params);
}

ParamValue u(std::uint32_t value) { return value; }
ParamValue f(float value) { return value; }
ParamValue w(Words values) { return values; }

std::vector<GoodCase> arithmetic_cases() {
  const float inf = std::numeric_limits<float>::infinity();
  return {
      {op(Tag::matmul), {{2, 3, 8}, {4, 8}}, {{2, 3, 4}}},
      {op(Tag::matmul), {{8}, {{4, 32, 8}, DType::bf16}}, {{4, 32}}},
      {op(Tag::matmul), {{5, 1, 2, 8}, {3, 4, 8}}, {{5, 3, 2, 4}}},
      {op(Tag::matmul), {{-1, 64}, {{10, 64}, DType::q8_0}}, {{-1, 10}}},
      {op(Tag::add), {{2, 1, 4}, {3, 1}}, {{2, 3, 4}}},
      {op(Tag::add), {{-1, 4}, {1, 4}}, {{-1, 4}}},
      {op(Tag::mul), {{-1, 4}, {7, 1}}, {{7, 4}}},
      {op(Tag::sub), {{}, {2}}, {{2}}},
      {op(Tag::div), {{0, 4}, {1, 4}}, {{0, 4}}},
      {op(Tag::clamp, {{"min", std::optional<float>(-1.5f)}}), {{3}}, {{3}}},
      {op(Tag::clamp, {{"min", std::optional<float>(-inf)}, {"max", std::optional<float>(0.1f)}}), {{3}}, {{3}}},
      {op(Tag::clamp), {{3}}, {{3}}},
      {op(Tag::nan_to_num, {{"nan", f(0)}, {"posinf", f(inf)}, {"neginf", f(-3.4028235e38f)}}), {{2}}, {{2}}},
      {op(Tag::kron), {{2, 3}, {5, 1, 4}}, {{5, 2, 12}}},
      {op(Tag::matrix_inverse), {{6, 3, 3}}, {{6, 3, 3}}},
      {op(Tag::argmax), {{2, 5}}, {{2}}},
      {op(Tag::argmax), {{2, 5}}, {{5}}, {{"dim", std::int64_t{0}}}},
      {op(Tag::silu), {{2, 5}}, {{2, 5}}},
      {op(Tag::gelu, {{"approximate", true}}), {{2}}, {{2}}},
      {op(Tag::ge_glu), {{2, 6}}, {{2, 3}}, {{"approximate", true}}},
      {op(Tag::swi_glu), {{2, 6}, {2, 6}}, {{2, 6}}},
      {op(Tag::swi_glu), {{2, 32}, {{8, 32}, DType::q4_0}, {8, 32}, {5, 8}}, {{2, 5}}},
      {op(Tag::glu), {{4, 6}}, {{2, 6}}, {{"dim", std::int64_t{0}}}},
      {op(Tag::glu), {{4, 6}, {4, 6}}, {{4, 6}}},
      {op(Tag::relu), {{1}}, {{1}}},
      {op(Tag::leaky_relu, {{"slope", f(0.01f)}}), {{1}}, {{1}}},
      {op(Tag::p_relu), {{2, 3, 4}, {3}}, {{2, 3, 4}}},
      {op(Tag::p_relu), {{7}, {1}}, {{7}}},
      {op(Tag::sigmoid), {{{4}, DType::f16}}, {{4}}},
      {op(Tag::tanh), {{4}}, {{4}}},
      {op(Tag::softmax, {{"dim", std::int32_t{-1}}}), {{4, 5}}, {{4, 5}}},
      {op(Tag::noise_schedule), {{}}, {{}}, {{"kind", std::string("linear")}, {"max_sigma", 2.5f}}},
      {op(Tag::noise_schedule), {{3}, {1000}}, {{3}}},
      {op(Tag::flow_step), {{2, 3}, {2, 3}, {}}, {{2, 3}}},
      {op(Tag::flow_step), {{2, 3}, {3}, {3}, {1}}, {{2, 3}}, {{"inverse", true}}},
      {op(Tag::quantize, {{"dtype", DType::q8_0}}), {{2, 64}}, {{{2, 64}, DType::q8_0}}},
      {op(Tag::dequantize), {{{2, 64}, DType::fx16_16}}, {{2, 64}}},
      {op(Tag::sample, {{"method", std::uint8_t{0}}}), {{2, 9}}, {{2}}},
      {op(Tag::sample, {{"method", std::uint8_t{3}}, {"temperature", f(0.7f)}, {"p", f(0.9f)}, {"k", u(7)}}),
       {{9}, {1}},
       {{}},
       {{"seed", std::int64_t{-5}}}},
  };
}

std::vector<GoodCase> norm_cases() {
  return {
      {op(Tag::rms_norm, {{"eps", f(1e-6f)}}), {{2, 8}, {8}}, {{2, 8}}},
      {op(Tag::rms_norm, {{"eps", f(1e-6f)}}), {{2, -1}, {8}}, {{2, 8}}},
      {op(Tag::layer_norm, {{"eps", f(1e-5f)}}), {{2, 8}, {8}, {8}}, {{2, 8}}},
      {op(Tag::batch_norm, {{"eps", f(1e-5f)}, {"momentum", f(0.1f)}}), {{2, 3, 4}, {3}, {3}, {3}, {3}}, {{2, 3, 4}}},
      {op(Tag::batch_norm, {{"eps", f(1e-5f)}, {"momentum", f(0.1f)}}), {{5}, {5}, {5}}, {{5}}},
      {op(Tag::group_norm, {{"eps", f(1e-5f)}, {"num_groups", u(2)}}), {{2, 4, 3, 3}, {4}, {4}}, {{2, 4, 3, 3}}},
      {op(Tag::instance_norm, {{"eps", f(0)}}), {{2, 4, 3}}, {{2, 4, 3}}},
      {op(Tag::ada_ln), {{2, 7, 8}, {2, 8}, {8}}, {{2, 7, 8}}, {{"eps", 1e-5f}}},
      {op(Tag::ada_ln), {{2, 7, 8}, {2, 7, 8}, {2, 7, 8}}, {{2, 7, 8}}},
      {op(Tag::fused_norm_matmul, {{"eps", f(1e-6f)}}), {{2, 8}, {8}, {3, 8}}, {{2, 3}}},
      {op(Tag::fused_skip_norm, {{"eps", f(1e-6f)}}), {{2, 8}, {-1, 8}, {8}}, {{2, 8}, {2, 8}}},
      {op(Tag::fused_swi_glu), {{2, 8}, {3, 8}, {3, 8}}, {{2, 3}}},
      {op(Tag::fused_swi_glu), {{2, 8}, {2, 8}}, {{2, 8}}},
      {op(Tag::lora_apply, {{"rank", u(2)}, {"alpha", f(4)}}), {{3, 8}, {2, 8}, {8, 2}}, {{3, 8}}},
      {op(Tag::lora_apply, {{"rank", u(2)}, {"alpha", f(4)}}), {{3, 5}, {3, 8}, {2, 8}, {5, 2}}, {{3, 5}}},
  };
}

std::vector<GoodCase> layout_cases() {
  return {
      {op(Tag::transpose, {{"perm", w({})}}), {{{2, 3, 4}, DType::i32}}, {{{4, 3, 2}, DType::i32}}},
      {op(Tag::permute, {{"dims", w({1, 0, 2})}}), {{2, -1, 4}}, {{-1, 2, 4}}},
      {op(Tag::reshape, {{"shape", Ints{2, -1}}}), {{4, 3}}, {{2, 6}}},
      {op(Tag::reshape, {{"shape", Ints{-1, 3}}}), {{-1, 6}}, {{-1, 3}}},
      {op(Tag::reshape, {{"shape", Ints{0, 5}}}), {{3, 0}}, {{0, 5}}},
      {op(Tag::concat, {{"axis", u(1)}}), {{2, 3}, {2, -1}, {-1, 4}}, {{2, -1}}},
      {op(Tag::concat, {{"axis", u(0)}}), {{{2}, DType::u8}}, {{{2}, DType::u8}}},
      {op(Tag::split, {{"axis", u(1)}, {"sizes", w({1, 2})}}), {{2, 3}}, {{2, 1}, {2, 2}}},
      {op(Tag::chunk, {{"axis", u(0)}, {"chunks", u(2)}}), {{6, 3}}, {{3, 3}, {3, 3}}},
      {op(Tag::interpolate, {{"mode", std::uint8_t{1}}, {"scale", f(0.7f)}}),
       {{1, 2, 10, 20}},
       {{1, 2, 7, 14}},
       {{"align_corners", true}}},
      {op(Tag::interpolate, {{"mode", std::uint8_t{2}}, {"scale", f(2)}}), {{1, 2, 10}}, {{1, 2, 20}}},
      {op(Tag::pixel_shuffle, {{"upscale_factor", u(2)}}), {{1, 8, 3, 4}}, {{1, 2, 6, 8}}},
      {op(Tag::pixel_unshuffle, {{"downscale_factor", u(2)}}), {{2, 6, 8}}, {{8, 3, 4}}},
      {op(Tag::patch_embed, {{"patch_size", u(4)}}), {{2, 3, 8, 12}, {16, 3, 4, 4}, {16}}, {{2, 6, 16}}},
      {op(Tag::patch_embed, {{"patch_size", u(4)}}), {{2, 2, 8, 12}, {{16, 32}, DType::q8_0}}, {{2, 6, 16}}},
      {op(Tag::patch_embed, {{"patch_size", u(4)}}), {{2, 3, 6, 8, 12}, {16, 3, 2, 4, 4}}, {{2, 18, 16}}},
      {op(Tag::unpatchify),
       {{2, 6, 12}},
       {{2, 3, 4, 6}},
       {{"patch_size", std::int64_t{2}}, {"grid_h", std::int64_t{2}}, {"grid_w", std::int64_t{3}}}},
      {op(Tag::unpatchify), {{2, 4, 18}}, {{2, 3, 4, 6}}, {{"patch_size", Ints{2, 3}}, {"order", std::string("ppc")}}},
      {op(Tag::unpatchify), {{2, 6, 12}, {1, 3, 4, 6}}, {{2, 3, 4, 6}}},
  };
}

std::vector<GoodCase> attention_cases() {
  const auto sdpa = [](std::uint32_t heads, std::uint32_t kv_heads, std::uint32_t dim, bool causal) {
    return op(Tag::sdpa,
              {{"num_heads", u(heads)}, {"kv_heads", u(kv_heads)}, {"head_dim", u(dim)}, {"causal", causal}});
  };
  return {
      {sdpa(4, 2, 8, true), {{1, 4, 5, 8}, {1, 2, 6, 8}, {1, 2, 6, 8}, {5, 6}}, {{1, 4, 5, 8}}},
      {sdpa(4, 2, 8, false), {{4, 8}, {-1, 16}, {-1, 16}}, {{4, 8}}},
      {sdpa(2, 2, 4, false),
       {{3, 8}, {7, 8}, {7, 8}, {{3, 7}, DType::boolean}},
       {{3, 8}},
       {{"window", std::int64_t{2}}, {"softcap", 30.0f}, {"scale", 0.5f}}},
      {op(Tag::sdpa_cross, {{"num_heads", u(2)}, {"head_dim", u(4)}}), {{2, 3, 8}, {2, 9, 8}, {2, 9, 8}}, {{2, 3, 8}}},
      {op(Tag::sdpa_window, {{"num_heads", u(2)}, {"head_dim", u(4)}, {"window_size", u(3)}}),
       {{7, 8}, {7, 8}, {7, 8}, {3, 2, 3, 3}},
       {{7, 8}},
       {{"shift", std::int64_t{1}}}},
      {op(Tag::flash_attention, {{"num_heads", u(2)}, {"kv_heads", u(1)}, {"head_dim", u(4)}}),
       {{8}, {1, 4}, {1, 4}},
       {{8}},
       {{"causal", true}}},
      {op(Tag::kv_cache), {{5, 16}, {{5, 8}, DType::u8}}, {{-1, 16}, {{-1, 8}, DType::u8}}},
      {op(Tag::kv_cache), {{1, 5, 2, 8}, {5, 2, 4}}, {{-1, 16}, {-1, 8}}},
      {op(Tag::kv_compress, {{"head_dim", u(8)}, {"bits", u(3)}}), {{5, 16}}, {{{5, 14}, DType::u8}}},
      {op(Tag::kv_decompress, {{"head_dim", u(8)}, {"bits", u(3)}}), {{{5, 14}, DType::u8}}, {{5, 16}}},
      {op(Tag::rope, {{"head_dim", u(8)}, {"rope_dim", u(4)}, {"base", f(1e4f)}}),
       {{6, 2, 8}, {3}},
       {{6, 2, 8}},
       {{"rope_layout", std::string("proportional")}}},
      {op(Tag::rope, {{"head_dim", u(8)}, {"base", f(1e6f)}}),
       {{-1, 16}, {-1}},
       {{-1, 16}},
       {{"rope_interleaved", true}}},
      {op(Tag::sinusoidal_embed, {{"dim", u(5)}}), {{}}, {{1, 5}}, {{"layout", std::string("cos_sin")}}},
      {op(Tag::sinusoidal_embed, {{"dim", u(6)}}), {{3}}, {{3, 6}}},
      {op(Tag::relative_pos_embedding, {{"num_buckets", u(32)}}), {{32, 2}, {1, -1, 3, 4}}, {{1, 2, 3, 4}}},
      {op(Tag::relative_pos_embedding, {{"num_buckets", u(7)}}),
       {{7, 2}, {3}, {4}},
       {{1, 2, 3, 4}},
       {{"bidirectional", false}, {"max_distance", std::int64_t{64}}}},
      {op(Tag::token_embed), {{{2, -1}, DType::i64}, {{100, 32}, DType::q4_0}}, {{2, -1, 32}}},
      {op(Tag::pos_embed), {{3}, {100, 8}}, {{3, 8}}},
  };
}

std::vector<GoodCase> conv_cases() {
  return {
      {op(Tag::conv1d, {{"kernel", u(3)}, {"stride", u(2)}, {"padding", u(1)}, {"dilation", u(2)}, {"groups", u(2)}}),
       {{2, 4, 9}, {6, 2, 3}, {6}},
       {{2, 6, 4}}},
      {op(Tag::conv2d, {{"kernel", w({3, 2})},
                        {"stride", w({1, 2})},
                        {"padding", w({1, 0})},
                        {"dilation", w({1, 1})},
                        {"groups", u(1)}}),
       {{3, 8, 8}, {5, 3, 3, 2}},
       {{5, 8, 4}}},
      {op(Tag::conv3d, {{"kernel", w({1, 1, 1})},
                        {"stride", w({1, 1, 1})},
                        {"padding", w({0, 0, 0})},
                        {"dilation", w({1, 1, 1})},
                        {"groups", u(1)}}),
       {{1, 2, 3, 4, -1}, {7, 2, 1, 1, 1}},
       {{1, 7, 3, 4, -1}}},
      {op(Tag::conv_transpose2d, {{"kernel", w({3, 3})}, {"stride", w({2, 2})}, {"padding", w({1, 1})}}),
       {{1, 4, 5, 5}, {4, 3, 3, 3}, {6}},
       {{1, 6, 10, 10}},
       {{"output_padding", Ints{1, 1}}, {"groups", std::int64_t{2}}}},
      {op(Tag::causal_conv1d, {{"kernel", u(4)}}),
       {{2, 6, 9}, {6, 1, 4}},
       {{2, 6, 9}},
       {{"pad_mode", std::string("zeros")}}},
      {op(Tag::depthwise_conv, {{"kernel", u(3)}, {"stride", u(1)}}),
       {{2, 4, 9}, {8, 1, 3}},
       {{2, 8, 9}},
       {{"padding", std::int64_t{1}}}},
      {op(Tag::depthwise_conv, {{"kernel", u(3)}, {"stride", u(2)}}), {{4, 9, 9}, {4, 1, 3, 3}, {4}}, {{4, 4, 4}}},
      {op(Tag::pool, {{"mode", std::uint8_t{1}}, {"kernel", w({2, 3})}, {"stride", w({0, 1})}, {"padding", w({1, 1})}}),
       {{1, 2, 8, 9}},
       {{1, 2, 5, 9}}},
  };
}

}  // namespace

std::vector<GoodCase> good_cases() {
  std::vector<GoodCase> all;
  for (const auto& cases : {arithmetic_cases(), norm_cases(), layout_cases(), attention_cases(), conv_cases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

namespace {

TEST(GraphIrCases, CoverEveryOp) {
  std::set<Tag> seen;
  for (const GoodCase& good : good_cases()) seen.insert(good.op.tag);
  for (const OpDef& def : all_ops()) EXPECT_EQ(seen.count(def.tag), 1u) << def.name;
}

}  // namespace
}  // namespace weft::graph_ir
