#include "weft/models/verify/graph_difference.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <vector>

#include "weft/base/sha256.h"
#include "weft/ir/attribute.h"
#include "weft/ir/op_schema.h"

namespace weft {
namespace {

// Numbers expressions: nodes of equal op, attributes and operands have one number.
class Expressions {
 public:
  std::vector<std::int64_t> number(const Graph& graph) {
    std::vector<std::int64_t> numbers;
    for (const Node& node : graph.nodes()) {
      std::string key = describe(node) + "(";
      for (const Value& input : node.inputs)
        key +=
            input.defined() ? fmt::format("{}#{},", numbers[static_cast<std::size_t>(input.node)], input.port) : "_,";
      numbers.push_back(known_.emplace(std::move(key), static_cast<std::int64_t>(known_.size())).first->second);
    }
    return numbers;
  }

  static std::string describe(const Node& node) {
    std::string text = node.schema->name + "{";
    for (std::size_t i = 0; i < node.attributes.size(); ++i)
      text += fmt::format("{}{}={}", i == 0 ? "" : ", ", node.schema->attributes[i].name,
                          value_text(node.attributes[i], node.schema->attributes[i].type));
    return text + "}";
  }

 private:
  static std::string value_text(const AttributeValue& value, AttributeType type) {
    const auto* tensor = std::get_if<Tensor>(&value);
    if (tensor == nullptr) return attribute_text(value, type);
    return fmt::format("{} {} {}", to_string(tensor->dtype()), dims_text(tensor->dims()), sha256_hex(tensor->bytes()));
  }

  std::map<std::string, std::int64_t> known_;
};

// The first node whose expression the other graph lacks: all before it are there.
std::string first_alone(const Graph& graph, const std::vector<std::int64_t>& numbers,
                        const std::vector<std::int64_t>& others) {
  const std::set<std::int64_t> there(others.begin(), others.end());
  const std::vector<bool> live = graph.live_nodes();
  for (std::int32_t i = 0; i < graph.size(); ++i)
    if (live[static_cast<std::size_t>(i)] && !there.contains(numbers[static_cast<std::size_t>(i)]))
      return fmt::format("{}, {}", graph.where(i), Expressions::describe(graph.node(i)));
  return "nothing";
}

}  // namespace

std::optional<std::string> structural_difference(const Graph& graph, const Graph& expected) {
  Expressions expressions;
  const std::vector<std::int64_t> numbers = expressions.number(graph), others = expressions.number(expected);
  const auto results = [](const Graph& of, const std::vector<std::int64_t>& number) {
    std::map<std::string, std::pair<std::int64_t, std::int32_t>> named;
    for (const GraphOutput& output : of.outputs())
      named.emplace(output.name, std::pair(number[static_cast<std::size_t>(output.value.node)], output.value.port));
    return named;
  };
  if (results(graph, numbers) == results(expected, others)) return std::nullopt;
  return fmt::format("it has {} where {} is expected", first_alone(graph, numbers, others),
                     first_alone(expected, others, numbers));
}

}  // namespace weft
