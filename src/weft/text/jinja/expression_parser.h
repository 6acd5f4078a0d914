// Jinja's expressions, from loosest to tightest: x if c else y; or; and; not; comparisons, in; + -; ~; * / // %; **;
// unary - +; then .name [index] (call) |filter is test.
#pragma once

#include <string_view>
#include <vector>

#include "weft/text/jinja/syntax.h"
#include "weft/text/jinja/token_stream.h"

namespace weft::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  ExpressionPtr parse_expression(bool with_conditional = true);
  // One expression, or several with commas between them as a tuple. Ends before the name `until`.
  ExpressionPtr parse_tuple(bool with_conditional = true, std::string_view until = "", bool in_brackets = false);
  // "|a|b(1)", or "a|b(1)" where `inline_start`; of nothing: the subject at the bottom is null.
  ExpressionPtr parse_filters(ExpressionPtr subject, bool inline_start = false);
  std::vector<Argument> parse_arguments();

  // Names with a meaning in macros that have occurred so far.
  struct Mentioned {
    bool varargs = false, kwargs = false, caller = false;
  };
  Mentioned mentioned;

 private:
  using Kind = Expression::Kind;
  ExpressionPtr make(Kind kind, Position at, std::string text = "") const;
  ExpressionPtr with_parts(ExpressionPtr node, std::vector<ExpressionPtr> parts) const;
  ExpressionPtr binary(Kind kind, Position at, std::string text, ExpressionPtr left, ExpressionPtr right) const;
  ExpressionPtr constant(Position at, Value value) const;
  void count_depth(Expression& node) const;

  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_compare();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filters = true);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_list(Position at);
  ExpressionPtr parse_dict(Position at);
  ExpressionPtr parse_postfix(ExpressionPtr node);
  ExpressionPtr parse_subscript(ExpressionPtr node);
  ExpressionPtr parse_slice(ExpressionPtr object, Position at);
  ExpressionPtr parse_call(ExpressionPtr callee);
  ExpressionPtr parse_test(ExpressionPtr subject);

  TokenStream& tokens_;
};

}  // namespace weft::jinja
