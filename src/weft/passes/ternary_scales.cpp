#include "weft/passes/ternary_scales.h"

#include <map>

#include "weft/base/fail.h"
#include "weft/ops/builder.h"
#include "weft/passes/rewrite.h"

namespace weft {
namespace {

class ScaleInserter {
 public:
  ScaleInserter(const Graph& graph, const std::function<std::optional<TensorType>(const std::string&)>& type_of)
      : graph_(graph), type_of_(type_of), rewriter_(graph) {}

  Graph run() {
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& node = graph_.node(i);
      rewriter_.copy(i);
      if (node.schema->name == "Param") {
        add_scale(i);
        continue;
      }
      for (std::size_t k = 0; k < node.inputs.size(); ++k)
        if (const auto scale = scales_.find(node.inputs[k].node); scale != scales_.end()) apply(i, k, scale->second);
    }
    return rewriter_.finish();
  }

 private:
  void add_scale(std::int32_t index) {
    const TensorType& weight = graph_.type({index, 0});
    const std::string& name = graph_.node(index).text("name");
    const std::string scale_name = name + ".scale";
    const auto type =
        weight.dtype == DType::ternary && !graph_.find_param(scale_name) ? type_of_(scale_name) : std::nullopt;
    if (!type) return;
    const Dim count = type->shape.numel(), rows = weight.shape.rank() == 0 ? Dim(1) : weight.shape[0];
    if (count != Dim(1) && (weight.shape.rank() != 2 || count != rows))
      fail(ErrorKind::shape_mismatch, "ShapeMismatch", scale_name,
           "the scale of {} {} is {}; expected one value or one for each row", name, weight.shape.text(),
           type->shape.text());
    Var scale = param(rewriter_.target(), scale_name, type->shape, type->dtype);
    if (scale.dtype() != DType::f32) scale = decode(scale);
    scales_.emplace(index, type->shape.rank() == 1 ? scale : reshape(scale, {*count.value()}));
  }

  void apply(std::int32_t index, std::size_t operand, Var scale) {
    const Node& node = graph_.node(index);
    const Var result{rewriter_.target(), rewriter_.map({index, 0})};
    const bool is_product = node.schema->name == "MatMul" && operand == 1 && node.boolean("transpose_b");
    const bool is_lookup = node.schema->name == "Gather" && operand == 0;
    if (!is_product && !is_lookup)
      fail(ErrorKind::unsupported_op, "UnsupportedOp", graph_.where(index),
           "it reads ternary weights that have a scale; weft applies the scale to MatMul with transpose_b and to "
           "Gather");
    Var factors = scale;
    if (is_lookup && scale.shape()[0] != Dim(1))
      factors = gather(reshape(scale, {-1, 1}), Var{rewriter_.target(), rewriter_.map(node.inputs[1])},
                       {.wrap_negative = node.text("negative") == "wrap"});
    rewriter_.replace({index, 0}, mul(result, factors).value());
  }

  const Graph& graph_;
  const std::function<std::optional<TensorType>(const std::string&)>& type_of_;
  Rewriter rewriter_;
  std::map<std::int32_t, Var> scales_;  // by the node of the weight
};

}  // namespace

Graph with_ternary_scales(const Graph& graph,
                          const std::function<std::optional<TensorType>(const std::string& name)>& type_of) {
  return ScaleInserter(graph, type_of).run();
}

}  // namespace weft
