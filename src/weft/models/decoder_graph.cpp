#include "weft/models/decoder_graph.h"

#include <fmt/format.h>

#include <utility>

#include "weft/ops/builder.h"

namespace weft {
namespace {

class DecoderBuilder {
 public:
  DecoderBuilder(const ModelConfig& config, const WeightTypes& weights, std::vector<Error>* problems)
      : config_(config),
        weights_(weights),
        problems_(problems),
        graph_(config.model_type),
        n_(Dim::symbol("n")),
        past_(Dim::symbol("past")) {}

  Graph build() {
    const Var ids = input(graph_, "input_ids", {n_}, DType::i32);
    positions_ = position_input(graph_, n_);
    if (weights_("model.rope_freqs.weight"))
      rope_factors_ = vector("model.rope_freqs.weight", config_.rope_dim / 2, "rope");
    const Var table = matrix("model.embed_tokens.weight", config_.vocab_size, config_.hidden_size, "embed");
    Var x = gather(table, ids, {.wrap_negative = false});
    if (x.dtype() != DType::f32) x = decode(label(x, "embed.rows"));
    x = label(x, "embed");
    for (std::int64_t layer = 0; layer < config_.num_hidden_layers; ++layer) {
      const std::string prefix = fmt::format("layers.{}", layer);
      x = label(add(x, attention_block(x, layer, prefix)), prefix + ".attention.residual");
      x = label(add(x, feed_forward_block(x, layer, prefix)), prefix + ".mlp.residual");
    }
    x = label(norm(x, "model.norm.weight", config_.hidden_size, "norm"), "norm");
    const bool tied = !weights_("lm_head.weight");
    if (tied && !config_.tie_word_embeddings)
      refuse(Error(ErrorKind::missing_tensor, "MissingTensor", "lm_head.weight",
                   "the weight is missing and the config does not tie it to model.embed_tokens.weight; the head needs "
                   "it"));
    const Var head = tied ? table : matrix("lm_head.weight", config_.vocab_size, config_.hidden_size, "head");
    graph_.add_output("logits", label(matmul(x, head, {.transpose_b = true}), "logits").value());
    return std::move(graph_);
  }

 private:
  Var label(Var value, const std::string& name) {
    graph_.set_origin(value.value().node, {.format = config_.model_type, .id = {}, .op = "", .label = name});
    return value.named(name);
  }

  // A weight of the model, its shape checked against the config.
  Var weight(const std::string& name, const Shape& expected, const std::string& user) {
    if (const auto known = graph_.find_param(name)) return {graph_, {*known, 0}};
    const auto type = weights_(name);
    if (type && type->shape == expected) return param(graph_, name, expected, type->dtype);
    if (!type)
      refuse(Error(ErrorKind::missing_tensor, "MissingTensor", name,
                   fmt::format("the weight is missing; {} of a {} model needs it", user, config_.model_type)));
    else
      refuse(Error(ErrorKind::shape_mismatch, "ShapeMismatch", name,
                   fmt::format("the config asks for {}, the tensor is {}; {} needs it", expected.text(),
                               type->shape.text(), user)));
    return param(graph_, name, expected, DType::f32);
  }

  void refuse(Error error) const {
    if (problems_ == nullptr || problems_->size() == 256) throw error;
    problems_->push_back(std::move(error));
  }

  // Matmul operands stay as the file has them.
  Var matrix(const std::string& name, std::int64_t rows, std::int64_t columns, const std::string& user) {
    return weight(name, {rows, columns}, user);
  }

  // Gains, biases and factors are f32, decoded once where the file packs them.
  Var vector(const std::string& name, std::int64_t size, const std::string& user) {
    const Var stored = weight(name, {size}, user);
    return stored.dtype() == DType::f32 ? stored : decode(stored);
  }

  Var norm(Var x, const std::string& name, std::int64_t size, const std::string& user) {
    return rms_norm(x, vector(name, size, user), {.eps = config_.rms_norm_eps});
  }

