#include "weft/formats/graph_ir/param_rules.h"

#include <algorithm>
#include <cmath>

#include "weft/base/fail.h"

namespace weft::graph_ir {
namespace {

using Words = std::vector<std::uint32_t>;

// Every number that a field holds, for the field's own rule.
void for_each_number(const ParamValue& value, const std::function<void(double)>& use) {
  if (const auto* word = std::get_if<std::uint32_t>(&value)) use(*word);
  if (const auto* number = std::get_if<float>(&value)) use(*number);
  if (const auto* maybe = std::get_if<std::optional<float>>(&value); maybe != nullptr && *maybe) use(**maybe);
  if (const auto* list = std::get_if<Words>(&value))
    for (const std::uint32_t word : *list) use(word);
}

void check_field(const Field& field, const ParamValue& value, const ParamReport& report) {
  bool reported = false;
  for_each_number(value, [&](double number) {
    if (reported) return;
    if (auto reason = rule_broken(field.rule, number)) {
      report(field.name, std::move(*reason));
      reported = true;
    }
  });
}

void check_attr(const AttrDef& attr, const AttrValue& value, const ParamReport& report) {
  const auto own_rule = [&](double number) {
    auto reason = rule_broken(attr.rule, number);
    if (reason) report(attr.key, std::move(*reason));
    return !reason;
  };
  if (attr.or_integer && std::holds_alternative<std::int64_t>(value)) {
    own_rule(static_cast<double>(std::get<std::int64_t>(value)));
    return;
  }
  if (value.index() != static_cast<std::size_t>(attr.type)) {
    report(attr.key, fmt::format("must be {}{}", to_string(attr.type), attr.or_integer ? " or one integer" : ""));
    return;
  }
  if (const auto* number = std::get_if<std::int64_t>(&value)) own_rule(static_cast<double>(*number));
  if (const auto* number = std::get_if<float>(&value)) own_rule(*number);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    if (list->size() != attr.count) {
      report(attr.key, fmt::format("must list {} integers, found {}", attr.count, list->size()));
      return;
    }
    for (const std::int64_t number : *list)
      if (!own_rule(static_cast<double>(number))) return;
  }
  if (const auto* text = std::get_if<std::string>(&value);
      text != nullptr && std::find(attr.choices.begin(), attr.choices.end(), *text) == attr.choices.end())
    report(attr.key, fmt::format("must be one of {}, found \"{}\"", fmt::join(attr.choices, ", "), *text));
}

}  // namespace

std::optional<std::string> rule_broken(Rule rule, double value) {
  const auto unless = [&](bool kept, const char* wanted) -> std::optional<std::string> {
    if (kept) return std::nullopt;
    return fmt::format("must be {}, found {}", wanted, value);
  };
  switch (rule) {
    case Rule::any: return std::nullopt;
    case Rule::at_least_1: return unless(value >= 1, "at least 1");
    case Rule::not_nan: return unless(!std::isnan(value), "a number");
    case Rule::finite: return unless(std::isfinite(value), "finite");
    case Rule::finite_not_negative: return unless(std::isfinite(value) && value >= 0, "finite and at least 0");
    case Rule::finite_positive: return unless(std::isfinite(value) && value > 0, "finite and above 0");
    case Rule::not_negative: return unless(value >= 0, "at least 0");
  }
  return std::nullopt;
}

std::optional<std::string> malformed(const Op& op) {
  const OpDef* def = find_op(static_cast<std::uint16_t>(op.tag));
  if (def == nullptr) return fmt::format("{} is not the tag of a Graph IR op", static_cast<std::uint16_t>(op.tag));
  if (op.params.size() != def->fields.size())
    return fmt::format("{} takes {} parameters, found {}", def->name, def->fields.size(), op.params.size());
  for (std::size_t i = 0; i < op.params.size(); ++i) {
    const Field& field = def->fields[i];
    const ParamValue& value = op.params[i];
    if (value.index() != zero_value(field).index())
      return fmt::format("parameter \"{}\" holds a value of another type", field.name);
    if (field.wire == Wire::words && std::get<Words>(value).size() != field.words)
      return fmt::format("parameter \"{}\" takes {} numbers, found {}", field.name, field.words,
                         std::get<Words>(value).size());
    if (field.wire == Wire::choice && std::get<std::uint8_t>(value) >= field.choices.size())
      return fmt::format("parameter \"{}\" has no choice number {}", field.name, std::get<std::uint8_t>(value));
    if (field.wire == Wire::dtype && !dtype_text(std::get<DType>(value)))
      return fmt::format("parameter \"{}\" is {}, which the Graph IR has no tag for", field.name,
                         to_string(std::get<DType>(value)));
  }
  return std::nullopt;
}

