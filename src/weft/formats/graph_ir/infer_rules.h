// The shape rule of each Graph IR op, as the op table names them, and what a rule works on. Internal to the room.
//
// A rule reads `in`, fills the shapes of `out` (whose dtypes are f32 until it says otherwise) and throws an Error
// where the operands contradict each other. An operand of unknown rank makes it leave what it cannot tell.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/formats/graph_ir/dims.h"
#include "weft/formats/graph_ir/infer.h"
#include "weft/formats/graph_ir/model.h"
#include "weft/formats/graph_ir/op_table.h"

namespace weft::graph_ir {

struct Use {
  std::size_t node;
  std::size_t input;
};
using Uses = std::unordered_map<std::string_view, std::vector<Use>>;

class RuleContext {
 public:
  const Graph& graph;
  const Uses& uses;
  const Node& node;
  const OpDef& def;
  const Form& form;
  std::vector<ValueType> in, out;

  // The shape of an operand; null when it is absent or its rank is unknown.
  const Shape* shape(std::size_t input) const {
    return input < in.size() && in[input].shape ? &*in[input].shape : nullptr;
  }
  std::string_view slot(std::size_t input) const { return slot_of(form, input).name; }
  // `W "model.w" [4, 8]`
  std::string operand(std::size_t input) const;

  [[noreturn]] void mismatch(const std::string& reason) const;
  [[noreturn]] void bad_param(std::string_view field, const std::string& reason) const;
  [[noreturn]] void bad_attr(std::string_view key, const std::string& reason) const;

  // Throws unless the operand has this rank, where its rank is known at all.
  void require_rank(std::size_t input, std::size_t rank) const { require_rank(input, rank, rank); }
  void require_rank(std::size_t input, std::size_t lowest, std::size_t highest) const;
  // The common value of two dimensions that `what` names.
  Dim unify(Dim a, Dim b, std::string_view what) const;
  Shape unify(const Shape& a, const Shape& b, std::string_view what) const;
  // Throws unless the operand, where present and known, is a vector of this length; returns the common length.
  Dim require_vector(std::size_t input, Dim length, std::string_view what) const;
  // Throws unless the operand broadcasts to `target` without enlarging it.
  void require_broadcasts_to(std::size_t input, const Shape& target, std::string_view what) const;
};

inline constexpr std::size_t max_rank = 8;

void infer_same(RuleContext& c);
void infer_broadcast(RuleContext& c);
void infer_softmax(RuleContext& c);
void infer_p_relu(RuleContext& c);
void infer_quantize(RuleContext& c);
void infer_sample(RuleContext& c);
void infer_argmax(RuleContext& c);
void infer_noise_schedule(RuleContext& c);
void infer_flow_step(RuleContext& c);
void infer_gated(RuleContext& c);

void infer_matmul(RuleContext& c);
void infer_norm_matmul(RuleContext& c);
void infer_skip_norm(RuleContext& c);
void infer_lora(RuleContext& c);
void infer_kron(RuleContext& c);
void infer_inverse(RuleContext& c);
void infer_last_axis_norm(RuleContext& c);
void infer_channel_norm(RuleContext& c);
void infer_ada_ln(RuleContext& c);

void infer_permute(RuleContext& c);
void infer_reshape(RuleContext& c);
void infer_concat(RuleContext& c);
void infer_split(RuleContext& c);
void infer_chunk(RuleContext& c);
void infer_pixel_shuffle(RuleContext& c);
void infer_pixel_unshuffle(RuleContext& c);
void infer_patch_embed(RuleContext& c);
void infer_unpatchify(RuleContext& c);

void infer_attention(RuleContext& c);
void infer_window_attention(RuleContext& c);
void infer_kv_cache(RuleContext& c);
void infer_kv_compress(RuleContext& c);
void infer_kv_decompress(RuleContext& c);
void infer_rope(RuleContext& c);
void infer_sinusoid(RuleContext& c);
void infer_relative_pos(RuleContext& c);
void infer_embed(RuleContext& c);

void infer_conv(RuleContext& c);
void infer_conv_transpose(RuleContext& c);
void infer_causal_conv(RuleContext& c);
void infer_depthwise_conv(RuleContext& c);
void infer_pool(RuleContext& c);
void infer_interpolate(RuleContext& c);

}  // namespace weft::graph_ir
