#include "weft/formats/graph_ir/structure.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/names.h"
#include "weft/formats/graph_ir/op_table.h"
#include "weft/formats/graph_ir/param_rules.h"

namespace weft::graph_ir {
namespace {

using NameSet = std::unordered_set<std::string_view>;

std::string allowed_counts(const OpDef& def) {
  std::vector<std::string> forms;
  for (const Form& form : input_forms(def)) {
    std::vector<std::string> slots;
    for (const Slot& slot : form)
      slots.push_back(fmt::format("{}{}{}", slot.name, slot.optional ? "?" : "", slot.repeats ? "..." : ""));
    forms.push_back(fmt::format("({})", fmt::join(slots, ", ")));
  }
  return fmt::format("{}", fmt::join(forms, " or "));
}

void add_arity(const Node& node, std::size_t index, Problems& problems) {
  const OpDef& def = op_def(node.op.tag);
  if (form_for(def, node.inputs.size()) == nullptr)
    problems.add(ErrorKind::invalid_graph, "BadArity", node_place(node, index),
                 fmt::format("takes {}, found {} inputs", allowed_counts(def), node.inputs.size()));
}

void add_output_count(const Node& node, std::size_t index, Problems& problems) {
  const std::size_t count = output_count(node.op);
  if (node.outputs.size() != count)
    problems.add(
        ErrorKind::invalid_graph, "BadOutputCount", node_place(node, index),
        fmt::format("gives {} outputs ({}), found {} names", count, op_def(node.op.tag).outputs, node.outputs.size()));
}

void require_well_formed(const Graph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (const auto reason = malformed(graph.nodes[i].op))
      fail(ErrorKind::invalid_graph, "BadParam", node_place(graph.nodes[i], i), "{}", *reason);
}

// The names of one graph, looked up by every rule below.
struct Names {
  explicit Names(const Graph& graph) {
    for (const NamedSpec& input : graph.inputs) inputs.insert(input.name);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (const std::string& name : graph.nodes[i].outputs) producer.emplace(name, i);
  }

  NameSet inputs;
  std::unordered_map<std::string_view, std::size_t> producer;
};

class Checker {
 public:
  Checker(const Graph& graph, bool weights_indexed, Problems& problems)
      : graph_(graph), names_(graph), weights_(weights_indexed ? &graph.weights : nullptr), problems_(problems) {}

  void run() {
    node_ids();
    for_each_node([&](const Node& node, std::size_t i) { add_arity(node, i, problems_); });
    for_each_node([&](const Node& node, std::size_t i) { add_output_count(node, i, problems_); });
    producers();
    shadowing();
    for_each_node([&](const Node& node, std::size_t i) {
      if (std::find(node.outputs.begin(), node.outputs.end(), pos_name) != node.outputs.end())
        add(node, i, "ReservedName",
            "\"pos\" is the position that the executor supplies; give this output another name");
    });
    repeated_io();
    undefined_inputs();
    order();
    outputs();
    missing_weights();
  }

 private:
  void for_each_node(const std::function<void(const Node&, std::size_t)>& use) {
    for (std::size_t i = 0; i < graph_.nodes.size() && !problems_.full(); ++i) use(graph_.nodes[i], i);
  }

  void add(const Node& node, std::size_t index, const char* code, std::string message) {
    problems_.add(ErrorKind::invalid_graph, code, node_place(node, index), std::move(message));
  }
  void add(const char* where, const char* code, std::string message) {
    problems_.add(ErrorKind::invalid_graph, code, where, std::move(message));
  }

  void node_ids() {
    std::unordered_map<std::uint32_t, std::size_t> first;
    for_each_node([&](const Node& node, std::size_t i) {
      const auto [known, added] = first.emplace(node.id, i);
      if (!added)
        add(node, i, "DuplicateNodeId",
            fmt::format("node {} has the id {} already; ids are unique", known->second, node.id));
    });
  }

  void producers() {
    std::unordered_map<std::string_view, std::size_t> first;
    for_each_node([&](const Node& node, std::size_t i) {
      for (const std::string& name : node.outputs) {
        const auto [known, added] = first.emplace(name, i);
        if (!added)
          add(node, i, "DuplicateProducer",
              fmt::format("\"{}\" is an output of node {} already; a name stands for one value", name, known->second));
      }
    });
  }

