// Attention written out as two products and a softmax becomes Attention, which never stores the scores.
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/ops/element.h"
#include "weft/passes/passes.h"
#include "weft/passes/replace.h"

namespace weft::passes {
namespace {

// Added to a score of any sensible size, this leaves a weight of exactly 0.
constexpr double hides = -1e30;

const Tensor* constant_of(const Graph& graph, Value value) {
  const Node& node = graph.node(value.node);
  return node.schema->name == "Constant" ? &std::get<Tensor>(node.attribute("value")) : nullptr;
}

std::optional<double> scalar_of(const Graph& graph, Value value) {
  const Tensor* tensor = constant_of(graph, value);
  if (tensor == nullptr || tensor->numel() != 1 || !is_float(tensor->dtype())) return std::nullopt;
  return ops::load_f64(*tensor)[0];
}

// Whether element (i, j) of a constant [.., Sq, Sk] is visible(value) exactly where a causal query sees its key.
template <class Visible, class Hidden>
bool is_causal(const Graph& graph, Value mask, const Shape& scores, Visible visible, Hidden hidden) {
  const Tensor* tensor = constant_of(graph, mask);
  const std::size_t rank = scores.rank();
  if (tensor == nullptr || tensor->rank() < 2 || !scores[rank - 2].is_static() || !scores[rank - 1].is_static())
    return false;
  const std::int64_t queries = *scores[rank - 2].value(), keys = *scores[rank - 1].value();
  if (tensor->dim(tensor->rank() - 2) != queries || tensor->dim(tensor->rank() - 1) != keys || keys < queries ||
      tensor->numel() != queries * keys)
    return false;
  if (!is_float(tensor->dtype()) && tensor->dtype() != DType::boolean) return false;
  const std::vector<double> values = ops::load_f64(*tensor);
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t j = 0; j < keys; ++j) {
      const double value = values[static_cast<std::size_t>(i * keys + j)];
      if (j <= keys - queries + i ? !visible(value) : !hidden(value)) return false;
    }
  return true;
}

struct Scores {
  Value q, k, mask, bias;
  double scale = 1;
  bool causal = false;
  std::vector<std::int32_t> members;
};

class ScoreReader {
 public:
  explicit ScoreReader(Patterns& patterns) : patterns_(patterns), graph_(patterns.graph()) {}

  // What the softmax reads.
  std::optional<Scores> read(Value value) {
    if (auto scores = masked_by_sum(value)) return scores;
    if (auto scores = masked_by_choice(value)) return scores;
    return scaled(value);
  }

 private:
  // scores + mask
  std::optional<Scores> masked_by_sum(Value value) {
    const Node* add = binary(value, "add");
    if (add == nullptr) return std::nullopt;
    for (const std::size_t side : {0, 1}) {
      auto scores = scaled(add->inputs[side]);
      if (!scores || graph_.type(add->inputs[side]) != graph_.type(value)) continue;
      if (!patterns_.may_disappear(add->inputs[side])) return std::nullopt;
      const Value mask = add->inputs[1 - side];
      scores->causal = is_causal(
          graph_, mask, graph_.type(value).shape, [](double v) { return v == 0; }, [](double v) { return v <= hides; });
      if (!scores->causal) scores->bias = mask;
      scores->members.push_back(value.node);
      return scores;
    }
    return std::nullopt;
  }

  // where(mask, scores, -inf)
  std::optional<Scores> masked_by_choice(Value value) {
    const Node* where = patterns_.made_by(value, "Where");
    if (where == nullptr || graph_.type(where->inputs[0]).dtype != DType::boolean) return std::nullopt;
    const auto otherwise = scalar_of(graph_, where->inputs[2]);
    auto scores = scaled(where->inputs[1]);
    if (!scores || graph_.type(where->inputs[1]) != graph_.type(value)) return std::nullopt;
    if (otherwise != -HUGE_VAL) {
      patterns_.miss("MaskValueFinite", value.node);
      return std::nullopt;
    }
    if (!patterns_.may_disappear(where->inputs[1])) return std::nullopt;
    const Value mask = where->inputs[0];
    scores->causal = is_causal(
        graph_, mask, graph_.type(value).shape, [](double v) { return v != 0; }, [](double v) { return v == 0; });
    if (!scores->causal) scores->mask = mask;
    scores->members.push_back(value.node);
    return scores;
  }

