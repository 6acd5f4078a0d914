// Matrix products take in what surrounds them.
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "weft/ops/activation.h"
#include "weft/ops/fused_matmul.h"
#include "weft/passes/passes.h"
#include "weft/passes/replace.h"

namespace weft::passes {
namespace {

// x w + bias, then perhaps an activation, as one or a few nodes of the graph.
struct Product {
  Value x, w, bias, residual;
  bool transpose_b = false;
  std::string activation = "none";
  std::vector<std::int32_t> members;
};

// A MatMul that a fused op can be made of, or a FusedMatMulBiasAct.
std::optional<Product> product_of(Patterns& patterns, Value value) {
  const Graph& graph = patterns.graph();
  if (const Node* node = patterns.made_by(value, "FusedMatMulBiasAct")) {
    if (norm_of_rows(*node)) return std::nullopt;  // whole already
    const auto operand = [&](std::size_t i) { return i < node->inputs.size() ? node->inputs[i] : Value(); };
    return Product{
        operand(0),  operand(1), operand(2), operand(3), node->boolean("transpose_b"), node->text("activation"),
        {value.node}};
  }
  const Node* node = patterns.made_by(value, "MatMul");
  if (node == nullptr) return std::nullopt;
  const TensorType &x = graph.type(node->inputs[0]), &w = graph.type(node->inputs[1]);
  if (node->boolean("transpose_a") || w.shape.rank() != 2 || x.shape.rank() == 0 || !is_float(x.dtype))
    return std::nullopt;
  return Product{node->inputs[0], node->inputs[1], {}, {}, node->boolean("transpose_b"), "none", {value.node}};
}

bool is_plain(const Product& product) { return product.activation == "none" && !product.residual.defined(); }

// The kind of an Activation that a product can end with.
std::optional<std::string> epilogue_kind(const Node& node) {
  const std::string& kind = node.text("kind");
  if (node.optional_real("alpha") || !ops::is_epilogue_kind(kind)) return std::nullopt;
  return kind;
}

Replacement fused(Product product, Value result) {
  return {.root = result.node,
          .members = std::move(product.members),
          .at = result.node,
          .op = "FusedMatMulBiasAct",
          .inputs = {product.x, product.w, product.bias, product.residual},
          .attributes = {{"activation", AttributeValue(product.activation)}, {"transpose_b", product.transpose_b}},
          .results = {result}};
}

bool is_binary(const Node& node, std::string_view kind) {
  return node.schema->name == "Binary" && node.text("kind") == kind;
}

}  // namespace

Graph matmul_bias(Graph graph, PassReport& report) {
  Patterns patterns(graph, report);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (!is_binary(node, "add")) continue;
    for (const std::size_t side : {0, 1}) {
      auto product = product_of(patterns, node.inputs[side]);
      const Value bias = node.inputs[1 - side];
      if (!product || !is_plain(*product) || product->bias.defined()) continue;
      const Shape &rows = graph.type(node.inputs[side]).shape, &given = graph.type(bias).shape;
      if (rows != node.outputs[0].type.shape || given.rank() == 0 || given == rows) continue;
      if (given.rank() > 1) {
        patterns.miss("BiasRankTooHigh", i);
        continue;
      }
      if (given[0] != rows.back() || !patterns.may_disappear(node.inputs[side])) continue;
      product->bias = bias;
      product->members.push_back(i);
      patterns.add(fused(std::move(*product), {i, 0}));
      break;
    }
  }
  return patterns.finish(graph);
}

Graph gated_matmul(Graph graph, PassReport& report) {
  Patterns patterns(graph, report);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (!is_binary(node, "mul")) continue;
    for (const std::size_t side : {0, 1}) {
      const Value activated = node.inputs[side], up_value = node.inputs[1 - side];
      const Node* act = patterns.made_by(activated, "Activation");
      if (act == nullptr) continue;
      const auto kind = epilogue_kind(*act);
      const auto gate = product_of(patterns, act->inputs[0]), up = product_of(patterns, up_value);
      if (!gate || !up || !is_plain(*gate) || !is_plain(*up)) continue;
      if (!kind) {
        patterns.miss("UnsupportedEpilogueActivation", activated.node);
        continue;
      }
      if (gate->x != up->x) {
        patterns.miss("SwigluNotSharedInput", i);
        continue;
      }
      if (gate->transpose_b != up->transpose_b || graph.type(act->inputs[0]) != graph.type(up_value)) continue;
      if (!patterns.may_disappear(act->inputs[0]) || !patterns.may_disappear(activated) ||
          !patterns.may_disappear(up_value))
        continue;
      patterns.add({.root = i,
                    .members = {act->inputs[0].node, up_value.node, activated.node, i},
                    .at = i,
                    .op = "FusedGatedMatMul",
                    .inputs = {gate->x, gate->w, up->w, gate->bias, up->bias},
                    .attributes = {{"activation", AttributeValue(*kind)}, {"transpose_b", gate->transpose_b}},
                    .results = {{i, 0}}});
      break;
    }
  }
  return patterns.finish(graph);
}

