#include "weft/formats/graph_ir/lower.h"

#include <algorithm>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/problems.h"

namespace weft::graph_ir {

LowerContext::LowerContext(LowerTarget& target, const Node& lowered, std::size_t index)
    : node(lowered), target_(target), index_(index) {}

std::string LowerContext::place() const { return node_place(node, index_); }

void LowerContext::unsupported(const std::string& reason) const {
  fail(ErrorKind::unsupported_op, "UnsupportedOp", place(), "op {} (tag {}): {}", op_def(node.op.tag).name,
       static_cast<std::uint16_t>(node.op.tag), reason);
}

Value LowerContext::raw(std::size_t input) const { return target_.values.at(node.inputs[input]); }

// Helper nodes serve every reader of a tensor, so their origin names the tensor and no op.
Value LowerContext::decode(std::string_view name, Value value) {
  if (dtype(value) == DType::f32) return value;
  const auto [known, added] = target_.decoded.try_emplace(name);
  if (added) {
    NodeOptions options;
    options.origin = {.format = "graph_ir", .id = {}, .op = {}, .label = std::string(name)};
    known->second = {target_.mir.add("Decode", {value}, {}, std::move(options)), 0};
  }
  return known->second;
}

Value LowerContext::real(std::size_t input) { return decode(node.inputs[input], raw(input)); }

Value LowerContext::kept(std::size_t input) { return is_packed(dtype(raw(input))) ? real(input) : raw(input); }

Value LowerContext::matrix(std::size_t input) {
  const Value value = raw(input);
  return shape(value).rank() == 2 ? value : decode(node.inputs[input], value);
}

Value LowerContext::index(std::size_t input) {
  const Value value = raw(input);
  if (is_integer(dtype(value))) return value;
  const auto [known, added] = target_.indices.try_emplace(node.inputs[input]);
  if (added) {
    NodeOptions options;
    options.origin = {.format = "graph_ir", .id = {}, .op = {}, .label = node.inputs[input]};
    known->second = {target_.mir.add("ToIndex", {value}, {}, std::move(options)), 0};
  }
  return known->second;
}

std::int32_t LowerContext::emit_node(std::string_view op, std::vector<Value> inputs, const Attributes& attributes) {
  NodeOptions options;
  options.origin = {.format = "graph_ir",
                    .id = node.id,
                    .op = std::string(op_def(node.op.tag).name),
                    .label = node.outputs.empty() ? std::string() : node.outputs.front()};
  if (node.backend_hint) options.backend_hint = to_string(*node.backend_hint);
  return target_.mir.add(op, std::move(inputs), attributes, std::move(options));
}

Value LowerContext::emit(std::string_view op, std::vector<Value> inputs, const Attributes& attributes) {
  return {emit_node(op, std::move(inputs), attributes), 0};
}

Value LowerContext::binary(const char* kind, Value a, Value b) { return emit("Binary", {a, b}, {{"kind", kind}}); }

Value LowerContext::activation(const char* kind, Value x) { return emit("Activation", {x}, {{"kind", kind}}); }

Value LowerContext::scalar(double value) {
  const auto narrowed = static_cast<float>(value);
  return emit("Constant", {}, {{"value", Tensor::from(std::span<const float>(&narrowed, 1), {})}});
}

Value LowerContext::reshape(Value x, const weft::Shape& dims) {
  if (shape(x) == dims) return x;
  std::vector<std::int64_t> sizes;
  for (const weft::Dim& dim : dims) sizes.push_back(dim.value().value_or(unknown_dim));
  if (std::count(sizes.begin(), sizes.end(), unknown_dim) > 1)
    unsupported(
        fmt::format("{} becomes {}, of which only one size may be open until a run", shape(x).text(), dims.text()));
  return emit("Reshape", {x}, {{"shape", std::move(sizes)}});
}

std::int32_t LowerContext::equal_pieces(Value x, std::int64_t axis, std::int64_t count) {
  const weft::Shape& dims = shape(x);
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(dims.rank()) : axis);
  const auto size = dims[at].value();
  if (!size) return emit_node("Chunk", {x}, {{"axis", axis}, {"chunks", count}});
  return emit_node(
      "Split", {x},
      {{"axis", axis}, {"sizes", std::vector<std::int64_t>(static_cast<std::size_t>(count), *size / count)}});
}

void LowerContext::result(std::size_t port, Value value) {
  target_.mir.set_name_of(value, node.outputs[port]);
  target_.values[node.outputs[port]] = value;
}

std::int64_t LowerContext::known_size(const weft::Dim& dim, std::string_view what) const {
  if (const auto size = dim.value()) return *size;
  unsupported(fmt::format("{} must be known before a run, found {}", what, dim.text()));
}

RuleContext LowerContext::rule_context() const {
  const OpDef& def = op_def(node.op.tag);
  RuleContext rules{target_.source, target_.uses, node, def, *form_for(def, node.inputs.size()), {}, {}};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) rules.in.push_back({plain_shape(shape(raw(i))), dtype(raw(i))});
  return rules;
}

Shape plain_shape(const weft::Shape& shape) {
  Shape result;
  for (const weft::Dim& dim : shape) result.push_back(dim.value().value_or(unknown_dim));
  return result;
}

}  // namespace weft::graph_ir
