#include "weft/passes/param_dtypes.h"

#include <utility>
#include <vector>

#include "weft/passes/rewrite.h"

namespace weft {

namespace {

bool reads_packed(const Node& node, std::size_t operand) {
  const std::string& op = node.schema->name;
  return (op == "MatMul" && operand == 1) || (op == "Gather" && operand == 0) || op == "Decode";
}

class DtypeChanger {
 public:
  DtypeChanger(const Graph& graph, const std::map<std::string, DType>& dtypes)
      : graph_(graph), dtypes_(dtypes), rewriter_(graph) {}

  Graph run() {
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& node = graph_.node(i);
      if (node.schema->name == "Param")
        copy_param(i);
      else
        copy(i);
    }
    return rewriter_.finish();
  }

 private:
  void copy_param(std::int32_t index) {
    const auto it = dtypes_.find(graph_.node(index).text("name"));
    rewriter_.copy(index, it == dtypes_.end() ? Attributes{} : Attributes{{"dtype", AttributeValue(it->second)}});
  }

  bool was_f32(Value before) const { return graph_.type(before).dtype == DType::f32; }
  bool is_f32(Value after) { return rewriter_.target().type(after).dtype == DType::f32; }
  Value decoded(Value after, const Node& of) {
    return {rewriter_.target().add("Decode", {after}, {}, {.origin = of.origin}), 0};
  }

  void copy(std::int32_t index) {
    const Node& node = graph_.node(index);
    std::vector<std::pair<Value, Value>> as_stored;  // of operands that this node reads decoded
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Value before = node.inputs[i];
      if (!before.defined() || !was_f32(before) || reads_packed(node, i)) continue;
      const Value after = rewriter_.map(before);
      if (is_f32(after)) continue;
      as_stored.emplace_back(before, after);
      rewriter_.replace(before, decoded(after, node));
    }
    const std::int32_t copied = rewriter_.copy(index);
    for (const auto& [before, after] : as_stored) rewriter_.replace(before, after);
    for (std::size_t port = 0; port < node.outputs.size(); ++port) {
      const Value before{index, static_cast<std::int32_t>(port)}, after{copied, static_cast<std::int32_t>(port)};
      if (was_f32(before) && !is_f32(after)) rewriter_.replace(before, decoded(after, node));
    }
  }

  const Graph& graph_;
  const std::map<std::string, DType>& dtypes_;
  Rewriter rewriter_;
};

}  // namespace

Graph with_param_dtypes(const Graph& graph, const std::map<std::string, DType>& dtypes) {
  return DtypeChanger(graph, dtypes).run();
}

}  // namespace weft