namespace {

// ... with the activation that follows the product, which only `value` may read.
std::optional<Product> activated_product(Patterns& patterns, Value value) {
  const Node* act = patterns.made_by(value, "Activation");
  if (act == nullptr) return product_of(patterns, value);
  const auto kind = epilogue_kind(*act);
  auto product = product_of(patterns, act->inputs[0]);
  if (!product || !is_plain(*product)) return std::nullopt;
  if (!kind) {
    patterns.miss("UnsupportedEpilogueActivation", value.node);
    return std::nullopt;
  }
  if (!patterns.may_disappear(act->inputs[0])) return std::nullopt;
  product->activation = *kind;
  product->members.push_back(value.node);
  return product;
}

bool fuse_residual(Patterns& patterns, std::int32_t index) {
  const Node& node = patterns.graph().node(index);
  const TensorType& type = node.outputs[0].type;
  // Of two products the later one takes the other as its residual.
  const std::size_t later = node.inputs[0].node > node.inputs[1].node ? 0 : 1;
  for (const std::size_t side : {later, 1 - later}) {
    const Value value = node.inputs[side], residual = node.inputs[1 - side];
    if (patterns.graph().type(value) != type || patterns.graph().type(residual) != type || value == residual) continue;
    auto product = activated_product(patterns, value);
    if (!product || product->residual.defined() || !patterns.may_disappear(value)) continue;
    product->residual = residual;
    product->members.push_back(index);
    if (patterns.add(fused(std::move(*product), {index, 0}))) return true;
  }
  return false;
}

}  // namespace

Graph matmul_epilogue(Graph graph, PassReport& report) {
  Patterns patterns(graph, report);
  // From the end, so that an addition takes the activation before it along.
  for (std::int32_t i = graph.size(); i-- > 0;) {
    const Node& node = graph.node(i);
    if (!patterns.is_free(i)) continue;
    if (is_binary(node, "add")) {
      fuse_residual(patterns, i);
    } else if (node.schema->name == "Activation") {
      auto product = activated_product(patterns, {i, 0});
      if (product) patterns.add(fused(std::move(*product), {i, 0}));
    }
  }
  return patterns.finish(graph);
}

namespace {

using PlacedProduct = std::pair<std::int32_t, Product>;

Replacement shared(std::span<const PlacedProduct> products) {
  const auto& [root, model] = products.front();
  Replacement replacement{.root = root, .members = {}, .at = root, .op = "FusedSharedMatMul"};
  std::vector<Value> biases;
  std::vector<std::int64_t> biased;
  replacement.inputs.push_back(model.x);
  for (const auto& [index, product] : products) {
    replacement.members.push_back(index);
    replacement.inputs.push_back(product.w);
    replacement.results.push_back({index, 0});
    if (!product.bias.defined()) continue;
    biases.push_back(product.bias);
    biased.push_back(static_cast<std::int64_t>(replacement.results.size()) - 1);
  }
  replacement.inputs.insert(replacement.inputs.end(), biases.begin(), biases.end());
  replacement.attributes = {{"biased", AttributeValue(std::move(biased))}, {"transpose_b", model.transpose_b}};
  return replacement;
}

}  // namespace

Graph shared_matmul(Graph graph, PassReport& report) {
  constexpr std::size_t most_projections = 8;  // more would keep too many results alive at once
  Patterns patterns(graph, report);
  // By input, form of the weights and hint; in the order of the graph.
  std::map<std::tuple<std::int32_t, std::int32_t, bool, std::string>, std::vector<PlacedProduct>> candidates;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    auto product = product_of(patterns, {i, 0});
    if (!product || !is_plain(*product)) continue;
    // Weights move in front of the first product.
    if (!patterns.is_weight(product->w) || (product->bias.defined() && !patterns.is_weight(product->bias))) continue;
    candidates[{product->x.node, product->x.port, product->transpose_b, graph.node(i).backend_hint}].emplace_back(
        i, std::move(*product));
  }
  for (const auto& [key, products] : candidates) {
    for (std::size_t first = 0; first < products.size(); first += most_projections) {
      const std::size_t count = std::min(most_projections, products.size() - first);
      if (count > 1) patterns.add(shared(std::span(products).subspan(first, count)));
    }
  }
  return patterns.finish(graph);
}

Graph norm_matmul(Graph graph, PassReport& report) {
  Patterns patterns(graph, report);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    const std::string& op = node.schema->name;
    const bool shares = op == "FusedSharedMatMul", gates = op == "FusedGatedMatMul";
    if (!shares && !gates && !product_of(patterns, {i, 0})) continue;
    const Value rows = node.inputs[0];
    const Node* norm = patterns.made_by(rows, "RmsNorm");
    if (norm == nullptr || norm_of_rows(node) || !patterns.is_weight(node.inputs[1])) continue;
    const auto operand = [](const Node& of, std::size_t k) { return k < of.inputs.size() ? of.inputs[k] : Value(); };
    if (!operand(*norm, 1).defined() || operand(*norm, 2).defined()) {
      patterns.miss("NormWithoutGainOrWithBias", rows.node);
      continue;
    }
    if (!patterns.may_disappear(rows)) continue;
    Replacement replacement{.root = i, .members = {rows.node, i}, .at = i, .op = "FusedMatMulBiasAct"};
    if (shares || gates) replacement.op = shares ? "FusedSharedMatMul" : "FusedGatedMatMul";
    replacement.inputs = node.inputs;
    replacement.inputs[0] = norm->inputs[0];
    if (!shares) replacement.inputs.resize(gates ? 5 : 4);  // the biases and the residual, there or not
    replacement.inputs.push_back(norm->inputs[1]);
    replacement.attributes = {{"norm_eps", norm->real("eps")}, {"transpose_b", node.boolean("transpose_b")}};
    if (shares)
      replacement.attributes.emplace_back("biased", node.integers("biased"));
    else if (op != "MatMul")
      replacement.attributes.emplace_back("activation", node.text("activation"));
    for (std::size_t port = 0; port < node.outputs.size(); ++port)
      replacement.results.push_back({i, static_cast<std::int32_t>(port)});
    patterns.add(std::move(replacement));
  }
  return patterns.finish(graph);
}

}  // namespace weft::passes