void check_params(const Node& node, const ParamReport& report) {
  const OpDef& def = op_def(node.op.tag);
  for (std::size_t i = 0; i < def.fields.size(); ++i) check_field(def.fields[i], node.op.params[i], report);
  if (def.check != nullptr) def.check(node, report);
}

void check_attrs(const Node& node, const ParamReport& report) {
  for (const AttrDef& attr : op_def(node.op.tag).attrs)
    if (const auto found = node.attrs.find(attr.key); found != node.attrs.end())
      check_attr(attr, found->second, report);
}

void check_permutation(const Node& node, const ParamReport& report) {
  const auto& axes = std::get<Words>(node.op.params[0]);
  std::vector<bool> seen(axes.size());
  for (const std::uint32_t axis : axes) {
    if (axis >= axes.size() || seen[axis]) {
      report(op_def(node.op.tag).fields[0].name,
             fmt::format("must be a permutation of 0..{}, found [{}]", axes.size() - 1, fmt::join(axes, ", ")));
      return;
    }
    seen[axis] = true;
  }
}

void check_reshape(const Node& node, const ParamReport& report) {
  const auto& shape = node.op.get<std::vector<std::int64_t>>("shape");
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t dim) { return dim < -1; }))
    report("shape", fmt::format("entries must be at least -1, found [{}]", fmt::join(shape, ", ")));
  else if (std::count(shape.begin(), shape.end(), -1) > 1)
    report("shape", fmt::format("may hold one -1 at most, found [{}]", fmt::join(shape, ", ")));
}

void check_heads(const Node& node, const ParamReport& report) {
  const auto heads = node.op.get<std::uint32_t>("num_heads"), kv_heads = node.op.get<std::uint32_t>("kv_heads");
  if (kv_heads >= 1 && heads % kv_heads != 0)
    report("kv_heads",
           fmt::format("must divide num_heads: {} heads cannot share {} key and value heads evenly", heads, kv_heads));
}

void check_bits(const Node& node, const ParamReport& report) {
  const auto bits = node.op.get<std::uint32_t>("bits");
  if (bits < 1 || bits > 8) report("bits", fmt::format("must be 1 to 8, found {}", bits));
}

void check_rope(const Node& node, const ParamReport& report) {
  const auto head_dim = node.op.get<std::uint32_t>("head_dim"), rope_dim = node.op.get<std::uint32_t>("rope_dim");
  if (head_dim < 2 || head_dim % 2 != 0)
    report("head_dim", fmt::format("must be even and at least 2, found {}", head_dim));
  else if (rope_dim < 2 || rope_dim % 2 != 0 || rope_dim > head_dim)
    report("rope_dim", fmt::format("must be even and from 2 to head_dim = {}, found {}", head_dim, rope_dim));
}

void check_buckets(const Node& node, const ParamReport& report) {
  const auto buckets = node.op.get<std::uint32_t>("num_buckets");
  const auto found = node.attrs.find("bidirectional");
  const bool* given = found == node.attrs.end() ? nullptr : std::get_if<bool>(&found->second);
  const bool bidirectional = given == nullptr || *given;
  if (buckets < 2)
    report("num_buckets", fmt::format("must be at least 2, found {}", buckets));
  else if (bidirectional && buckets % 2 != 0)
    report("num_buckets", fmt::format("must be even when bidirectional, found {}", buckets));
}

void check_pool(const Node& node, const ParamReport& report) {
  const auto &kernel = node.op.get<Words>("kernel"), &padding = node.op.get<Words>("padding");
  for (std::size_t i = 0; i < kernel.size(); ++i)
    if (padding[i] > kernel[i] / 2) {
      report("padding",
             fmt::format("must be at most half the kernel, found {} for a kernel of {}", padding[i], kernel[i]));
      return;
    }
}

void check_sample(const Node& node, const ParamReport& report) {
  // Fields that the method does not use are carried along unread.
  enum Method : std::uint8_t { greedy, temperature_only, top_k, top_p, min_p };
  const auto method = node.op.get<std::uint8_t>("method");
  const float temperature = node.op.get<float>("temperature"), p = node.op.get<float>("p");
  if (method != greedy && !std::isfinite(temperature))
    report("temperature", fmt::format("must be finite, found {}", temperature));
  if ((method == top_p || method == min_p) && !(p >= 0 && p <= 1))
    report("p", fmt::format("must be from 0 to 1, found {}", p));
}

}  // namespace weft::graph_ir
