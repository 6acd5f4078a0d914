// SwiGLU over the two halves of one tensor.
#include <optional>

#include "weft/passes/passes.h"
#include "weft/passes/replace.h"

namespace weft::passes {
namespace {

// A half of the last axis of a tensor.
struct Half {
  Value whole;
  bool second = false;
};

std::optional<Half> half_of(const Patterns& patterns, Value value) {
  const Graph& graph = patterns.graph();
  std::int64_t start = 0, length = 0;
  const Node* node = patterns.made_by(value, "Narrow");
  if (node != nullptr) {
    start = node->integer("start");
    length = node->integer("len");
  } else if (node = patterns.made_by(value, "Split"); node != nullptr) {
    const auto& sizes = node->integers("sizes");
    if (sizes.size() != 2) return std::nullopt;
    start = value.port == 0 ? 0 : sizes[0];
    length = sizes[static_cast<std::size_t>(value.port)];
  } else {
    return std::nullopt;
  }
  const Shape& whole = graph.type(node->inputs[0]).shape;
  const std::int64_t axis = node->integer("axis"), rank = static_cast<std::int64_t>(whole.rank());
  if (axis != -1 && axis != rank - 1) return std::nullopt;
  if (whole.back() != Dim(2 * length) || (start != 0 && start != length)) return std::nullopt;
  return Half{node->inputs[0], start != 0};
}

}  // namespace

Graph swiglu(Graph graph, PassReport& report) {
  Patterns patterns(graph, report);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.schema->name != "Binary" || node.text("kind") != "mul") continue;
    for (const std::size_t side : {0, 1}) {
      const Value activated = node.inputs[side], up_value = node.inputs[1 - side];
      const Node* act = patterns.made_by(activated, "Activation");
      if (act == nullptr || act->text("kind") != "silu") continue;
      const auto gate = half_of(patterns, act->inputs[0]), up = half_of(patterns, up_value);
      if (!gate || !up) continue;
      if (gate->whole != up->whole || gate->second == up->second) {
        patterns.miss("SwigluNotSharedInput", i);
        continue;
      }
      if (!patterns.may_disappear(act->inputs[0]) || !patterns.may_disappear(activated) ||
          !patterns.may_disappear(up_value))
        continue;
      Replacement replacement{.root = i,
                              .members = {act->inputs[0].node, activated.node, i},
                              .at = i,
                              .op = "FusedSwiGLU",
                              .inputs = {gate->whole},
                              .attributes = {{"gate_first", !gate->second}},
                              .results = {{i, 0}}};
      if (up_value.node != act->inputs[0].node) replacement.members.push_back(up_value.node);
      // A Cast that alone reads the product goes along.
      const Value product{i, 0};
      if (patterns.uses().is_private(product)) {
        const std::int32_t user = patterns.uses().users(product)[0].node;
        if (patterns.made_by({user, 0}, "Cast") != nullptr) {
          replacement.root = replacement.at = user;
          replacement.members.push_back(user);
          replacement.attributes.emplace_back("cast_to", graph.node(user).dtype("to"));
          replacement.results = {{user, 0}};
        }
      }
      patterns.add(std::move(replacement));
      break;
    }
  }
  return patterns.finish(graph);
}

}  // namespace weft::passes