  void shadowing() {
    for_each_node([&](const Node& node, std::size_t i) {
      for (const std::string& name : node.outputs) {
        if (names_.inputs.count(name) != 0)
          add(node, i, "ShadowedName", fmt::format("the output \"{}\" has the name of a graph input", name));
        else if (graph_.weights.count(name) != 0)
          add(node, i, "ShadowedName", fmt::format("the output \"{}\" has the name of a weight", name));
      }
    });
    for (const NamedSpec& input : graph_.inputs)
      if (graph_.weights.count(input.name) != 0)
        add("graph inputs", "ShadowedName", fmt::format("\"{}\" is an input and a weight", input.name));
  }

  void repeated_io() {
    NameSet seen;
    for (const NamedSpec& input : graph_.inputs)
      if (!seen.insert(input.name).second)
        add("graph inputs", "DuplicateInput", fmt::format("the input \"{}\" is listed twice", input.name));
    seen.clear();
    for (const std::string& name : graph_.outputs)
      if (!seen.insert(name).second)
        add("graph outputs", "DuplicateOutput", fmt::format("the output \"{}\" is listed twice", name));
  }

  bool is_known(std::string_view name) const {
    return names_.producer.count(name) != 0 || names_.inputs.count(name) != 0 || weights_.contains(name) ||
           find_weight(graph_.weights, name) != nullptr || name == pos_name;
  }

  // A name that only a weight could carry, in a graph whose weights are listed.
  bool is_missing_weight(std::string_view name) const { return !is_known(name) && WeightNames(nullptr).contains(name); }

  void undefined_inputs() {
    for_each_node([&](const Node& node, std::size_t i) {
      for (const std::string& name : node.inputs)
        if (!is_known(name) && !is_missing_weight(name))
          add(node, i, "UndefinedInput",
              fmt::format("reads \"{}\", which is no output of a node, no graph input and no weight", name));
    });
  }

  void order() {
    std::vector<std::size_t> cycle;
    topological_order(graph_.nodes, cycle);
    if (!cycle.empty()) {
      std::vector<std::string> places;
      for (const std::size_t i : cycle) places.push_back(fmt::format("{}", i));
      add(graph_.nodes[cycle.front()], cycle.front(), "Cycle",
          fmt::format(
              "nodes {} each read what the one before gives, and the first reads the last; no order can run them",
              fmt::join(places, ", ")));
      return;
    }
    for_each_node([&](const Node& node, std::size_t i) {
      for (const std::string& name : node.inputs)
        if (const auto found = names_.producer.find(name); found != names_.producer.end() && found->second >= i)
          add(node, i, "NotTopological",
              fmt::format("reads \"{}\", which node {} gives only later; store the nodes in an order that can run",
                          name, found->second));
    });
  }

  void outputs() {
    for (const std::string& name : graph_.outputs)
      if (!is_known(name))
        add("graph outputs", "OutputUndefined",
            fmt::format("\"{}\" is no output of a node, no graph input and no weight", name));
    if (!graph_.nodes.empty() && graph_.outputs.empty())
      add("graph outputs", "NoOutputs", "a graph with nodes needs at least one output");
  }

  void missing_weights() {
    NameSet reported;
    for_each_node([&](const Node& node, std::size_t i) {
      for (const std::string& name : node.inputs)
        if (is_missing_weight(name) && reported.insert(name).second)
          problems_.add(ErrorKind::missing_tensor, "WeightMissing", node_place(node, i),
                        fmt::format("needs the weight \"{}\", which the tensors index does not list", name));
    });
  }

