#include "weft/models/tensor_names.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "weft/base/error.h"

namespace weft {
namespace {

TEST(TensorNames, AreHuggingFaces) {
  EXPECT_EQ(canonical_name("token_embd.weight", "qwen3")->name, "model.embed_tokens.weight");
  EXPECT_EQ(canonical_name("output.weight", "qwen3")->name, "lm_head.weight");
  EXPECT_EQ(canonical_name("blk.27.attn_q.bias", "qwen2")->name, "model.layers.27.self_attn.q_proj.bias");
  EXPECT_EQ(canonical_name("blk.3.ffn_norm.weight", "llama")->name, "model.layers.3.post_attention_layernorm.weight");
}

TEST(TensorNames, UnknownOnesAreNotGuessed) {
  for (const char* name :
       {"blk.0.mystery.weight", "blk..attn_q.weight", "blk.x.attn_q.weight", "blk.1", "", "blk.1234567.attn_q.weight"})
    EXPECT_FALSE(canonical_name(name, "llama").has_value()) << name;
}

TEST(TensorNames, OnlyLlamaFilesPermuteQueriesAndKeys) {
  EXPECT_EQ(canonical_name("blk.0.attn_q.weight", "llama")->transform, TensorTransform::unpermute_rope);
  EXPECT_EQ(canonical_name("blk.0.attn_k.bias", "llama")->transform, TensorTransform::unpermute_rope);
  EXPECT_EQ(canonical_name("blk.0.attn_v.weight", "llama")->transform, TensorTransform::none);
  EXPECT_EQ(canonical_name("blk.0.attn_q.weight", "qwen2")->transform, TensorTransform::none);
}

TEST(TensorNames, UnpermutingTurnsPairsIntoHalves) {
  // Two heads of 6 rows, 4 of them rotated; each row holds its own index.
  std::vector<float> rows(12);
  std::iota(rows.begin(), rows.end(), 0.0f);
  const Tensor out = unpermute_rope(Tensor::from(std::span<const float>(rows), {12, 1}), 2, 4);
  const auto values = out.values<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
            (std::vector<float>{0, 2, 1, 3, 4, 5, 6, 8, 7, 9, 10, 11}));
}

TEST(TensorNames, RowsThatAreNoHeadsAreRefused) {
  const Tensor rows = Tensor::zeros(DType::f32, {10, 1});
  EXPECT_THROW(unpermute_rope(rows, 3, 2), Error);
  EXPECT_THROW(unpermute_rope(rows, 2, 6), Error);
}

}  // namespace
}  // namespace weft
