#include "weft/text/jinja/interpreter.h"

#include <algorithm>
#include <utility>

#include "weft/text/jinja/functions.h"
#include "weft/text/jinja/loop.h"
#include "weft/text/jinja/operators.h"
#include "weft/text/jinja/value_text.h"

namespace weft::jinja {
namespace {

// Puts a value in the place of another while it lives.
template <class T>
class Replaced {
 public:
  Replaced(T& place, T value) : place_(place), old_(std::exchange(place, std::move(value))) {}
  ~Replaced() { place_ = std::move(old_); }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  T& place_;
  T old_;
};

}  // namespace

class Interpreter::Macro final : public Object {
 public:
  Macro(Interpreter& interpreter, const Statement& definition, std::string name, ScopePtr scope)
      : interpreter_(interpreter), definition_(definition), name_(std::move(name)), scope_(std::move(scope)) {}
  std::string type_name() const override { return "Macro"; }
  bool callable() const override { return true; }
  Value call(Run&, const Arguments& arguments) override { return interpreter_.call_macro(*this, arguments); }
  std::optional<Value> attribute(Run&, std::string_view wanted) override {
    return wanted == "name" ? std::optional(Value(name_)) : std::nullopt;
  }
  const Statement& definition() const { return definition_; }
  const std::string& name() const { return name_; }
  const ScopePtr& scope() const { return scope_; }  // where it was defined

 private:
  Interpreter& interpreter_;
  const Statement& definition_;
  std::string name_;
  ScopePtr scope_;
};

Interpreter::~Interpreter() {
  // A macro holds the scope that holds it.
  for (const ScopePtr& scope : captured_) scope->names.clear();
}

std::string Interpreter::render(const Block& block) { return capture(block, nullptr); }

std::string Interpreter::capture(const Block& block, const ScopePtr& parent) {
  std::string text;
  const Replaced<std::string*> out(out_, &text);
  const Replaced<ScopePtr> scope(scope_, std::make_shared<Scope>(parent));
  execute(block);
  return text;
}

void Interpreter::emit(std::string_view text) {
  if (out_->size() + text.size() > run_.limits().output_bytes)
    run_.too_much("{} bytes of text", run_.limits().output_bytes);
  *out_ += text;
}

Interpreter::Flow Interpreter::execute(const Block& block) {
  const Run::Level level(run_);
  for (const Statement& statement : block)
    if (const Flow flow = execute(statement); flow != Flow::next) return flow;
  return Flow::next;
}

Interpreter::Flow Interpreter::execute(const Statement& statement) {
  using Kind = Statement::Kind;
  run_.step();
  run_.at(statement.at);
  switch (statement.kind) {
    case Kind::text: emit(statement.text); break;
    case Kind::output: {
      const Value value = evaluate(*statement.value);
      if (const std::string* text = value.text())
        emit(*text);
      else
        emit(str(run_, value));
      break;
    }
    case Kind::condition: return execute_condition(statement);
    case Kind::loop: execute_loop(statement, evaluate(*statement.value), 0); break;
    case Kind::assign: assign(statement.target, evaluate(*statement.value)); break;
    case Kind::capture: execute_capture(statement); break;
    case Kind::scope: return execute_scope(statement);
    case Kind::filter_block: execute_filter_block(statement); break;
    case Kind::macro: scope_->names.insert_or_assign(statement.text, make_macro(statement, statement.text)); break;
    case Kind::call_block: execute_call_block(statement); break;
    case Kind::break_loop: return Flow::broken;
    case Kind::continue_loop: return Flow::continued;
  }
  return Flow::next;
}

Interpreter::Flow Interpreter::execute_condition(const Statement& statement) {
  for (const Statement::Branch& branch : statement.branches)
    if (!branch.condition || evaluate(*branch.condition).truth()) return execute(branch.body);
  return Flow::next;
}

void Interpreter::execute_loop(const Statement& statement, const Value& iterable, int depth) {
  const ScopePtr outer = scope_;
  Loop::Keep keep;
  if (statement.condition)
    keep = [this, &statement, outer](const Value& item) {
      const Replaced<ScopePtr> scope(scope_, std::make_shared<Scope>(outer));
      assign(statement.target, item);
      return evaluate(*statement.condition).truth();
    };
  Loop::Recurse recurse;
  if (statement.recursive)
    recurse = [this, &statement, outer, depth](const Value& items) {
      std::string text;
      const Replaced<std::string*> out(out_, &text);
      const Replaced<ScopePtr> scope(scope_, outer);
      const Run::Level level(run_);
      execute_loop(statement, items, depth + 1);
      return run_.text(std::move(text));
    };
  run_.at(statement.value->at);
  const auto loop = std::make_shared<Loop>(items_of(run_, iterable), std::move(keep), std::move(recurse), depth);
  struct End {
    Loop& loop;
    ~End() { loop.clear(); }
  } const end{*loop};
  bool any = false;
  while (loop->advance()) {
    any = true;
    run_.step();
    const Replaced<ScopePtr> scope(scope_, std::make_shared<Scope>(outer));
    scope_->names.emplace("loop", Value(std::static_pointer_cast<Object>(loop)));
    assign(statement.target, loop->current());
    if (execute(statement.body) == Flow::broken) break;
  }
  if (any || statement.otherwise.empty()) return;
  const Replaced<ScopePtr> scope(scope_, std::make_shared<Scope>(outer));
  execute(statement.otherwise);
}

void Interpreter::execute_capture(const Statement& statement) {
  const Value text = run_.text(capture(statement.body, scope_));
  if (!statement.value) return assign(statement.target, text);
  const Replaced<const Value*> filtered(filtered_, &text);
  assign(statement.target, evaluate(*statement.value));
}

void Interpreter::execute_filter_block(const Statement& statement) {
  const Value text = run_.text(capture(statement.body, scope_));
  const Replaced<const Value*> filtered(filtered_, &text);
  emit(str(run_, evaluate(*statement.value)));
}

Interpreter::Flow Interpreter::execute_scope(const Statement& statement) {
  auto inner = std::make_shared<Scope>(scope_);
  std::vector<Value> values;
  for (const auto& [target, value] : statement.assignments) values.push_back(evaluate(*value));
  const Replaced<ScopePtr> scope(scope_, std::move(inner));
  for (std::size_t i = 0; i < values.size(); ++i) assign(statement.assignments[i].first, values[i]);
  return execute(statement.body);
}

void Interpreter::execute_call_block(const Statement& statement) {
  const Expression& call = *statement.value;
  const Value callee = evaluate(*call.parts[0]);
  Arguments arguments = evaluate_arguments(call.arguments);
  run_.at(call.at);
  run_.expect_defined(callee);
  if (callee.object() == nullptr) run_.fail("a {} cannot be called", callee.type_name());
  arguments.named.emplace_back("caller", make_macro(statement, "caller"));
  emit(str(run_, callee.object()->call(run_, arguments)));
}

void Interpreter::assign(const Target& target, const Value& value) {
  run_.at(target.at);
  if (!target.parts.empty()) {
    const std::vector<Value> items = items_of(run_, value);
    if (items.size() != target.parts.size()) run_.fail("{} values for {} names", items.size(), target.parts.size());
    for (std::size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i]);
  } else if (target.attribute.empty()) {
    scope_->names.insert_or_assign(target.name, value);
  } else {
    const Value* found = scope_->find(target.name);
    auto* space = found == nullptr ? nullptr : dynamic_cast<Namespace*>(found->object());
    if (space == nullptr) run_.fail("\"{}\" is no namespace; attributes of nothing else can be set", target.name);
    space->set(target.attribute, value);
  }
}

