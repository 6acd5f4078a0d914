// weft ops: every registered op, from its schema.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "weft/cli/program.h"
#include "weft/ir/op_schema.h"

namespace weft::cli {
namespace {

std::string attribute_line(const AttributeSpec& spec) {
  std::string type(to_string(spec.type));
  if (spec.type == AttributeType::choice) type = fmt::format("{}", fmt::join(spec.choices, "|"));
  std::string otherwise = "optional";
  if (spec.required)
    otherwise = "required";
  else if (!std::holds_alternative<std::monostate>(spec.default_value))
    otherwise = "default " + attribute_text(spec.default_value, spec.type);
  return fmt::format("{}: {} ({}){}", spec.name, type, otherwise, spec.doc.empty() ? "" : " " + spec.doc);
}

std::string signature(const OpSchema& op) {
  std::string inputs, outputs;
  for (const InputSpec& input : op.inputs)
    inputs += fmt::format("{}{}{}", inputs.empty() ? "" : ", ", input.name,
                          input.presence == Presence::optional   ? "?"
                          : input.presence == Presence::variadic ? "..."
                                                                 : "");
  for (const OutputSpec& output : op.outputs)
    outputs += fmt::format("{}{}{}", outputs.empty() ? "" : ", ", output.name, output.variadic ? "..." : "");
  return fmt::format("{}({}) -> {}", op.name, inputs, outputs);
}

std::string effects(const OpSchema& op) {
  if (op.effects.pure()) return "pure";
  std::string text;
  if (op.effects.random) text += "random ";
  if (op.effects.impure) text += "impure ";
  for (const std::string& slot : op.effects.slots) text += "reads and writes state @" + slot + " ";
  return text.substr(0, text.size() - 1);
}

std::string rule(const Rule& r) {
  switch (r.state) {
    case Rule::State::built: return "yes";
    case Rule::State::not_applicable: return "no: " + r.reason;
    case Rule::State::not_yet: return "not yet";
  }
  return "";
}

void explain(const OpSchema& op) {
  fmt::print("{}\n\n{}\n\ntag {} · family {} · {}\n", signature(op), op.maths, op.tag, op.family, effects(op));
  for (const InputSpec& input : op.inputs)
    if (!input.doc.empty()) fmt::print("  input {}: {}\n", input.name, input.doc);
  for (const AttributeSpec& spec : op.attributes) fmt::print("  {}\n", attribute_line(spec));
  fmt::print("vjp {} · jvp {} · vmap {}\n", rule(op.vjp), rule(op.jvp), rule(op.vmap));
}

}  // namespace

int ops(const OpsArguments& arguments) {
  if (!arguments.name.empty()) {
    explain(OpRegistry::global().at(arguments.name));
    return 0;
  }
  std::size_t width = 0;
  for (const OpSchema* op : OpRegistry::global().all()) width = std::max(width, signature(*op).size());
  for (const OpSchema* op : OpRegistry::global().all())
    fmt::print("{:>4}  {:<{}}  {}\n", op->tag, signature(*op), width, op->family);
  return 0;
}

}  // namespace weft::cli