  // (q k') * scale, or / scale, or as it is
  std::optional<Scores> scaled(Value value) {
    if (auto scores = product(value)) return scores;
    for (const char* kind : {"mul", "div"}) {
      const Node* node = binary(value, kind);
      if (node == nullptr) continue;
      for (const std::size_t side : {0, 1}) {
        const auto factor = scalar_of(graph_, node->inputs[1 - side]);
        auto scores = product(node->inputs[side]);
        if (!factor || !scores || (side == 1 && *kind == 'd')) continue;
        scores->scale = *kind == 'm' ? *factor : 1 / *factor;
        if (!std::isfinite(scores->scale) || !patterns_.may_disappear(node->inputs[side])) return std::nullopt;
        scores->members.push_back(value.node);
        return scores;
      }
    }
    return std::nullopt;
  }

  std::optional<Scores> product(Value value) {
    const Node* node = patterns_.made_by(value, "MatMul");
    if (node == nullptr || node->boolean("transpose_a") || !node->boolean("transpose_b")) return std::nullopt;
    return Scores{.q = node->inputs[0], .k = node->inputs[1], .mask = {}, .bias = {}, .members = {value.node}};
  }

  const Node* binary(Value value, const char* kind) const {
    const Node* node = patterns_.made_by(value, "Binary");
    return node != nullptr && node->text("kind") == kind ? node : nullptr;
  }

  Patterns& patterns_;
  const Graph& graph_;
};

// The layout of q, k and v, [B, H, S, D], [H, S, D] or [S, D], if they agree in batch and heads.
std::optional<Attributes> layout_of(const Graph& graph, const Scores& scores, Value v) {
  const Shape &q = graph.type(scores.q).shape, &k = graph.type(scores.k).shape, &values = graph.type(v).shape;
  const std::size_t rank = q.rank();
  if (rank < 2 || rank > 4 || k.rank() != rank || values.rank() != rank) return std::nullopt;
  for (std::size_t i = 0; i + 2 < rank; ++i)
    if (q[i] != k[i] || q[i] != values[i]) return std::nullopt;
  const Dim heads = rank == 2 ? Dim(1) : q[rank - 3];
  if (!heads.is_static() || !q.back().is_static() || !values.back().is_static()) return std::nullopt;
  const char* layout = rank == 2 ? "packed" : rank == 3 ? "hsd" : "bhsd";
  return Attributes{{"num_heads", *heads.value()},
                    {"num_kv_heads", *heads.value()},
                    {"head_dim", *q.back().value()},
                    {"causal", scores.causal},
                    {"scale", scores.scale},
                    {"layout", layout},
                    {"k_layout", layout},
                    {"v_layout", layout},
                    {"mask_axes", "right"}};
}

}  // namespace

Graph flash_attention(Graph graph, PassReport& report) {
  Patterns patterns(graph, report);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.schema->name != "MatMul" || node.boolean("transpose_a") || node.boolean("transpose_b")) continue;
    const Value weights = node.inputs[0], v = node.inputs[1];
    const Node* softmax = patterns.made_by(weights, "Softmax");
    if (softmax == nullptr) continue;
    const auto rank = static_cast<std::int64_t>(graph.type(weights).shape.rank());
    if (softmax->integer("axis") != -1 && softmax->integer("axis") != rank - 1) continue;
    auto scores = ScoreReader(patterns).read(softmax->inputs[0]);
    if (!scores || !is_float(graph.type(v).dtype)) continue;
    auto attributes = layout_of(graph, *scores, v);
    if (!attributes) {
      patterns.miss("AttentionLayout", i);
      continue;
    }
    // A query that sees no key gives zeros, in a softmax only by its default.
    if ((scores->mask.defined() || scores->bias.defined()) && softmax->text("empty_row") != "zeros") {
      patterns.miss("EmptyRowIsNaN", i);
      continue;
    }
    if (!patterns.may_disappear(weights) || !patterns.may_disappear(softmax->inputs[0])) continue;
    scores->members.push_back(weights.node);
    scores->members.push_back(i);
    patterns.add({.root = i,
                  .members = std::move(scores->members),
                  .at = i,
                  .op = "Attention",
                  .inputs = {scores->q, scores->k, v, scores->mask, scores->bias},
                  .attributes = std::move(*attributes),
                  .results = {{i, 0}}});
  }
  return patterns.finish(graph);
}

}  // namespace weft::passes
