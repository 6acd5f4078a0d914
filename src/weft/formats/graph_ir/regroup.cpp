#include "weft/formats/graph_ir/regroup.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "weft/base/error.h"
#include "weft/formats/graph_ir/lower.h"
#include "weft/formats/graph_ir/op_table.h"
#include "weft/formats/graph_ir/validate.h"

namespace weft::graph_ir {
namespace {

bool is_helper(const weft::Node& node) { return node.origin.format != "graph_ir" || node.origin.op.empty(); }

std::vector<NodeGroup> groups_of(const weft::Graph& mir) {
  std::vector<NodeGroup> groups;
  std::map<std::tuple<std::int64_t, std::string, std::string>, std::size_t> known;
  for (std::int32_t i = 0; i < mir.size(); ++i) {
    const Origin& origin = mir.node(i).origin;
    if (is_helper(mir.node(i)) || !origin.id) continue;
    const OpDef* def = find_op(origin.op);
    if (def == nullptr) continue;
    const auto [at, added] = known.try_emplace({*origin.id, origin.op, origin.label}, groups.size());
    if (added) groups.push_back({mir, def->tag, {}});
    groups[at->second].nodes.push_back(i);
  }
  return groups;
}

// A Graph IR graph of the guessed node (and of readers that are not lowered), over inputs that have the types of its
// operands.
struct Trial {
  Graph source;
  weft::Graph mir{"trial"};
  std::vector<Value> operands;  // of the original, by the node of the trial that stands for each

  Trial(const NodeGroup& group, const Guess& guess) {
    Node node;
    node.op = guess.op;
    node.attrs = guess.attrs;
    for (const Value operand : guess.operands) {
      const auto known = std::find(operands.begin(), operands.end(), operand);
      node.inputs.push_back("operand " + std::to_string(known - operands.begin()));
      if (known == operands.end()) operands.push_back(operand);
    }
    node.outputs = guess.outputs;
    for (std::size_t i = node.outputs.size(); i < output_count(guess.op); ++i)
      node.outputs.push_back("result " + std::to_string(i));
    node.id = static_cast<std::uint32_t>(*group.node(0).origin.id);
    node.backend_hint = backend_hint_from_name(group.node(0).backend_hint);
    source.outputs = node.outputs;
    source.nodes.push_back(std::move(node));
    for (const Op& reader : guess.readers)
      source.nodes.push_back(
          {0, reader, {"query", source.nodes[0].outputs[0], source.nodes[0].outputs[1]}, {}, {}, {}});
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const TensorType& type = group.mir.type(operands[i]);
      const std::string name = "operand " + std::to_string(i);
      mir.add("Input", {}, {{"name", name}, {"shape", type.shape}, {"dtype", type.dtype}});
      source.inputs.push_back({name, {plain_shape(type.shape), type.dtype, {}, {}}});
    }
  }
};

// The results of the group if lowering the guess gives its nodes.
std::optional<std::vector<Value>> confirmed(const NodeGroup& group, const Guess& guess) {
  for (const Value operand : guess.operands)
    if (!operand.defined()) return std::nullopt;
  Trial trial(group, guess);
  const Node& node = trial.source.nodes[0];
  Uses uses;
  for (std::size_t i = 0; i < trial.source.nodes.size(); ++i)
    for (std::size_t k = 0; k < trial.source.nodes[i].inputs.size(); ++k)
      uses[trial.source.nodes[i].inputs[k]].push_back({i, k});
  LowerTarget target{trial.source, uses, trial.mir, {}, {}, {}, weft::Dim(1)};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto at = std::find(trial.operands.begin(), trial.operands.end(), guess.operands[i]);
    target.values[node.inputs[i]] = {static_cast<std::int32_t>(at - trial.operands.begin()), 0};
  }
  try {
    Graph alone = trial.source;
    alone.nodes.resize(1);
    validate(alone);  // as rules expect it: origins may claim anything
    LowerContext context(target, node, 0);
    op_def(node.op.tag).lower(context);
  } catch (const Error&) {
    return std::nullopt;  // not that op
  }
  const auto inputs = static_cast<std::int32_t>(trial.operands.size());
  if (trial.mir.size() - inputs != static_cast<std::int32_t>(group.size())) return std::nullopt;
  const auto original = [&](Value value) {
    if (!value.defined()) return value;
    if (value.node < inputs) return trial.operands[static_cast<std::size_t>(value.node)];
    return Value{group.nodes[static_cast<std::size_t>(value.node - inputs)], value.port};
  };
  for (std::size_t i = 0; i < group.size(); ++i) {
    const weft::Node &again = trial.mir.node(inputs + static_cast<std::int32_t>(i)), &found = group.node(i);
    if (again.schema != found.schema || again.backend_hint != found.backend_hint ||
        again.inputs.size() != found.inputs.size())
      return std::nullopt;
    for (std::size_t k = 0; k < again.inputs.size(); ++k)
      if (original(again.inputs[k]) != found.inputs[k]) return std::nullopt;
    for (std::size_t k = 0; k < again.attributes.size(); ++k)
      if (!same_value(again.attributes[k], found.attributes[k])) return std::nullopt;
  }
  std::vector<Value> results;
  for (const std::string& name : node.outputs) results.push_back(original(target.values.at(name)));
  return results;
}

}  // namespace

const weft::Node* NodeGroup::find(std::string_view op) const {
  for (std::size_t i = 0; i < size(); ++i)
    if (node(i).schema->name == op) return &node(i);
  return nullptr;
}

std::size_t NodeGroup::count(std::string_view op) const {
  return static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [&](std::int32_t at) { return mir.node(at).schema->name == op; }));
}

std::vector<Regrouped> regrouped(const weft::Graph& mir) {
  std::vector<Regrouped> found;
  for (const NodeGroup& group : groups_of(mir))
    for (Guess& guess : guesses(group))
      if (auto results = confirmed(group, guess)) {
        found.push_back(
            {group.nodes, std::move(guess.op), std::move(guess.operands), std::move(guess.attrs), *results});
        break;
      }
  // Of each node its group; a group whose inner values are read elsewhere, or whose results are read before it is
  // whole, has to stay apart.
  std::vector<std::size_t> group_of(static_cast<std::size_t>(mir.size()), found.size());
  for (std::size_t g = 0; g < found.size(); ++g)
    for (const std::int32_t node : found[g].nodes) group_of[static_cast<std::size_t>(node)] = g;
  std::vector<bool> apart(found.size());
  const auto read = [&](Value value, std::size_t reader_group, std::int32_t reader) {
    if (!value.defined()) return;
    const std::size_t g = group_of[static_cast<std::size_t>(value.node)];
    if (g == found.size() || g == reader_group) return;
    const auto& results = found[g].results;
    if (std::find(results.begin(), results.end(), value) == results.end() || reader < found[g].nodes.back())
      apart[g] = true;
  };
  for (std::int32_t i = 0; i < mir.size(); ++i)
    for (const Value input : mir.node(i).inputs) read(input, group_of[static_cast<std::size_t>(i)], i);
  for (const GraphOutput& output : mir.outputs()) read(output.value, found.size(), mir.size());
  std::vector<Regrouped> whole;
  for (std::size_t g = 0; g < found.size(); ++g)
    if (!apart[g]) whole.push_back(std::move(found[g]));
  return whole;
}

}  // namespace weft::graph_ir
