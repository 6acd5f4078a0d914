#include "weft/ops/elementwise_region.h"

#include <algorithm>
#include <charconv>

#include "weft/base/fail.h"
#include "weft/ops/activation.h"
#include "weft/ops/expansion.h"

namespace weft {
namespace {

bool is_kind_of(std::string_view op, std::string_view kind) {
  const OpSchema& schema = OpRegistry::global().at(op);
  const auto& choices = schema.attributes[*schema.attribute_index("kind")].choices;
  return std::find(choices.begin(), choices.end(), kind) != choices.end();
}

// The names of steps, apart from where and cast, are the kinds of three ops, which have none in common.
std::optional<RegionStep::Op> op_of_kind(std::string_view kind) {
  if (ops::is_activation_kind(kind)) return RegionStep::Op::activation;
  if (is_kind_of("Binary", kind)) return RegionStep::Op::binary;
  if (is_kind_of("Compare", kind)) return RegionStep::Op::compare;
  return std::nullopt;
}

std::size_t operand_count(RegionStep::Op op) {
  switch (op) {
    case RegionStep::Op::activation:
    case RegionStep::Op::cast: return 1;
    case RegionStep::Op::binary:
    case RegionStep::Op::compare: return 2;
    case RegionStep::Op::where: return 3;
  }
  return 0;
}

class ChainParser {
 public:
  explicit ChainParser(std::string_view text) : text_(text) {}

