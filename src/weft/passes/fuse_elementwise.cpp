// Chains of elementwise ops become regions, whose intermediate values never leave the cache.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "weft/ops/elementwise_region.h"
#include "weft/passes/passes.h"
#include "weft/passes/replace.h"

namespace weft::passes {
namespace {

class Region {
 public:
  Region(Patterns& patterns, std::int32_t root)
      : patterns_(patterns), graph_(patterns.graph()), root_(root), shape_(graph_.node(root).outputs[0].type.shape) {}

  // The nodes that end in the root and are read by nobody else, as far as the limits allow.
  bool grow() {
    if (!fits(root_)) return false;
    take(root_);
    // From the last to the first, so that all readers of a node are decided before it.
    while (!pending_.empty()) {
      const std::int32_t candidate = *pending_.begin();
      pending_.erase(pending_.begin());
      if (members_.size() < most_region_steps && read_by_members_only(candidate) && fits(candidate)) take(candidate);
    }
    return members_.size() > 1;
  }

  Replacement replacement() const {
    Replacement result{.root = root_, .members = {}, .at = root_, .op = "ElementwiseRegion", .results = {{root_, 0}}};
    std::vector<RegionStep> steps;
    for (const std::int32_t member : members_) {
      RegionStep step = *region_step_of(graph_.node(member));
      for (const Value& input : graph_.node(member).inputs) step.operands.push_back(operand(result, input));
      steps.push_back(std::move(step));
      result.members.push_back(member);
    }
    result.attributes = {{"chain", AttributeValue(region_text(steps))}};
    return result;
  }

 private:
  bool is_member(std::int32_t node) const { return members_.contains(node); }

  bool read_by_members_only(std::int32_t node) const {
    const auto users = patterns_.uses().users({node, 0});
    if (patterns_.uses().is_output({node, 0}) || users.size() > 3 * most_region_steps) return false;
    return std::all_of(users.begin(), users.end(), [&](const Value& user) { return is_member(user.node); });
  }

  // The root's shape, hint, operands that broadcast in the region's way, and not too many of them.
  bool fits(std::int32_t index) {
    const Node& node = graph_.node(index);
    if (!patterns_.is_free(index) || !region_step_of(node) || node.outputs[0].type.shape != shape_ ||
        node.backend_hint != graph_.node(root_).backend_hint)
      return false;
    std::set<std::pair<std::int32_t, std::int32_t>> operands = operands_;
    operands.erase({index, 0});
    for (const Value& input : node.inputs) {
      if (!region_broadcast(graph_.type(input).shape, shape_)) {
        patterns_.miss("BroadcastNotTrailing", index);
        return false;
      }
      operands.insert({input.node, input.port});
    }
    if (operands.size() > most_region_inputs) {
      patterns_.miss("TooManyInputs", index);
      return false;
    }
    operands_ = std::move(operands);
    return true;
  }

  void take(std::int32_t index) {
    members_.insert(index);
    for (const Value& input : graph_.node(index).inputs)
      if (patterns_.is_free(input.node) && region_step_of(graph_.node(input.node))) pending_.insert(input.node);
  }

  RegionOperand operand(Replacement& result, Value value) const {
    if (is_member(value.node))
      return {true, static_cast<std::size_t>(std::distance(members_.begin(), members_.find(value.node)))};
    auto at = std::find(result.inputs.begin(), result.inputs.end(), value);
    if (at == result.inputs.end()) at = result.inputs.insert(at, value);
    return {false, static_cast<std::size_t>(at - result.inputs.begin())};
  }

  Patterns& patterns_;
  const Graph& graph_;
  std::int32_t root_;
  const Shape& shape_;
  std::set<std::int32_t> members_;
  std::set<std::int32_t, std::greater<>> pending_;
  std::set<std::pair<std::int32_t, std::int32_t>> operands_;  // what the members read from outside
};

}  // namespace

Graph elementwise_region(Graph graph, PassReport& report) {
  Patterns patterns(graph, report);
  for (std::int32_t i = graph.size(); i-- > 0;) {
    if (!patterns.is_free(i) || !region_step_of(graph.node(i))) continue;
    Region region(patterns, i);
    if (region.grow()) patterns.add(region.replacement());
  }
  return patterns.finish(graph);
}

}  // namespace weft::passes
