#include "weft/models/tensor_names.h"

#include <array>
#include <cstring>
#include <utility>

#include "weft/base/fail.h"

namespace weft {
namespace {

struct Rename {
  std::string_view gguf, canonical;
};

constexpr std::array whole_model{
    Rename{"token_embd.weight", "model.embed_tokens.weight"},
    Rename{"output_norm.weight", "model.norm.weight"},
    Rename{"output.weight", "lm_head.weight"},
    Rename{"rope_freqs.weight", "model.rope_freqs.weight"},
};

// After "blk.{i}." and "model.layers.{i}.".
constexpr std::array per_layer{
    Rename{"attn_norm.weight", "input_layernorm.weight"},
    Rename{"attn_q.weight", "self_attn.q_proj.weight"},
    Rename{"attn_q.bias", "self_attn.q_proj.bias"},
    Rename{"attn_k.weight", "self_attn.k_proj.weight"},
    Rename{"attn_k.bias", "self_attn.k_proj.bias"},
    Rename{"attn_v.weight", "self_attn.v_proj.weight"},
    Rename{"attn_v.bias", "self_attn.v_proj.bias"},
    Rename{"attn_output.weight", "self_attn.o_proj.weight"},
    Rename{"attn_output.bias", "self_attn.o_proj.bias"},
    Rename{"attn_q_norm.weight", "self_attn.q_norm.weight"},
    Rename{"attn_k_norm.weight", "self_attn.k_norm.weight"},
    Rename{"ffn_norm.weight", "post_attention_layernorm.weight"},
    Rename{"ffn_gate.weight", "mlp.gate_proj.weight"},
    Rename{"ffn_up.weight", "mlp.up_proj.weight"},
    Rename{"ffn_down.weight", "mlp.down_proj.weight"},
    Rename{"post_attention_norm.weight", "post_attention_norm.weight"},
    Rename{"post_ffw_norm.weight", "post_ffw_norm.weight"},
};

bool is_rotated(std::string_view name) { return name.starts_with("attn_q.") || name.starts_with("attn_k."); }

}  // namespace

std::optional<CanonicalName> canonical_name(std::string_view gguf_name, std::string_view architecture) {
  for (const Rename& rename : whole_model)
    if (rename.gguf == gguf_name) return CanonicalName{std::string(rename.canonical)};
  if (!gguf_name.starts_with("blk.")) return std::nullopt;
  const std::string_view rest = gguf_name.substr(4);
  const std::size_t dot = rest.find('.');
  if (dot == 0 || dot == std::string_view::npos || dot > 6) return std::nullopt;
  const std::string_view layer = rest.substr(0, dot), suffix = rest.substr(dot + 1);
  if (layer.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  for (const Rename& rename : per_layer) {
    if (rename.gguf != suffix) continue;
    const bool permuted = architecture == "llama" && is_rotated(suffix);
    return CanonicalName{fmt::format("model.layers.{}.{}", layer, rename.canonical),
                         permuted ? TensorTransform::unpermute_rope : TensorTransform::none};
  }
  return std::nullopt;
}

Tensor unpermute_rope(const Tensor& rows, std::int64_t heads, std::int64_t rotary_dim) {
  const std::int64_t count = rows.rank() == 0 ? 0 : rows.dim(0);
  if (heads <= 0 || count % heads != 0 || rotary_dim % 2 != 0 || rotary_dim > count / heads)
    fail(ErrorKind::shape_mismatch, "ShapeMismatch", "", "{} rows are no {} heads with {} rotated dims", count, heads,
         rotary_dim);
  const std::int64_t head_dim = count / heads;
  Tensor out = Tensor::allocate(rows.dtype(), rows.dims());
  const std::size_t row_bytes = count == 0 ? 0 : rows.byte_size() / static_cast<std::size_t>(count);
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int64_t head = row / head_dim, within = row % head_dim, half = rotary_dim / 2;
    const std::int64_t source = within < rotary_dim ? 2 * (within % half) + within / half : within;
    std::memcpy(out.mutable_bytes().data() + static_cast<std::size_t>(row) * row_bytes,
                rows.bytes().data() + static_cast<std::size_t>(head * head_dim + source) * row_bytes, row_bytes);
  }
  return out;
}

}  // namespace weft
