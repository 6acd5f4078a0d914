// Movement that need not happen: transposes and reshapes of one another, transposes that a product can do by itself,
// and decoded weights that a product reads packed.
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/passes/passes.h"
#include "weft/passes/replace.h"

namespace weft::passes {
namespace {

using Permutation = std::vector<std::int64_t>;

// With the default, the reversed axes, and negative axes resolved.
Permutation permutation_of(const Node& transpose, std::size_t rank) {
  Permutation perm = transpose.integers("perm");
  if (perm.empty()) {
    perm.resize(rank);
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  for (std::int64_t& axis : perm) axis += axis < 0 ? static_cast<std::int64_t>(rank) : 0;
  return perm;
}

bool swaps_last_two(const Permutation& perm) {
  const std::size_t rank = perm.size();
  if (rank < 2) return false;
  for (std::size_t i = 0; i + 2 < rank; ++i)
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  return perm[rank - 2] == static_cast<std::int64_t>(rank) - 1;
}

// A value as the movement of another one: what a chain of transposes, or of reshapes, starts from.
struct Chain {
  Value start;
  Permutation perm;  // of transposes
  bool longer_than_one = false;
};

class Layout {
 public:
  Layout(Graph& graph, PassReport& report) : graph_(graph), patterns_(graph, report), chains_(graph.nodes().size()) {}

  Graph run() {
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const std::string& op = graph_.node(i).schema->name;
      if (op == "Transpose") transpose(i);
      if (op == "Reshape") reshape(i);
      if (op == "MatMul") matmul(i);
    }
    return patterns_.finish(graph_);
  }

 private:
  const Chain* chain_of(Value value, std::string_view op) const {
    const auto& chain = chains_[static_cast<std::size_t>(value.node)];
    return chain && graph_.node(value.node).schema->name == op ? &*chain : nullptr;
  }

  void transpose(std::int32_t i) {
    const Node& node = graph_.node(i);
    const std::size_t rank = node.outputs[0].type.shape.rank();
    Chain chain{node.inputs[0], permutation_of(node, rank)};
    if (const Chain* before = chain_of(node.inputs[0], "Transpose")) {
      for (std::int64_t& axis : chain.perm) axis = before->perm[static_cast<std::size_t>(axis)];
      chain.start = before->start;
      chain.longer_than_one = true;
    }
    if (chain.longer_than_one) {
      Permutation identity(rank);
      std::iota(identity.begin(), identity.end(), 0);
      replace(i, chain.perm == identity ? "" : "Transpose", chain.start, {{"perm", AttributeValue(chain.perm)}});
    }
    chains_[static_cast<std::size_t>(i)] = std::move(chain);
  }

  void reshape(std::int32_t i) {
    const Node& node = graph_.node(i);
    Chain chain{node.inputs[0], {}};
    // A reshape with a check before the run stays, for the sake of the check.
    const Chain* before = chain_of(node.inputs[0], "Reshape");
    if (before != nullptr && graph_.node(node.inputs[0].node).constraints.empty()) {
      chain.start = before->start;
      chain.longer_than_one = true;
      const bool identity = graph_.type(chain.start) == node.outputs[0].type && node.constraints.empty();
      replace(i, identity ? "" : "Reshape", chain.start, {{"shape", node.attribute("shape")}});
    }
    chains_[static_cast<std::size_t>(i)] = std::move(chain);
  }

  void matmul(std::int32_t i) {
    const Node& node = graph_.node(i);
    std::vector<Value> inputs = node.inputs;
    bool transposed[2] = {node.boolean("transpose_a"), node.boolean("transpose_b")};
    bool changed = false;
    for (const std::size_t side : {0, 1}) {
      const Chain* chain = chain_of(inputs[side], "Transpose");
      if (chain == nullptr || !swaps_last_two(chain->perm)) continue;
      // Mixed types are products of rows with rows only.
      if (graph_.type(inputs[0]).dtype != graph_.type(inputs[1]).dtype && (side == 0 || transposed[1])) continue;
      inputs[side] = chain->start;
      transposed[side] = !transposed[side];
      changed = true;
    }
    if (!changed) return;
    patterns_.add({.root = i,
                   .members = {i},
                   .at = i,
                   .op = "MatMul",
                   .inputs = std::move(inputs),
                   .attributes = {{"transpose_a", transposed[0]}, {"transpose_b", transposed[1]}},
                   .results = {{i, 0}}});
  }

  void replace(std::int32_t i, const char* op, Value input, Attributes attributes) {
    patterns_.add({.root = i,
                   .members = {i},
                   .at = i,
                   .op = op,
                   .inputs = {input},
                   .attributes = std::move(attributes),
                   .results = {{i, 0}}});
  }

  Graph& graph_;
  Patterns patterns_;
  std::vector<std::optional<Chain>> chains_;
};

}  // namespace

Graph layout(Graph graph, PassReport& report) { return Layout(graph, report).run(); }

Graph legalize(Graph graph, PassReport& report) {
  Patterns patterns(graph, report);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.schema->name != "MatMul" || !node.boolean("transpose_b")) continue;
    const Node* decode = patterns.made_by(node.inputs[1], "Decode");
    if (decode == nullptr || graph.type(node.inputs[0]).dtype != DType::f32) continue;
    const TensorType& stored = graph.type(decode->inputs[0]);
    const bool readable = is_packed(stored.dtype) || stored.dtype == DType::f16 || stored.dtype == DType::bf16;
    if (!readable || stored.shape.rank() != 2) continue;
    patterns.add({.root = i,
                  .members = {i},
                  .at = i,
                  .op = "MatMul",
                  .inputs = {node.inputs[0], decode->inputs[0]},
                  .attributes = {{"transpose_a", node.boolean("transpose_a")}, {"transpose_b", true}},
                  .results = {{i, 0}}});
  }
  return patterns.finish(graph);
}

}  // namespace weft::passes