Value Interpreter::make_macro(const Statement& statement, std::string name) {
  for (ScopePtr scope = scope_; scope && !std::exchange(scope->captured, true); scope = scope->parent)
    captured_.push_back(scope);
  return Value(std::static_pointer_cast<Object>(std::make_shared<Macro>(*this, statement, std::move(name), scope_)));
}

void Interpreter::bind(const Macro& macro, const Arguments& arguments, Scope& scope) {
  const std::vector<Parameter>& parameters = macro.definition().parameters;
  std::vector<Value> more(arguments.positional.begin() +
                              static_cast<std::ptrdiff_t>(std::min(parameters.size(), arguments.positional.size())),
                          arguments.positional.end());
  const Statement& definition = macro.definition();
  if (!more.empty() && !definition.takes_more)
    run_.fail("the macro {} takes at most {} arguments, {} are given", macro.name(), parameters.size(),
              arguments.positional.size());
  for (std::size_t i = 0; i < std::min(parameters.size(), arguments.positional.size()); ++i)
    scope.names.insert_or_assign(parameters[i].name, arguments.positional[i]);
  auto others = std::make_shared<Mapping>();
  Value caller = Value::undefined("no caller is defined: the macro was not called by a call block");
  for (const auto& [name, value] : arguments.named) {
    const auto known = std::find_if(parameters.begin(), parameters.end(),
                                    [&](const Parameter& parameter) { return parameter.name == name; });
    if (known != parameters.end()) {
      if (!scope.names.emplace(known->name, value).second)
        run_.fail("the macro {} gets its argument \"{}\" twice", macro.name(), name);
    } else if (name == "caller" && definition.takes_caller) {
      caller = value;
    } else if (definition.takes_named) {
      others->set(Value(name), value);
    } else {
      run_.fail("the macro {} takes no argument \"{}\"", macro.name(), name);
    }
  }
  if (definition.takes_more) scope.names.emplace("varargs", run_.tuple(std::move(more)));
  if (definition.takes_named) scope.names.emplace("kwargs", run_.mapping(std::move(others)));
  if (definition.takes_caller) scope.names.emplace("caller", std::move(caller));
}

Value Interpreter::call_macro(const Macro& macro, const Arguments& arguments) {
  const Run::Level level(run_);
  auto inner = std::make_shared<Scope>(macro.scope());
  bind(macro, arguments, *inner);
  const Replaced<ScopePtr> scope(scope_, inner);
  // Defaults may name the parameters before them.
  for (const Parameter& parameter : macro.definition().parameters) {
    if (inner->names.find(parameter.name) != inner->names.end()) continue;
    Value value = parameter.otherwise
                      ? evaluate(*parameter.otherwise)
                      : Value::undefined(fmt::format("the argument \"{}\" was not given", parameter.name));
    inner->names.emplace(parameter.name, std::move(value));
  }
  std::string text;
  const Replaced<std::string*> out(out_, &text);
  execute(macro.definition().body);
  return run_.text(std::move(text));
}

}  // namespace weft::jinja
