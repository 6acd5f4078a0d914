// A template as a tree.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/text/jinja/position.h"
#include "weft/text/jinja/value.h"

namespace weft::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using Block = std::vector<Statement>;

struct Argument {
  enum class Kind { positional, named, spread, spread_named };  // f(x, name=x, *x, **x)
  Kind kind = Kind::positional;
  std::string name;
  ExpressionPtr value;
};

struct Expression {
  enum class Kind {
    constant,     // value
    name,         // text
    list,         // parts
    tuple,        // parts
    dict,         // parts: key, value, key, value, ...
    unary,        // text: - + not; parts: operand
    binary,       // text: + - * / // % **; parts: left, right
    compare,      // operators: == != < <= > >= in "not in"; parts: one more than operators
    logic,        // text: and or; parts: left, right
    concat,       // parts
    conditional,  // parts: value if condition [else other], in the order condition, value, other
    attribute,    // parts: object; text
    item,         // parts: object, index
    slice,        // parts: object, start, stop, step, each but the first possibly null
    call,         // parts: callee; arguments
    filter,       // parts: subject, null for the text of a block; text; arguments
    test,         // parts: subject; text; arguments
  };

  Kind kind = Kind::constant;
  Position at;
  std::string text;
  Value value;
  std::vector<ExpressionPtr> parts;
  std::vector<std::string> operators;
  std::vector<Argument> arguments;
  int depth = 1;
};

// What a value is assigned to: a name, an attribute of a namespace, or several of them.
struct Target {
  Position at;
  std::string name, attribute;
  std::vector<Target> parts;  // not empty: a tuple
};

struct Parameter {
  std::string name;
  ExpressionPtr otherwise;  // null: none
};

struct Statement {
  enum class Kind {
    text,          // text
    output,        // value
    condition,     // branches; the last may have no condition
    loop,          // target, value, condition (of the items), body, otherwise, recursive
    assign,        // target, value
    capture,       // target, value (filters, null subject at the bottom; or null), body
    scope,         // assignments, body: {% with %}, {% generation %}
    filter_block,  // value (filters), body
    macro,         // text, parameters, body
    call_block,    // value (the call), parameters, body
    break_loop,
    continue_loop,
  };
  struct Branch {
    ExpressionPtr condition;  // null: else
    Block body;
  };

  Kind kind = Kind::text;
  Position at;
  std::string text;
  ExpressionPtr value, condition;
  Target target;
  Block body, otherwise;
  std::vector<Branch> branches;
  std::vector<Parameter> parameters;
  std::vector<std::pair<Target, ExpressionPtr>> assignments;
  bool recursive = false;
  bool takes_more = false, takes_named = false, takes_caller = false;  // the body names varargs, kwargs, caller
};

}  // namespace weft::jinja
