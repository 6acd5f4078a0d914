// A small Llama with seeded random weights and a vocabulary that can spell any byte, as a GGUF file to build.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gguf_builder.h"

namespace weft::testing {

struct NanoSizes {
  std::int64_t hidden = 32, inner = 64, vocabulary = 264, heads = 2, kv_heads = 1, layers = 1;
};

inline GgufBuilder nano_llama(const NanoSizes& sizes = {}) {
  const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  GgufBuilder builder;
  builder.set("general.architecture", "llama").set("general.name", "nano");
  builder.set("llama.context_length", std::uint32_t{64}).set("llama.embedding_length", u32(sizes.hidden));
  builder.set("llama.block_count", u32(sizes.layers)).set("llama.feed_forward_length", u32(sizes.inner));
  builder.set("llama.attention.head_count", u32(sizes.heads));
  builder.set("llama.attention.head_count_kv", u32(sizes.kv_heads));
  builder.set("llama.attention.layer_norm_rms_epsilon", 1e-5f).set("tokenizer.ggml.model", "llama");
  std::vector<std::string> pieces{"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> kinds{2, 3, 3};
  constexpr const char* digits = "0123456789ABCDEF";
  for (unsigned byte = 0; byte < 256; ++byte) {
    pieces.push_back(std::string("<0x") + digits[byte >> 4] + digits[byte & 15] + ">");
    kinds.push_back(6);
  }
  while (static_cast<std::int64_t>(pieces.size()) < sizes.vocabulary) {
    pieces.push_back("\u2581w" + std::to_string(pieces.size()));
    kinds.push_back(1);
  }
  std::vector<float> scores;
  for (std::size_t i = 0; i < pieces.size(); ++i) scores.push_back(-static_cast<float>(i));
  builder.set("tokenizer.ggml.tokens", pieces).set("tokenizer.ggml.scores", scores);
  builder.set("tokenizer.ggml.token_type", kinds);
  builder.set("tokenizer.ggml.bos_token_id", std::uint32_t{1}).set("tokenizer.ggml.eos_token_id", std::uint32_t{2});

  std::mt19937 generator(7);
  const auto add = [&](const std::string& name, const std::vector<std::int64_t>& dims) {
    std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(dims.back())));
    std::vector<float> values(static_cast<std::size_t>(dims.size() == 1 ? dims[0] : dims[0] * dims[1]));
    for (float& x : values) x = dims.size() == 1 ? 1 + normal(generator) / 4 : normal(generator);
    builder.tensor(name, dims, values);
  };
  const std::int64_t kv = sizes.hidden / sizes.heads * sizes.kv_heads;
  add("token_embd.weight", {sizes.vocabulary, sizes.hidden});
  for (std::int64_t layer = 0; layer < sizes.layers; ++layer) {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    add(prefix + "attn_norm.weight", {sizes.hidden});
    add(prefix + "attn_q.weight", {sizes.hidden, sizes.hidden});
    add(prefix + "attn_k.weight", {kv, sizes.hidden});
    add(prefix + "attn_v.weight", {kv, sizes.hidden});
    add(prefix + "attn_output.weight", {sizes.hidden, sizes.hidden});
    add(prefix + "ffn_norm.weight", {sizes.hidden});
    add(prefix + "ffn_gate.weight", {sizes.inner, sizes.hidden});
    add(prefix + "ffn_up.weight", {sizes.inner, sizes.hidden});
    add(prefix + "ffn_down.weight", {sizes.hidden, sizes.inner});
  }
  add("output_norm.weight", {sizes.hidden});
  return builder;
}

}  // namespace weft::testing
