#include "weft/formats/graph_ir/infer.h"

#include <algorithm>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/infer_rules.h"
#include "weft/formats/graph_ir/names.h"

namespace weft::graph_ir {
namespace {

bool role_takes(Role role, DType dtype) {
  switch (role) {
    case Role::floats: return is_float(dtype);
    case Role::packed: return is_float(dtype) || is_packed(dtype);
    case Role::ids: return dtype == DType::f32 || is_integer(dtype);
    case Role::mask: return is_float(dtype) || dtype == DType::boolean;
    case Role::plain: return !is_packed(dtype);
    case Role::bytes: return dtype == DType::u8;
    case Role::stored: return true;
  }
  return false;
}

std::string_view role_text(Role role) {
  switch (role) {
    case Role::floats: return "f32, f16 or bf16";
    case Role::packed: return "a float, block or fixed-point type";
    case Role::ids: return "f32 or an integer type";
    case Role::mask: return "f32, f16, bf16 or bool";
    case Role::plain: return "neither a block nor a fixed-point type";
    case Role::bytes: return "u8";
    case Role::stored: return "any type";
  }
  return "";
}

class Inference {
 public:
  Inference(const Graph& graph, Problems& problems) : graph_(graph), problems_(problems) {}

  TypeMap run() {
    for (const auto& [name, spec] : graph_.weights) {
      if (!all_known(spec.shape))
        problems_.add(
            ErrorKind::invalid_graph, "BadShape", "graph weights",
            fmt::format("the weight \"{}\" is {}; every dimension of a weight is known", name, shape_text(spec.shape)));
      types_[name] = {spec.shape, spec.dtype};
    }
    types_[std::string(pos_name)] = {Shape{unknown_dim}, DType::f32};
    for (const NamedSpec& input : graph_.inputs) types_[input.name] = {input.spec.shape, input.spec.dtype};
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (std::size_t k = 0; k < graph_.nodes[i].inputs.size(); ++k)
        uses_[graph_.nodes[i].inputs[k]].push_back({i, k});
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) infer_node(graph_.nodes[i], i);
    return std::move(types_);
  }

 private:
  ValueType type_of(const std::string& name) const {
    if (const auto found = types_.find(name); found != types_.end()) return found->second;
    if (const TensorSpec* weight = find_weight(graph_.weights, name)) return {weight->shape, weight->dtype};
    return {};
  }

  void check_dtype(RuleContext& c, std::size_t input) const {
    const Role role = slot_of(c.form, input).role;
    std::optional<DType>& dtype = c.in[input].dtype;
    if (!dtype) return;
    const bool is_weight = find_weight(graph_.weights, c.node.inputs[input]) != nullptr;
    if (is_weight && is_packed(*dtype) && (role == Role::floats || role == Role::plain || role == Role::mask))
      dtype = DType::f32;  // expanded once, when the weights are placed
    if (!role_takes(role, *dtype))
      fail(ErrorKind::dtype_mismatch, "UnsupportedDtype", "",
           "{} must be {}, found {}; put a Dequantize in front of it", c.operand(input), role_text(role),
           dtype_text(*dtype).value_or(to_string(*dtype)));
  }

  void check_result(const RuleContext& c, std::size_t output) const {
    const ValueType& type = c.out[output];
    if (!type.shape) return;
    if (type.shape->size() > max_rank)
      fail(ErrorKind::shape_mismatch, "RankTooLarge", "", "\"{}\" would have {} dimensions, and {} is the most",
           c.node.outputs[output], type.shape->size(), max_rank);
    if (type.dtype && all_known(*type.shape)) byte_size(*type.dtype, *type.shape);
  }

