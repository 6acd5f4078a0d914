// The interpreter's expressions.
#include <utility>

#include "weft/text/jinja/filters.h"
#include "weft/text/jinja/functions.h"
#include "weft/text/jinja/interpreter.h"
#include "weft/text/jinja/operators.h"
#include "weft/text/jinja/value_text.h"

namespace weft::jinja {

Value Interpreter::evaluate(const Expression& node) {
  const Run::Level level(run_);
  run_.at(node.at);
  Value value = evaluate_kind(node);
  run_.step_through(value);
  return value;
}

Value Interpreter::evaluate_kind(const Expression& node) {
  using Kind = Expression::Kind;
  switch (node.kind) {
    case Kind::constant: return node.value;
    case Kind::name: return evaluate_name(node);
    case Kind::list:
    case Kind::tuple:
    case Kind::dict: return evaluate_parts(node);
    case Kind::unary: return evaluate_unary(node);
    case Kind::binary: {
      const Value left = evaluate(*node.parts[0]), right = evaluate(*node.parts[1]);
      run_.at(node.at);
      return binary(run_, node.text, left, right);
    }
    case Kind::compare: return evaluate_compare(node);
    case Kind::logic: {
      Value left = evaluate(*node.parts[0]);
      return left.truth() == (node.text == "or") ? std::move(left) : evaluate(*node.parts[1]);
    }
    case Kind::concat: return evaluate_concat(node);
    case Kind::conditional: return evaluate_conditional(node);
    case Kind::attribute: {
      const Value object = evaluate(*node.parts[0]);
      run_.at(node.at);
      return attribute(run_, object, node.text);
    }
    case Kind::item: {
      const Value object = evaluate(*node.parts[0]), index = evaluate(*node.parts[1]);
      run_.at(node.at);
      return item(run_, object, index);
    }
    case Kind::slice: return evaluate_slice(node);
    case Kind::call: return evaluate_call(node);
    case Kind::filter: return evaluate_filter(node);
    case Kind::test: return evaluate_test(node);
  }
  return {};
}

Value Interpreter::evaluate_name(const Expression& node) {
  if (const Value* found = scope_->find(node.text)) return *found;
  if (const Value* found = context_.find(std::string_view(node.text))) return *found;
  if (auto function = global_function(node.text)) return *function;
  return Value::undefined(fmt::format("\"{}\" is undefined", node.text));
}

std::vector<Value> Interpreter::evaluate_all(const std::vector<ExpressionPtr>& parts) {
  std::vector<Value> values;
  values.reserve(parts.size());
  for (const ExpressionPtr& part : parts) values.push_back(evaluate(*part));
  return values;
}

Value Interpreter::evaluate_parts(const Expression& node) {
  std::vector<Value> values = evaluate_all(node.parts);
  run_.at(node.at);
  if (node.kind == Expression::Kind::list) return run_.sequence(std::move(values));
  if (node.kind == Expression::Kind::tuple) return run_.tuple(std::move(values));
  auto mapping = std::make_shared<Mapping>();
  for (std::size_t i = 0; i < values.size(); i += 2)
    if (!mapping->set(values[i], values[i + 1])) run_.fail("a {} cannot be a key", values[i].type_name());
  return run_.mapping(std::move(mapping));
}

Value Interpreter::evaluate_unary(const Expression& node) {
  const Value operand = evaluate(*node.parts[0]);
  run_.at(node.at);
  if (node.text == "not") return !operand.truth();
  if (node.text == "-") return negate(run_, operand);
  if (!operand.number()) {
    run_.expect_defined(operand);
    run_.fail("+ cannot be applied to a {}", operand.type_name());
  }
  return operand.boolean() != nullptr ? Value(*operand.integer()) : operand;
}

Value Interpreter::evaluate_compare(const Expression& node) {
  Value left = evaluate(*node.parts[0]);
  for (std::size_t i = 0; i < node.operators.size(); ++i) {
    Value right = evaluate(*node.parts[i + 1]);
    run_.at(node.at);
    if (!compare(run_, node.operators[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::evaluate_concat(const Expression& node) {
  std::string text;
  for (const ExpressionPtr& part : node.parts) {
    const Value value = evaluate(*part);
    run_.at(part->at);
    if (const std::string* own = value.text())
      text += *own;
    else
      text += str(run_, value);
    if (text.size() > run_.limits().output_bytes) run_.charge(text.size());
  }
  return run_.text(std::move(text));
}

Value Interpreter::evaluate_conditional(const Expression& node) {
  if (evaluate(*node.parts[0]).truth()) return evaluate(*node.parts[1]);
  if (node.parts[2]) return evaluate(*node.parts[2]);
  return Value::undefined("the condition of an \"if\" without \"else\" does not hold");
}

Value Interpreter::evaluate_slice(const Expression& node) {
  const Value object = evaluate(*node.parts[0]);
  std::optional<std::int64_t> bounds[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (!node.parts[i + 1]) continue;
    const Value bound = evaluate(*node.parts[i + 1]);
    if (bound.is_none()) continue;
    run_.at(node.at);
    bounds[i] = bound.integer();
    if (!bounds[i]) {
      run_.expect_defined(bound);
      run_.fail("a slice needs integers, not a {}", bound.type_name());
    }
  }
  run_.at(node.at);
  return slice(run_, object, bounds[0], bounds[1], bounds[2]);
}

Arguments Interpreter::evaluate_arguments(const std::vector<Argument>& arguments) {
  Arguments values;
  for (const Argument& argument : arguments) {
    Value value = evaluate(*argument.value);
    switch (argument.kind) {
      case Argument::Kind::positional: values.positional.push_back(std::move(value)); break;
      case Argument::Kind::named: values.named.emplace_back(argument.name, std::move(value)); break;
      case Argument::Kind::spread:
        for (Value& each : items_of(run_, value)) values.positional.push_back(std::move(each));
        break;
      case Argument::Kind::spread_named: {
        const Mapping* mapping = value.mapping();
        if (mapping == nullptr) run_.fail("** needs a mapping, not a {}", value.type_name());
        for (const auto& [key, member] : mapping->members()) {
          if (key.text() == nullptr) run_.fail("the names of arguments are strings");
          values.named.emplace_back(*key.text(), member);
        }
      }
    }
  }
  return values;
}

Value Interpreter::evaluate_call(const Expression& node) {
  const Value callee = evaluate(*node.parts[0]);
  const Arguments arguments = evaluate_arguments(node.arguments);
  run_.at(node.at);
  run_.expect_defined(callee);
  if (callee.object() == nullptr) run_.fail("a {} cannot be called", callee.type_name());
  return callee.object()->call(run_, arguments);
}

Value Interpreter::evaluate_filter(const Expression& node) {
  const Value subject = node.parts[0] ? evaluate(*node.parts[0]) : *filtered_;
  const Arguments arguments = evaluate_arguments(node.arguments);
  run_.at(node.at);
  return find_filter(run_, node.text)(run_, subject, arguments);
}

Value Interpreter::evaluate_test(const Expression& node) {
  const Value subject = evaluate(*node.parts[0]);
  const Arguments arguments = evaluate_arguments(node.arguments);
  run_.at(node.at);
  return find_test(run_, node.text)(run_, subject, arguments);
}

}  // namespace weft::jinja
