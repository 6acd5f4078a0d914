// Walks a template's tree and writes its text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/scope.h"
#include "weft/text/jinja/syntax.h"

namespace weft::jinja {

class Interpreter {
 public:
  Interpreter(Run& run, const Mapping& context) : run_(run), context_(context) {}
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  std::string render(const Block& block);

 private:
  class Macro;
  enum class Flow { next, broken, continued };
  using ScopePtr = std::shared_ptr<Scope>;

  // Statements.
  Flow execute(const Block& block);
  Flow execute(const Statement& statement);
  Flow execute_condition(const Statement& statement);
  void execute_loop(const Statement& loop, const Value& items, int depth);
  void execute_capture(const Statement& statement);
  void execute_filter_block(const Statement& statement);
  void execute_call_block(const Statement& statement);
  Flow execute_scope(const Statement& statement);
  void emit(std::string_view text);
  void assign(const Target& target, const Value& value);
  // What the block prints, in a scope of its own inside `parent`.
  std::string capture(const Block& block, const ScopePtr& parent);
  Value make_macro(const Statement& statement, std::string name);
  Value call_macro(const Macro& macro, const Arguments& arguments);
  void bind(const Macro& macro, const Arguments& arguments, Scope& scope);

  // Expressions.
  Value evaluate(const Expression& node);
  Value evaluate_kind(const Expression& node);
  Value evaluate_name(const Expression& node);
  Value evaluate_parts(const Expression& node);  // lists, tuples, mappings
  Value evaluate_unary(const Expression& node);
  Value evaluate_compare(const Expression& node);
  Value evaluate_concat(const Expression& node);
  Value evaluate_conditional(const Expression& node);
  Value evaluate_slice(const Expression& node);
  Value evaluate_call(const Expression& node);
  Value evaluate_filter(const Expression& node);
  Value evaluate_test(const Expression& node);
  Arguments evaluate_arguments(const std::vector<Argument>& arguments);
  std::vector<Value> evaluate_all(const std::vector<ExpressionPtr>& parts);

  Run& run_;
  const Mapping& context_;
  ScopePtr scope_;
  std::vector<ScopePtr> captured_;
  std::string* out_ = nullptr;
  const Value* filtered_ = nullptr;  // the text that a chain of filters without a subject is applied to
};

}  // namespace weft::jinja