  void infer_node(const Node& node, std::size_t index) {
    const OpDef& def = op_def(node.op.tag);
    RuleContext c{graph_, uses_, node, def, *form_for(def, node.inputs.size()), {}, {}};
    for (const std::string& name : node.inputs) c.in.push_back(type_of(name));
    c.out.resize(node.outputs.size(), {std::nullopt, DType::f32});
    try {
      for (std::size_t i = 0; i < c.in.size(); ++i) check_dtype(c, i);
      def.infer(c);
      for (std::size_t i = 0; i < c.out.size(); ++i) check_result(c, i);
    } catch (const Error& error) {
      problems_.add(error.kind(), error.code(), node_place(node, index), error.message());
      std::fill(c.out.begin(), c.out.end(), ValueType{});
    }
    for (std::size_t i = 0; i < c.out.size(); ++i) types_[node.outputs[i]] = std::move(c.out[i]);
  }

  const Graph& graph_;
  Problems& problems_;
  Uses uses_;
  TypeMap types_;
};

}  // namespace

std::string RuleContext::operand(std::size_t input) const {
  const std::string name = fmt::format("{} \"{}\"", slot(input), node.inputs[input]);
  return in[input].shape ? fmt::format("{} {}", name, shape_text(*in[input].shape)) : name;
}

void RuleContext::mismatch(const std::string& reason) const {
  fail(ErrorKind::shape_mismatch, "ShapeMismatch", "", "{}", reason);
}

void RuleContext::bad_param(std::string_view field, const std::string& reason) const {
  fail(ErrorKind::invalid_graph, "BadParam", "", "parameter \"{}\" {}", field, reason);
}

void RuleContext::bad_attr(std::string_view key, const std::string& reason) const {
  fail(ErrorKind::invalid_graph, "BadAttr", "", "attribute \"{}\" {}", key, reason);
}

void RuleContext::require_rank(std::size_t input, std::size_t lowest, std::size_t highest) const {
  const Shape* dims = shape(input);
  if (dims == nullptr || (dims->size() >= lowest && dims->size() <= highest)) return;
  const std::string expected = lowest == highest     ? fmt::format("{}", lowest)
                               : highest >= max_rank ? fmt::format("at least {}", lowest)
                                                     : fmt::format("{} to {}", lowest, highest);
  fail(ErrorKind::shape_mismatch, "RankMismatch", "", "{} must have {} dimensions", operand(input), expected);
}

Dim RuleContext::unify(Dim a, Dim b, std::string_view what) const {
  const auto common = unified(a, b);
  if (!common) {
    std::vector<std::string> operands;
    for (std::size_t i = 0; i < in.size(); ++i) operands.push_back(operand(i));
    mismatch(fmt::format("{} must agree, found {} and {} in {}", what, a, b, fmt::join(operands, ", ")));
  }
  return *common;
}

Shape RuleContext::unify(const Shape& a, const Shape& b, std::string_view what) const {
  if (a.size() != b.size())
    mismatch(fmt::format("{} must have one shape, found {} and {}", what, shape_text(a), shape_text(b)));
  Shape common(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) common[i] = unify(a[i], b[i], what);
  return common;
}

Dim RuleContext::require_vector(std::size_t input, Dim length, std::string_view what) const {
  const Shape* dims = shape(input);
  if (dims == nullptr) return length;
  require_rank(input, 1);
  return unify(length, dims->front(), fmt::format("the length of {} and {}", slot(input), what));
}

void RuleContext::require_broadcasts_to(std::size_t input, const Shape& target, std::string_view what) const {
  const Shape* dims = shape(input);
  if (dims == nullptr) return;
  const auto common = broadcast_shape(target, *dims);
  bool fits = common && common->size() == target.size();
  for (std::size_t i = 0; fits && i < target.size(); ++i) fits = !known(target[i]) || target[i] == (*common)[i];
  if (!fits) mismatch(fmt::format("{} must broadcast to {} {}", operand(input), what, shape_text(target)));
}

TypeMap infer(const Graph& graph, Problems& problems) { return Inference(graph, problems).run(); }

}  // namespace weft::graph_ir
