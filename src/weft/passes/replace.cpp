#include "weft/passes/replace.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "weft/ir/infer.h"
#include "weft/passes/rewrite.h"

namespace weft {

void MergedOrigins::write(Graph& graph) const {
  for (const auto& [kept, origins] : merged_) {
    Origin origin = graph.node(kept).origin;
    std::unordered_set<std::string> known(origin.also.begin(), origin.also.end());
    known.insert(origin.label);
    known.insert("");
    const auto add = [&](const std::string& label) {
      if (known.insert(label).second) origin.also.push_back(label);
    };
    for (const Origin& merged : origins) {
      add(merged.label);
      for (const std::string& label : merged.also) add(label);
    }
    graph.set_origin(kept, std::move(origin));
  }
}

Patterns::Patterns(const Graph& graph, PassReport& report)
    : graph_(graph),
      report_(report),
      uses_(graph),
      weights_(weight_nodes(graph)),
      taken_(graph.nodes().size(), false) {}

const Node* Patterns::made_by(Value value, std::string_view op) const {
  if (!value.defined() || !is_free(value.node)) return nullptr;
  const Node& node = graph_.node(value.node);
  return node.schema->name == op ? &node : nullptr;
}

bool Patterns::may_disappear(Value value) {
  if (uses_.is_private(value)) return true;
  miss("MultiConsumer", value.node);
  return false;
}

void Patterns::miss(std::string_view reason, std::int32_t node) {
  report_.misses.push_back({std::string(reason), graph_.where(node)});
}

bool Patterns::add(Replacement replacement) {
  for (const std::int32_t member : replacement.members)
    if (graph_.node(member).backend_hint != graph_.node(replacement.root).backend_hint) {
      miss("HintsDiffer", replacement.root);
      return false;
    }
  for (const std::int32_t member : replacement.members) taken_[static_cast<std::size_t>(member)] = true;
  found_.push_back(std::move(replacement));
  return true;
}

namespace {

class Writer {
 public:
  Writer(const Graph& graph, std::vector<Replacement>& found)
      : graph_(graph),
        found_(found),
        rewriter_(graph),
        group_of_(graph.nodes().size(), -1),
        written_(graph.nodes().size(), false) {
    for (std::size_t group = 0; group < found.size(); ++group)
      for (const std::int32_t member : found[group].members)
        group_of_[static_cast<std::size_t>(member)] = static_cast<std::int32_t>(group);
  }

  // Replacements that cannot be made are told to `refused`.
  template <class Refused>
  Graph write(Refused refused) {
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const std::int32_t group = group_of_[static_cast<std::size_t>(i)];
      if (group < 0) {
        write_node(i);
        continue;
      }
      const Replacement& at = found_[static_cast<std::size_t>(group)];
      if (at.at != i || write_group(at)) continue;
      refused(at);
      // The members stay; those that come later have their turn.
      for (const std::int32_t member : at.members) group_of_[static_cast<std::size_t>(member)] = -1;
      std::vector<std::int32_t> members = at.members;
      std::sort(members.begin(), members.end());
      for (const std::int32_t member : members)
        if (member <= i) write_node(member);
    }
    origins_.write(rewriter_.target());
    return rewriter_.finish();
  }

 private:
  void write_node(std::int32_t index) {
    const auto at = static_cast<std::size_t>(index);
    if (written_[at]) return;
    for (const Value& input : graph_.node(index).inputs)
      if (input.defined() && group_of_[static_cast<std::size_t>(input.node)] < 0) write_node(input.node);
    written_[at] = true;
    rewriter_.keep(index);
  }

  bool write_group(const Replacement& replacement) {
    Graph& target = rewriter_.target();
    for (const Value& input : replacement.inputs)
      if (input.defined() && group_of_[static_cast<std::size_t>(input.node)] < 0) write_node(input.node);
    if (*replacement.op == '\0') return redirect(replacement);
    const Node& root = graph_.node(replacement.root);
    Node node;
    node.schema = &OpRegistry::global().at(replacement.op);
    for (const Value& input : replacement.inputs) {
      node.inputs.push_back(rewriter_.map(input));
      if (input.defined() && !node.inputs.back().defined()) return false;
    }
    while (!node.inputs.empty() && !node.inputs.back().defined()) node.inputs.pop_back();
    for (const AttributeSpec& spec : node.schema->attributes) node.attributes.push_back(spec.default_value);
    for (const Attribute& attribute : replacement.attributes)
      node.attributes[*node.schema->attribute_index(attribute.name)] = attribute.value;
    node.backend_hint = root.backend_hint;
    node.origin = root.origin;
    try {
      infer_node(target, node, graph_.where(replacement.root));
    } catch (const Error&) {
      return false;
    }
    if (node.outputs.size() != replacement.results.size()) return false;
    for (std::size_t port = 0; port < node.outputs.size(); ++port) {
      const Value old = replacement.results[port];
      if (!old.defined()) continue;
      if (node.outputs[port].type != graph_.type(old)) return false;
      node.outputs[port].name = graph_.node(old.node).outputs[static_cast<std::size_t>(old.port)].name;
    }
    const std::int32_t index = target.append_unchecked(std::move(node));
    for (const std::int32_t member : replacement.members)
      if (member != replacement.root) origins_.add(index, graph_.node(member).origin);
    for (std::size_t port = 0; port < replacement.results.size(); ++port)
      if (replacement.results[port].defined())
        rewriter_.replace(replacement.results[port], {index, static_cast<std::int32_t>(port)});
    return true;
  }

  bool redirect(const Replacement& replacement) {
    for (std::size_t i = 0; i < replacement.results.size(); ++i) {
      const Value now = rewriter_.map(replacement.inputs[i]);
      if (!now.defined() || graph_.type(replacement.results[i]) != graph_.type(replacement.inputs[i])) return false;
      rewriter_.replace(replacement.results[i], now);
      for (const std::int32_t member : replacement.members) origins_.add(now.node, graph_.node(member).origin);
    }
    return true;
  }

  const Graph& graph_;
  std::vector<Replacement>& found_;
  Rewriter rewriter_;
  MergedOrigins origins_;
  std::vector<std::int32_t> group_of_;
  std::vector<bool> written_;
};

}  // namespace

Graph Patterns::finish(Graph& graph) {
  std::size_t made = found_.size();
  if (made == 0) return std::move(graph);
  Graph rewritten = Writer(graph_, found_).write([&](const Replacement& refused) {
    --made;
    miss("TypeChanges", refused.root);
  });
  report_.matches += made;
  return made == 0 ? std::move(graph) : std::move(rewritten);
}

}  // namespace weft