  Var projection(Var x, const std::string& name, std::int64_t rows, std::int64_t columns, const std::string& user) {
    const Var y = matmul(x, matrix(name + ".weight", rows, columns, user), {.transpose_b = true});
    if (!weights_(name + ".bias")) return label(y, user);
    label(y, user + ".matmul");
    return label(add(y, vector(name + ".bias", rows, user)), user);
  }

  // Normalizes each head of Q or K on its own, where the model has a gain for it.
  Var head_norm(Var x, const std::string& name, std::int64_t heads, const std::string& user) {
    if (!weights_(name)) return x;
    const std::int64_t dim = config_.head_dim;
    const Var split = label(reshape(x, {-1, heads, dim}), user + ".heads");
    const Var normed = label(norm(split, name, dim, user), user + ".heads.normed");
    return label(reshape(normed, {-1, heads * dim}), user);
  }

  Var rotate(Var x, const std::string& name) {
    return label(rope(x, positions_,
                      {.head_dim = config_.head_dim,
                       .rotary_dim = config_.rope_dim,
                       .theta = config_.rope_theta,
                       .position_scale = 1 / config_.rope_scaling_factor,
                       .factors = rope_factors_}),
                 name);
  }

  Var attention_block(Var x, std::int64_t layer, const std::string& prefix) {
    const std::string weights = fmt::format("model.layers.{}.", layer), at = prefix + ".attention";
    const std::int64_t hidden = config_.hidden_size, dim = config_.head_dim;
    const std::int64_t q_size = config_.num_attention_heads * dim, kv_size = config_.num_key_value_heads * dim;
    const Var h = label(norm(x, weights + "input_layernorm.weight", hidden, at + ".norm"), at + ".norm");
    Var q = projection(h, weights + "self_attn.q_proj", q_size, hidden, at + ".q");
    Var k = projection(h, weights + "self_attn.k_proj", kv_size, hidden, at + ".k");
    const Var v = projection(h, weights + "self_attn.v_proj", kv_size, hidden, at + ".v");
    q = head_norm(q, weights + "self_attn.q_norm.weight", config_.num_attention_heads, at + ".q_norm");
    k = head_norm(k, weights + "self_attn.k_norm.weight", config_.num_key_value_heads, at + ".k_norm");
    q = rotate(q, at + ".q_rope");
    k = rotate(k, at + ".k_rope");
    // The slot is called as its first output, as in the Graph IR, where a KvCache has no other name for it.
    const std::string slot = at + ".k_full";
    graph_.add_state({.name = slot, .planes = {kv_size, kv_size}, .length = past_, .capacity = {}});
    auto [k_full, v_full] = kv_append(slot, k, v);
    k_full = label(k_full, slot);
    v_full.named(at + ".v_full");
    const Var y = label(attention(q, k_full, v_full,
                                  {.heads = config_.num_attention_heads,
                                   .kv_heads = config_.num_key_value_heads,
                                   .head_dim = dim,
                                   .mask = Mask::causal()}),
                        at + ".mix");
    return projection(y, weights + "self_attn.o_proj", hidden, q_size, at + ".o");
  }

  Var feed_forward_block(Var x, std::int64_t layer, const std::string& prefix) {
    const std::string weights = fmt::format("model.layers.{}.", layer), at = prefix + ".mlp";
    const std::int64_t hidden = config_.hidden_size, inner = config_.intermediate_size;
    const Var h = label(norm(x, weights + "post_attention_layernorm.weight", hidden, at + ".norm"), at + ".norm");
    const Var gate = projection(h, weights + "mlp.gate_proj", inner, hidden, at + ".gate");
    const Var up = projection(h, weights + "mlp.up_proj", inner, hidden, at + ".up");
    const Var activated = label(silu(gate), at + ".silu");
    const Var product = label(mul(activated, up), at + ".product");
    return projection(product, weights + "mlp.down_proj", hidden, inner, at + ".down");
  }

  const ModelConfig& config_;
  const WeightTypes& weights_;
  std::vector<Error>* problems_;
  Graph graph_;
  Dim n_, past_;
  Var positions_, rope_factors_;
};

}  // namespace

Graph decoder_graph(const ModelConfig& config, const WeightTypes& weights, std::vector<Error>* problems) {
  return DecoderBuilder(config, weights, problems).build();
}

}  // namespace weft