  const Graph& graph_;
  Names names_;
  WeightNames weights_;
  Problems& problems_;
};

// One cycle among the nodes that `blocked` marks, each of which reads from another marked one.
std::vector<std::size_t> find_cycle(const std::vector<std::vector<std::size_t>>& reads_from,
                                    const std::vector<std::size_t>& blocked) {
  // Walking backwards from any blocked node stays among blocked nodes, so it must come round.
  std::vector<std::size_t> path;
  std::unordered_map<std::size_t, std::size_t> at;
  std::size_t node = static_cast<std::size_t>(
      std::find_if(blocked.begin(), blocked.end(), [](std::size_t count) { return count > 0; }) - blocked.begin());
  while (at.emplace(node, path.size()).second) {
    path.push_back(node);
    for (const std::size_t other : reads_from[node])
      if (blocked[other] > 0) {
        node = other;
        break;
      }
  }
  std::vector<std::size_t> cycle(path.begin() + static_cast<std::ptrdiff_t>(at[node]), path.end());
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

}  // namespace

void check_arities(const Graph& graph) {
  require_well_formed(graph);
  Problems problems;
  for (std::size_t i = 0; i < graph.nodes.size() && !problems.full(); ++i) add_arity(graph.nodes[i], i, problems);
  for (std::size_t i = 0; i < graph.nodes.size() && !problems.full(); ++i)
    add_output_count(graph.nodes[i], i, problems);
  problems.throw_if_any();
}

void check_structure(const Graph& graph, bool weights_indexed, Problems& problems) {
  require_well_formed(graph);
  Checker(graph, weights_indexed, problems).run();
}

std::vector<std::size_t> topological_order(const std::vector<Node>& nodes, std::vector<std::size_t>& cycle) {
  std::unordered_map<std::string_view, std::size_t> producer;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const std::string& name : nodes[i].outputs) producer.emplace(name, i);
  std::vector<std::vector<std::size_t>> reads_from(nodes.size()), read_by(nodes.size());
  std::vector<std::size_t> blocked(nodes.size());  // how many inputs still wait for their node
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const std::string& name : nodes[i].inputs)
      if (const auto found = producer.find(name); found != producer.end()) {
        reads_from[i].push_back(found->second);
        read_by[found->second].push_back(i);
        ++blocked[i];
      }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (blocked[i] == 0) ready.push(i);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const std::size_t reader : read_by[node])
      if (--blocked[reader] == 0) ready.push(reader);
  }
  cycle.clear();
  if (order.size() == nodes.size()) return order;
  cycle = find_cycle(reads_from, blocked);
  return {};
}

std::vector<Warning> structure_warnings(const Graph& graph) {
  constexpr std::size_t most_of_a_code = 32;
  std::vector<Warning> warnings;
  NameSet wanted(graph.outputs.begin(), graph.outputs.end());
  std::size_t dead = 0;
  std::vector<Warning> dead_nodes;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const bool alive =
        node.op.tag == Tag::kv_cache || std::any_of(node.outputs.begin(), node.outputs.end(),
                                                    [&](const std::string& name) { return wanted.count(name) != 0; });
    if (alive) {
      wanted.insert(node.inputs.begin(), node.inputs.end());
    } else if (++dead <= most_of_a_code) {
      dead_nodes.push_back({"DeadNode", node_place(node, i), "no graph output needs what this node gives"});
    }
  }
  warnings.insert(warnings.end(), dead_nodes.rbegin(), dead_nodes.rend());

  NameSet consumed(graph.outputs.begin(), graph.outputs.end());
  for (const Node& node : graph.nodes) consumed.insert(node.inputs.begin(), node.inputs.end());
  for (const NamedSpec& input : graph.inputs) {
    if (consumed.count(input.name) == 0)
      warnings.push_back({"UnusedInput", "graph inputs", fmt::format("no node reads \"{}\"", input.name)});
    if (input.spec.offset)
      warnings.push_back({"InputHasOffset", "graph inputs",
                          fmt::format("\"{}\" carries a byte range, which only weights have", input.name)});
  }
  NameSet used_weights;
  for (const std::string_view name : consumed)
    if (const auto key = weight_key(graph.weights, name)) used_weights.insert(*key);
  std::size_t unused = 0;
  for (const auto& [name, spec] : graph.weights)
    if (used_weights.count(name) == 0 && ++unused <= most_of_a_code)
      warnings.push_back({"UnusedWeight", "graph weights", fmt::format("no node reads \"{}\"", name)});
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].id != i) {
      warnings.push_back({"NonSequentialId", node_place(graph.nodes[i], i), "ids do not count the nodes from 0"});
      break;
    }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].op.tag == Tag::rope)
      if (const float base = graph.nodes[i].op.get<float>("base"); base < 1.0f || base > 1e9f)
        warnings.push_back(
            {"RopeBaseRange", node_place(graph.nodes[i], i), fmt::format("a base of {} lies outside 1 to 1e9", base)});
  return warnings;
}

}  // namespace weft::graph_ir