  std::vector<RegionStep> parse() {
    std::vector<RegionStep> steps;
    while (true) {
      if (steps.size() == most_region_steps) refuse(fmt::format("a region has at most {} steps", most_region_steps));
      const std::string expected = fmt::format("t{} = ", steps.size());
      if (!take(expected)) refuse(fmt::format("\"{}\" is expected", expected));
      steps.push_back(step(steps.size()));
      if (at_ == text_.size()) return steps;
      if (!take("; ")) refuse("\"; \" and another step, or the end, is expected");
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    fail(ErrorKind::invalid_argument, "BadAttribute", "", "chain, at character {}: {}", at_, reason);
  }

  bool take(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }

  std::string_view until(std::string_view ends) {
    const std::size_t end = std::min(text_.find_first_of(ends, at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    return word;
  }

  RegionStep step(std::size_t before) {
    RegionStep step;
    const std::size_t start = at_;
    const std::string_view name = until("[(; ");
    std::optional<std::string_view> option;
    if (take("[")) {
      option = until("]");
      if (!take("]")) refuse("] is missing");
    }
    if (name == "cast") {
      step.op = RegionStep::Op::cast;
      const auto to = dtype_from_name(option.value_or(""));
      if (!to) refuse("cast needs a dtype: cast[f16](x0)");
      step.to = *to;
    } else if (name == "where") {
      step.op = RegionStep::Op::where;
    } else {
      const auto op = op_of_kind(name);
      if (!op) {
        at_ = start;
        refuse(fmt::format("no step is called \"{}\"", name.substr(0, 32)));
      }
      step.op = *op;
      step.kind = std::string(name);
    }
    if (option && step.op != RegionStep::Op::cast) {
      double alpha = 0;
      const auto [end, error] = std::from_chars(option->data(), option->data() + option->size(), alpha);
      if (step.op != RegionStep::Op::activation || error != std::errc() || end != option->data() + option->size())
        refuse("only casts and activations have a value in brackets: a dtype, a number");
      step.alpha = alpha;
    }
    if (!take("(")) refuse("( is expected");
    for (std::size_t i = 0; i < operand_count(step.op); ++i) {
      if (i > 0 && !take(", ")) refuse("\", \" and another operand is expected");
      step.operands.push_back(operand(before));
    }
    if (!take(")")) refuse(") is expected");
    return step;
  }

  RegionOperand operand(std::size_t steps_before) {
    RegionOperand operand;
    operand.is_step = take("t");
    if (!operand.is_step && !take("x")) refuse("an operand is x or t with a number");
    const std::string_view digits = until(",); ");
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), operand.index);
    const bool canonical = digits == "0" || !digits.starts_with('0');
    if (error != std::errc() || end != digits.data() + digits.size() || !canonical)
      refuse("an operand is x or t with a number");
    const std::size_t limit = operand.is_step ? steps_before : most_region_inputs;
    if (operand.index >= limit)
      refuse(operand.is_step ? fmt::format("t{} is no earlier step", operand.index)
                             : fmt::format("x{}: a region has at most {} inputs", operand.index, most_region_inputs));
    return operand;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Value emit_step(Graph& graph, const RegionStep& at, std::vector<Value> operands) {
  switch (at.op) {
    case RegionStep::Op::activation: {
      Attributes attributes{{"kind", AttributeValue(at.kind)}};
      if (at.alpha) attributes.emplace_back("alpha", *at.alpha);
      return ops::step(graph, "Activation", std::move(operands), attributes);
    }
    case RegionStep::Op::binary:
      return ops::step(graph, "Binary", std::move(operands), {{"kind", AttributeValue(at.kind)}});
    case RegionStep::Op::compare:
      return ops::step(graph, "Compare", std::move(operands), {{"kind", AttributeValue(at.kind)}});
    case RegionStep::Op::where: return ops::step(graph, "Where", std::move(operands));
    case RegionStep::Op::cast: return ops::step(graph, "Cast", std::move(operands), {{"to", at.to}});
  }
  return {};
}

std::vector<Value> expand_region(Graph& graph, const Node& node, std::span<const Value> in) {
  std::vector<Value> steps;
  for (const RegionStep& at : parse_region(node.text("chain"))) {
    std::vector<Value> operands;
    for (const RegionOperand& operand : at.operands)
      operands.push_back(operand.is_step ? steps[operand.index] : in[operand.index]);
    steps.push_back(emit_step(graph, at, std::move(operands)));
  }
  return {steps.back()};
}

void infer_region(InferContext& context) {
  const std::size_t inputs = context.input_count();
  if (inputs == 0 || inputs > most_region_inputs)
    context.fail_attribute("chain", fmt::format("{} inputs are given, expected 1 to {}", inputs, most_region_inputs));
  std::vector<bool> used(inputs, false);
  for (const RegionStep& at : parse_region(context.node().text("chain")))
    for (const RegionOperand& operand : at.operands) {
      if (operand.is_step) continue;
      if (operand.index >= inputs)
        context.fail_attribute("chain", fmt::format("x{} of {} inputs", operand.index, inputs));
      used[operand.index] = true;
    }
  if (const auto at = std::find(used.begin(), used.end(), false); at != used.end())
    context.fail_attribute("chain", fmt::format("no step reads x{}", at - used.begin()));
  ops::infer_by_expansion(context, expand_region);
  for (std::size_t i = 0; i < inputs; ++i)
    if (!region_broadcast(context.shape(i), context.outputs()[0].shape))
      context.fail_shape(fmt::format("input {} is {}, expected the result's {}, one value, or its last axes", i,
                                     context.shape(i).text(), context.outputs()[0].shape.text()));
}

const FusedOpRegistration region{
    {.name = "ElementwiseRegion",
     .tag = 206,
     .family = "elementwise_region",
     .maths =
         "The steps of `chain` in order, each an Activation, Binary, Compare, Where or Cast that rounds as that op "
         "does; y is the last one. Each input has y's shape, is one value, or has y's last axes.",
     .attributes = {{.name = "chain",
                     .type = AttributeType::text,
                     .required = true,
                     .doc = "assignments as in \"t0 = silu(x0); t1 = mul(t0, x1); t2 = cast[f16](t1)\""}},
     .inputs = {{.name = "x", .presence = Presence::variadic, .doc = "1 to 16"}},
     .op_class = OpClass::elementwise,
     .infer = infer_region,
     .flops =
         [](const InferContext& context) {
           const auto& chain = context.node().text("chain");
           return Dim(1 + std::count(chain.begin(), chain.end(), ';')) * context.outputs()[0].shape.numel();
         }},
    expand_region};

}  // namespace

std::optional<RegionStep> region_step_of(const Node& node) {
  const std::string& op = node.schema->name;
  if (op == "Activation")
    return RegionStep{
        .op = RegionStep::Op::activation, .kind = node.text("kind"), .alpha = node.optional_real("alpha")};
  // How ties share a cotangent a step does not say.
  if (op == "Binary" && node.text("tie") != "split") return std::nullopt;
  if (op == "Binary") return RegionStep{.op = RegionStep::Op::binary, .kind = node.text("kind")};
  if (op == "Compare") return RegionStep{.op = RegionStep::Op::compare, .kind = node.text("kind")};
  if (op == "Where") return RegionStep{.op = RegionStep::Op::where};
  if (op == "Cast") return RegionStep{.op = RegionStep::Op::cast, .to = node.dtype("to")};
  return std::nullopt;
}

std::string region_text(std::span<const RegionStep> steps) {
  std::string text;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const RegionStep& at = steps[i];
    text += fmt::format("{}t{} = ", i == 0 ? "" : "; ", i);
    switch (at.op) {
      case RegionStep::Op::cast: text += fmt::format("cast[{}]", to_string(at.to)); break;
      case RegionStep::Op::where: text += "where"; break;
      default: text += at.kind + (at.alpha ? "[" + real_text(*at.alpha) + "]" : "");
    }
    for (std::size_t k = 0; k < at.operands.size(); ++k)
      text += fmt::format("{}{}{}", k == 0 ? "(" : ", ", at.operands[k].is_step ? 't' : 'x', at.operands[k].index);
    text += ")";
  }
  return text;
}

std::vector<RegionStep> parse_region(std::string_view chain) { return ChainParser(chain).parse(); }

std::optional<RegionBroadcast> region_broadcast(const Shape& input, const Shape& result) {
  if (input == result) return RegionBroadcast::full;
  if (input.rank() > result.rank()) return std::nullopt;
  std::size_t leading = 0;
  while (leading < input.rank() && input[leading] == Dim(1)) ++leading;
  if (leading == input.rank()) return RegionBroadcast::scalar;
  for (std::size_t i = leading; i < input.rank(); ++i)
    if (input[i] != result[result.rank() - input.rank() + i]) return std::nullopt;
  return RegionBroadcast::trailing;
}

}  // namespace weft
