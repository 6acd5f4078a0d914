// How each Graph IR op becomes MIR nodes, as the op table names the rules, and what a rule works with. Internal to the
// room.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/formats/graph_ir/infer_rules.h"
#include "weft/formats/graph_ir/model.h"
#include "weft/ir/graph.h"

namespace weft::graph_ir {

// The graph that is being built, shared by the rules of all nodes.
struct LowerTarget {
  const Graph& source;
  const Uses& uses;
  weft::Graph& mir;
  std::unordered_map<std::string_view, Value> values;            // by tensor name
  std::unordered_map<std::string_view, Value> decoded, indices;  // the same as f32, as integers
  weft::Dim tokens = weft::Dim(1);                               // positions of a run
};

class LowerContext {
 public:
  LowerContext(LowerTarget& target, const Node& lowered, std::size_t index);

  const Node& node;
  std::size_t input_count() const { return node.inputs.size(); }
  std::string place() const;
  [[noreturn]] void unsupported(const std::string& reason) const;

  // Operands: as they are; as f32; as a matmul's right side, which may stay packed; as integer indices.
  Value raw(std::size_t input) const;
  Value real(std::size_t input);
  Value matrix(std::size_t input);
  Value index(std::size_t input);
  // Of an op that keeps dtypes: as it is, but packed weights as f32.
  Value kept(std::size_t input);
  std::int64_t word(std::string_view field) const { return node.op.get<std::uint32_t>(field); }

  // A node that carries the origin and hint of the one being lowered.
  Value emit(std::string_view op, std::vector<Value> inputs, const Attributes& attributes = {});
  std::int32_t emit_node(std::string_view op, std::vector<Value> inputs, const Attributes& attributes = {});
  Value binary(const char* kind, Value a, Value b);
  Value activation(const char* kind, Value x);
  Value matmul(Value x, Value w) { return emit("MatMul", {x, w}, {{"transpose_b", true}}); }
  Value scalar(double value);
  // To dims of which at most one is symbolic; the value itself when it has them.
  Value reshape(Value x, const weft::Shape& dims);
  Value transpose(Value x, std::vector<std::int64_t> perm) {
    return emit("Transpose", {x}, {{"perm", std::move(perm)}});
  }

  // Equally long pieces of an axis, whose size may be open until a run; one output each.
  std::int32_t equal_pieces(Value x, std::int64_t axis, std::int64_t count);

  // Makes the value output `port` of the lowered node, under its name.
  void result(std::size_t port, Value value);

  const weft::Shape& shape(Value value) const { return target_.mir.type(value).shape; }
  DType dtype(Value value) const { return target_.mir.type(value).dtype; }
  // Sizes that must be known: a number, or UnsupportedOp naming what.
  std::int64_t known_size(const weft::Dim& dim, std::string_view what) const;

  weft::Graph& mir() { return target_.mir; }
  LowerTarget& target() { return target_; }
  // What the shape rules see, from the types in MIR.
  RuleContext rule_context() const;

 private:
  Value decode(std::string_view name, Value value);

  LowerTarget& target_;
  std::size_t index_;
};

// Symbolic sizes as unknown ones.
Shape plain_shape(const weft::Shape& shape);

void lower_matmul(LowerContext& c);
void lower_binary(LowerContext& c);
void lower_clamp(LowerContext& c);
void lower_nan_to_num(LowerContext& c);
void lower_activation(LowerContext& c);
void lower_gated(LowerContext& c);
void lower_p_relu(LowerContext& c);
void lower_softmax(LowerContext& c);
void lower_argmax(LowerContext& c);
void lower_noise_schedule(LowerContext& c);
void lower_flow_step(LowerContext& c);
void lower_quantize(LowerContext& c);
void lower_dequantize(LowerContext& c);
void lower_sample(LowerContext& c);
void lower_lora(LowerContext& c);
void lower_kron(LowerContext& c);
void lower_inverse(LowerContext& c);

void lower_rms_norm(LowerContext& c);
void lower_layer_norm(LowerContext& c);
void lower_batch_norm(LowerContext& c);
void lower_group_norm(LowerContext& c);
void lower_ada_ln(LowerContext& c);
void lower_norm_matmul(LowerContext& c);
void lower_skip_norm(LowerContext& c);

void lower_permute(LowerContext& c);
void lower_reshape(LowerContext& c);
void lower_concat(LowerContext& c);
void lower_split(LowerContext& c);
void lower_chunk(LowerContext& c);

void lower_conv(LowerContext& c);
void lower_conv_transpose(LowerContext& c);
void lower_causal_conv(LowerContext& c);
void lower_depthwise_conv(LowerContext& c);
void lower_pool(LowerContext& c);

void lower_interpolate(LowerContext& c);
void lower_pixel_shuffle(LowerContext& c);
void lower_pixel_unshuffle(LowerContext& c);
void lower_patch_embed(LowerContext& c);
void lower_unpatchify(LowerContext& c);

void lower_attention(LowerContext& c);
void lower_window_attention(LowerContext& c);
void lower_kv_cache(LowerContext& c);
void lower_kv_compress(LowerContext& c);
void lower_rope(LowerContext& c);
void lower_sinusoid(LowerContext& c);
void lower_relative_pos(LowerContext& c);
void lower_embed(LowerContext& c);

}  // namespace weft::graph_ir
