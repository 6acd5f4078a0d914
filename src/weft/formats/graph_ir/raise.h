// How each MIR op becomes Graph IR nodes, and what a rule works with. Internal to the room.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "weft/formats/graph_ir/from_mir.h"
#include "weft/formats/graph_ir/op_table.h"
#include "weft/formats/graph_ir/regroup.h"

namespace weft::graph_ir {

// Names of all MIR values in the Graph IR: leaves are called as they are bound, outputs as the graph calls them, other
// values as they are named where that is free.
class ValueNames {
 public:
  explicit ValueNames(const weft::Graph& mir);

  const std::string& of(Value value) const {
    return names_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.port)];
  }
  std::string fresh(std::string_view base);

 private:
  std::vector<std::vector<std::string>> names_;
  std::unordered_set<std::string> taken_;
};

class Exporter {
 public:
  Exporter(const weft::Graph& mir, const FromMirOptions& options);
  FromMir run();

  const weft::Graph& mir() const { return mir_; }
  ValueNames& names() { return names_; }
  Graph& graph() { return result_.graph; }
  FromMir& result() { return result_; }
  const FromMirOptions& options() const { return options_; }

  // The name of a value as an operand of this role. What a Graph IR reader would decode by itself is named undecoded;
  // any other helper that is still missing is added first.
  std::string operand(Value value, Role role, bool matrix_of_rank_2);
  const weft::Node* producer(Value value, std::string_view op) const;  // null unless it is that op
  void append(const weft::Node& from, Op op, std::vector<std::string> inputs, std::vector<std::string> outputs,
              Attrs attrs);
  [[noreturn]] void refuse(std::int32_t node, const std::string& what) const;
  bool skips(std::int32_t node) const;

 private:
  void append_group(const Regrouped& group);
  std::uint32_t next_id(const Origin& origin);
  void add_outputs();
  void check_positions() const;
  void check_types() const;

  const weft::Graph& mir_;
  const FromMirOptions& options_;
  ValueNames names_;
  FromMir result_;
  std::set<std::uint32_t> ids_;  // taken
  std::uint32_t free_id_ = 0;
  std::set<std::int32_t> decoded_;  // Decode nodes that were added as Dequantize
};

// One MIR node that is being raised.
class RaiseContext {
 public:
  RaiseContext(Exporter& owner, std::int32_t raised)
      : exporter(owner), mir(owner.mir()), node(mir.node(raised)), index(raised) {}

  Exporter& exporter;
  const weft::Graph& mir;
  const weft::Node& node;
  const std::int32_t index;

  bool has(std::size_t input) const { return input < node.inputs.size() && node.inputs[input].defined(); }
  const weft::Shape& shape(std::size_t input) const { return mir.type(node.inputs[input]).shape; }
  DType dtype(std::size_t input) const { return mir.type(node.inputs[input]).dtype; }
  std::size_t axis(std::int64_t axis, std::size_t rank) const {
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
  }

  // Operands by name, in the role that the Graph IR op gives them.
  std::string real(std::size_t input) { return exporter.operand(node.inputs[input], Role::floats, false); }
  std::string plain(std::size_t input) { return exporter.operand(node.inputs[input], Role::plain, false); }
  std::string stored(std::size_t input) { return exporter.operand(node.inputs[input], Role::stored, false); }
  // Indices under the name of what they were made from.
  std::string ids(std::size_t input) {
    const weft::Node* to_index = exporter.producer(node.inputs[input], "ToIndex");
    return exporter.operand(to_index == nullptr ? node.inputs[input] : to_index->inputs[0], Role::ids, false);
  }
  std::string matrix(std::size_t input) {
    return exporter.operand(node.inputs[input], Role::packed, shape(input).rank() == 2);
  }

  // The Graph IR op that the node came from, where it came from one.
  std::string_view origin_op() const {
    return node.origin.format == "graph_ir" ? std::string_view(node.origin.op) : "";
  }
  float f32(std::string_view attribute) const { return f32_of(node.real(attribute), attribute); }
  float f32_of(double value, std::string_view attribute) const;
  std::uint32_t u32(std::int64_t value, std::string_view attribute) const;
  std::vector<std::uint32_t> u32_list(const std::vector<std::int64_t>& values, std::string_view attribute) const;
  std::string output(std::size_t port = 0) const {
    return exporter.names().of({index, static_cast<std::int32_t>(port)});
  }

  // Adds the node with its own outputs, or as a step whose only result gets a fresh name, which is returned.
  void add(Op op, std::vector<std::string> inputs, Attrs attrs = {});
  std::string step(Op op, std::vector<std::string> inputs);
  [[noreturn]] void refuse(const std::string& what) const { exporter.refuse(index, what); }
};

using RaiseRule = void (*)(RaiseContext&);
RaiseRule find_raise_rule(std::string_view op);  // null: the Graph IR has no such op

void raise_input(RaiseContext& c);
void raise_param(RaiseContext& c);
void raise_constant(RaiseContext& c);
void raise_cast(RaiseContext& c);
void raise_encode(RaiseContext& c);
void raise_decode(RaiseContext& c);
void raise_activation(RaiseContext& c);
void raise_binary(RaiseContext& c);
void raise_clamp(RaiseContext& c);
void raise_nan_to_num(RaiseContext& c);
void raise_softmax(RaiseContext& c);
void raise_arg_max(RaiseContext& c);
void raise_matmul(RaiseContext& c);
void raise_kron(RaiseContext& c);
void raise_inverse(RaiseContext& c);
void raise_interpolate_table(RaiseContext& c);
void raise_rms_norm(RaiseContext& c);
void raise_layer_norm(RaiseContext& c);
void raise_group_norm(RaiseContext& c);
void raise_batch_norm(RaiseContext& c);
void raise_batch_norm_inference(RaiseContext& c);
void raise_ada_layer_norm(RaiseContext& c);

void raise_conv(RaiseContext& c);
void raise_conv_transpose(RaiseContext& c);
void raise_pool(RaiseContext& c);
void raise_resize(RaiseContext& c);
void raise_unpatchify(RaiseContext& c);

void raise_reshape(RaiseContext& c);
void raise_transpose(RaiseContext& c);
void raise_concat(RaiseContext& c);
void raise_split(RaiseContext& c);
void raise_chunk(RaiseContext& c);
void raise_narrow(RaiseContext& c);
void raise_gather(RaiseContext& c);
void raise_rope(RaiseContext& c);
void raise_sinusoid(RaiseContext& c);
void raise_relative_bias(RaiseContext& c);
void raise_attention(RaiseContext& c);
void raise_window_attention(RaiseContext& c);
void raise_kv_append(RaiseContext& c);
void raise_kv_compress(RaiseContext& c);
void raise_sample(RaiseContext& c);

}  // namespace weft::graph_ir
