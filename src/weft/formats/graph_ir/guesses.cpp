// What the nodes of each composition tell of the Graph IR node that they came from.
#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/op_table.h"
#include "weft/formats/graph_ir/regroup.h"

namespace weft::graph_ir {
namespace {

using Guesses = std::vector<Guess>;

float narrow(double value) { return static_cast<float>(value); }

// The value of the group's only number.
float scalar_of(const NodeGroup& group) {
  const auto& value = std::get<Tensor>(group.find("Constant")->attribute("value"));
  return value.dtype() == DType::f32 && value.numel() == 1 ? value.values<float>()[0] : 0.0f;
}

Guesses guess_gated(const NodeGroup& group) {
  const weft::Node *activation = group.find("Activation"), *product = group.find("Binary");
  if (activation == nullptr || product == nullptr) return {};
  Guess guess{make_op(group.tag), {}};
  if (group.tag == Tag::ge_glu && activation->text("kind") == "gelu_approx") guess.attrs["approximate"] = true;
  const weft::Node* pieces = group.find("Split");
  if (pieces == nullptr) pieces = group.find("Chunk");
  if (pieces != nullptr) {
    guess.operands = {NodeGroup::operand_of(*pieces, 0)};
    if (const std::int64_t axis = pieces->integer("axis"); group.tag == Tag::glu && axis != -1)
      guess.attrs["dim"] = axis;
  } else if (group.count("MatMul") >= 2) {
    guess.operands = {group.input(0, 0), group.input(0, 1), group.input(1, 1)};
    if (group.count("MatMul") == 3) guess.operands.push_back(group.input(group.size() - 1, 1));
  } else {
    guess.operands = {NodeGroup::operand_of(*activation, 0), NodeGroup::operand_of(*product, 1)};
    if (group.tag == Tag::glu) std::swap(guess.operands[0], guess.operands[1]);
  }
  return {guess};
}

Guesses guess_p_relu(const NodeGroup& group) {
  const weft::Node *below = group.find("Clamp"), *scaled = group.find("Binary"), *spread = group.find("Reshape");
  if (below == nullptr || scaled == nullptr) return {};
  return {{make_op(Tag::p_relu),
           {NodeGroup::operand_of(*below, 0), NodeGroup::operand_of(spread != nullptr ? *spread : *scaled, 0)}}};
}

// The Reshape that takes axes apart into at least so many; the entry that is `from_end` before its last.
const weft::Node* taken_apart(const NodeGroup& group, std::size_t axes) {
  for (std::size_t i = 0; i < group.size(); ++i)
    if (group.node(i).schema->name == "Reshape" && group.node(i).integers("shape").size() >= axes)
      return &group.node(i);
  return nullptr;
}
std::uint32_t size_at(const weft::Node& reshape, std::size_t from_end) {
  const std::vector<std::int64_t>& shape = reshape.integers("shape");
  return static_cast<std::uint32_t>(std::max<std::int64_t>(shape[shape.size() - 1 - from_end], 0));
}

Guesses guess_shuffle(const NodeGroup& group) {
  const weft::Node* apart = taken_apart(group, 5);
  if (apart == nullptr) return {};
  const bool up = group.tag == Tag::pixel_shuffle;  // C, r, r, H, W, else C, H, r, W, r
  return {{make_op(group.tag, {{up ? "upscale_factor" : "downscale_factor", size_at(*apart, up ? 3 : 2)}}),
           {NodeGroup::operand_of(*apart, 0)}}};
}

Guesses guess_patch_embed(const NodeGroup& group) {
  const auto embed = [](std::int64_t patch) {
    return make_op(Tag::patch_embed, {{"patch_size", static_cast<std::uint32_t>(patch)}});
  };
  if (const weft::Node* conv = group.find("Conv")) return {{embed(conv->integers("kernel").back()), conv->inputs}};
  const weft::Node *apart = taken_apart(group, 6), *product = group.find("MatMul"), *sum = group.find("Binary");
  if (product == nullptr) return {};
  Value weight = NodeGroup::operand_of(*product, 1);
  for (std::size_t i = 0; i < group.size(); ++i)  // a kernel that was flattened
    if (group.nodes[i] == weight.node) weight = group.input(i, 0);
  const auto patch = apart != nullptr ? size_at(*apart, 0) : group.mir.type(weight).shape.back().value().value_or(0);
  Guess guess{embed(patch), {group.input(0, 0), weight}};
  if (sum != nullptr) guess.operands.push_back(NodeGroup::operand_of(*sum, 1));
  return {guess};
}

Guesses guess_noise_schedule(const NodeGroup& group) {
  const Op op = make_op(Tag::noise_schedule);
  if (group.find("Clamp") != nullptr) return {{op, {group.input(0, 0)}}};
  const weft::Node* product = group.find("Binary");
  if (product == nullptr || group.find("Constant") == nullptr) return {};
  if (group.find("Activation") != nullptr)
    return {{op, {NodeGroup::operand_of(*product, 0)}, {{"kind", std::string("cosine")}}}};
  Attrs linear{{"kind", std::string("linear")}};
  if (const float highest = scalar_of(group); highest != 1) linear["max_sigma"] = highest;
  return {{op, {NodeGroup::operand_of(*product, 0)}, linear}};
}

Guesses guess_flow_step(const NodeGroup& group) {
  const Op op = make_op(Tag::flow_step);
  if (group.size() == 2) return {{op, {group.input(1, 0), group.input(0, 0), group.input(0, 1)}}};
  if (group.size() == 4)  // sub, exp, mul, add
    return {{op, {group.input(0, 0), group.input(0, 1), group.input(1, 0), group.input(3, 1)}}};
  if (group.size() == 5)  // neg, exp, sub, mul, add
    return {{op, {group.input(2, 0), group.input(4, 1), group.input(0, 0), group.input(2, 1)}, {{"inverse", true}}}};
  return {};
}

Guesses guess_lora(const NodeGroup& group) {
  if (group.size() != 5 || group.find("Constant") == nullptr) return {};
  const Value x = group.input(0, 0), down = group.input(0, 1), up = group.input(1, 1), y = group.input(4, 0);
  if (!down.defined() || group.mir.type(down).shape.rank() != 2) return {};
  const auto rank = group.mir.type(down).shape[0].value();
  if (!rank || *rank < 1 || *rank > std::numeric_limits<std::uint32_t>::max()) return {};
  // Of the numbers whose quotient by the rank is the factor, the one with the fewest digits.
  const float middle = scalar_of(group) * narrow(static_cast<double>(*rank));
  std::vector<float> alphas{middle, std::nextafter(middle, -HUGE_VALF), std::nextafter(middle, HUGE_VALF)};
  std::stable_sort(alphas.begin(), alphas.end(),
                   [](float a, float b) { return fmt::formatted_size("{}", a) < fmt::formatted_size("{}", b); });
  Guesses all;
  for (const float alpha : alphas) {
    const Op op = make_op(Tag::lora_apply, {{"rank", static_cast<std::uint32_t>(*rank)}, {"alpha", alpha}});
    if (x == y) all.push_back({op, {x, down, up}});
    all.push_back({op, {y, x, down, up}});
  }
  return all;
}

Guesses guess_rope(const NodeGroup& group) {
  const weft::Node* rope = group.find("Rope");
  if (group.size() != 3 || rope == nullptr) return {};
  Attrs attrs;
  if (rope->text("layout") == "proportional") attrs["rope_layout"] = std::string("proportional");
  if (rope->text("style") == "interleaved") attrs["rope_interleaved"] = true;
  if (rope->text("heads") == "head_major") attrs["head_major"] = true;
  const auto head_dim = static_cast<std::uint32_t>(rope->integer("head_dim"));
  const auto rotary = rope->optional_integer("rotary_dim").value_or(head_dim);
  return {{make_op(Tag::rope, {{"head_dim", head_dim},
                               {"rope_dim", static_cast<std::uint32_t>(rotary)},
                               {"base", narrow(rope->real("theta"))}}),
           {group.input(0, 0), NodeGroup::operand_of(*rope, 1)},
           attrs}};
}

Guesses guess_norm_matmul(const NodeGroup& group) {
  const weft::Node *norm = group.find("RmsNorm"), *product = group.find("MatMul");
  if (norm == nullptr || product == nullptr || norm->inputs.size() != 2) return {};
  return {{make_op(Tag::fused_norm_matmul, {{"eps", narrow(norm->real("eps"))}}),
           {NodeGroup::operand_of(*norm, 0), NodeGroup::operand_of(*norm, 1), NodeGroup::operand_of(*product, 1)}}};
}

Guesses guess_skip_norm(const NodeGroup& group) {
  const weft::Node *norm = group.find("RmsNorm"), *sum = group.find("Binary");
  if (norm == nullptr || sum == nullptr || norm->inputs.size() != 2) return {};
  return {{make_op(Tag::fused_skip_norm, {{"eps", narrow(norm->real("eps"))}}),
           {NodeGroup::operand_of(*sum, 0), NodeGroup::operand_of(*sum, 1), NodeGroup::operand_of(*norm, 1)}}};
}

// An attention that reads an appended plane, as far as the width of rows goes.
std::vector<Op> reader_of(const NodeGroup& group, std::int32_t append) {
  for (const weft::Node& node : group.mir.nodes()) {
    if (node.schema->name != "Attention" || (node.inputs[1].node != append && node.inputs[2].node != append)) continue;
    const auto word = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    return {make_op(Tag::sdpa, {{"num_heads", word(node.integer("num_heads"))},
                                {"kv_heads", word(*node.optional_integer("num_kv_heads"))},
                                {"head_dim", word(node.integer("head_dim"))},
                                {"causal", false}})};
  }
  return {};
}

Guesses guess_kv_cache(const NodeGroup& group) {
  const auto inner = [&](Value value) {
    return std::find(group.nodes.begin(), group.nodes.end(), value.node) != group.nodes.end();
  };
  const auto source = [&](Value rows) {
    while (rows.defined() && inner(rows)) rows = NodeGroup::operand_of(group.mir.node(rows.node), 0);
    return rows;
  };
  Guess guess{make_op(Tag::kv_cache), {}};
  for (const std::int32_t index : group.nodes) {
    const weft::Node& node = group.mir.node(index);
    if (node.schema->name != "KvAppend" && node.schema->name != "RowsAppend") continue;
    guess.outputs.push_back(node.text("slot"));
    guess.operands.push_back(source(node.inputs[0]));
    if (node.schema->name == "KvAppend") guess.operands.push_back(source(NodeGroup::operand_of(node, 1)));
    if (guess.readers.empty()) guess.readers = reader_of(group, index);
  }
  if (guess.operands.size() != 2) return {};
  return {guess};
}

}  // namespace

std::vector<Guess> guesses(const NodeGroup& group) {
  switch (group.tag) {
    case Tag::ge_glu:
    case Tag::swi_glu:
    case Tag::glu:
    case Tag::fused_swi_glu: return guess_gated(group);
    case Tag::p_relu: return guess_p_relu(group);
    case Tag::pixel_shuffle:
    case Tag::pixel_unshuffle: return guess_shuffle(group);
    case Tag::patch_embed: return guess_patch_embed(group);
    case Tag::noise_schedule: return guess_noise_schedule(group);
    case Tag::flow_step: return guess_flow_step(group);
    case Tag::lora_apply: return guess_lora(group);
    case Tag::rope: return guess_rope(group);
    case Tag::fused_norm_matmul: return guess_norm_matmul(group);
    case Tag::fused_skip_norm: return guess_skip_norm(group);
    case Tag::kv_cache: return guess_kv_cache(group);
    default: return {};
  }
}

}  // namespace weft::graph_ir
