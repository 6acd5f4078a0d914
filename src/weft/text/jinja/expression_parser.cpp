#include "weft/text/jinja/expression_parser.h"

#include <algorithm>
#include <array>
#include <utility>

namespace weft::jinja {
namespace {

// A chain such as a + b + c + ... is a tree as deep as it is long.
constexpr int depth_per_level = 4;

constexpr std::array<std::string_view, 6> comparisons{"==", "!=", "<", "<=", ">", ">="};

template <class... Parts>
std::vector<ExpressionPtr> parts_of(Parts... parts) {
  std::vector<ExpressionPtr> all;
  (all.push_back(std::move(parts)), ...);
  return all;
}

}  // namespace

ExpressionPtr ExpressionParser::make(Kind kind, Position at, std::string text) const {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->at = at;
  node->text = std::move(text);
  return node;
}

void ExpressionParser::count_depth(Expression& node) const {
  for (const ExpressionPtr& part : node.parts)
    if (part) node.depth = std::max(node.depth, part->depth + 1);
  for (const Argument& argument : node.arguments) node.depth = std::max(node.depth, argument.value->depth + 1);
  if (node.depth > tokens_.limits().depth * depth_per_level)
    tokens_.refuse(node.at, fmt::format("the expression is longer than weft follows ({} steps); cut it with set",
                                        tokens_.limits().depth * depth_per_level));
}

ExpressionPtr ExpressionParser::with_parts(ExpressionPtr node, std::vector<ExpressionPtr> parts) const {
  node->parts = std::move(parts);
  count_depth(*node);
  return node;
}

ExpressionPtr ExpressionParser::binary(Kind kind, Position at, std::string text, ExpressionPtr left,
                                       ExpressionPtr right) const {
  return with_parts(make(kind, at, std::move(text)), parts_of(std::move(left), std::move(right)));
}

ExpressionPtr ExpressionParser::constant(Position at, Value value) const {
  auto node = make(Kind::constant, at);
  node->value = std::move(value);
  return node;
}

ExpressionPtr ExpressionParser::parse_expression(bool with_conditional) {
  const TokenStream::Level level(tokens_);
  if (!with_conditional) return parse_or();
  ExpressionPtr value = parse_or();
  while (tokens_.is_name("if")) {
    const Position at = tokens_.take().at;
    ExpressionPtr condition = parse_or();
    ExpressionPtr other = tokens_.skip_name("else") ? parse_expression() : nullptr;
    value = with_parts(make(Kind::conditional, at), parts_of(std::move(condition), std::move(value), std::move(other)));
  }
  return value;
}

ExpressionPtr ExpressionParser::parse_tuple(bool with_conditional, std::string_view until, bool in_brackets) {
  const Position at = tokens_.peek().at;
  const auto ends = [&] {
    return tokens_.is(TokenType::output_end) || tokens_.is(TokenType::block_end) || tokens_.is_op(")") ||
           (!until.empty() && tokens_.is_name(until));
  };
  std::vector<ExpressionPtr> parts;
  bool is_tuple = false;
  while (!ends()) {
    parts.push_back(parse_expression(with_conditional));
    if (!tokens_.skip_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !parts.empty()) return std::move(parts.front());
  if (parts.empty() && !in_brackets) tokens_.unexpected("an expression");
  return with_parts(make(Kind::tuple, at), std::move(parts));
}

ExpressionPtr ExpressionParser::parse_or() {
  ExpressionPtr left = parse_and();
  while (tokens_.is_name("or")) {
    const Position at = tokens_.take().at;
    left = binary(Kind::logic, at, "or", std::move(left), parse_and());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_and() {
  ExpressionPtr left = parse_not();
  while (tokens_.is_name("and")) {
    const Position at = tokens_.take().at;
    left = binary(Kind::logic, at, "and", std::move(left), parse_not());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  if (!tokens_.is_name("not")) return parse_compare();
  const TokenStream::Level level(tokens_);
  const Position at = tokens_.take().at;
  return with_parts(make(Kind::unary, at, "not"), parts_of(parse_not()));
}

ExpressionPtr ExpressionParser::parse_compare() {
  const Position at = tokens_.peek().at;
  std::vector<ExpressionPtr> parts;
  std::vector<std::string> operators;
  parts.push_back(parse_sum());
  for (;;) {
    const Token& token = tokens_.peek();
    if (token.type == TokenType::op &&
        std::find(comparisons.begin(), comparisons.end(), token.text) != comparisons.end()) {
      operators.push_back(tokens_.take().text);
    } else if (tokens_.skip_name("in")) {
      operators.emplace_back("in");
    } else if (tokens_.is_name("not") && tokens_.peek(1).type == TokenType::name && tokens_.peek(1).text == "in") {
      tokens_.take();
      tokens_.take();
      operators.emplace_back("not in");
    } else {
      break;
    }
    parts.push_back(parse_sum());
  }
  if (operators.empty()) return std::move(parts.front());
  auto node = with_parts(make(Kind::compare, at), std::move(parts));
  node->operators = std::move(operators);
  return node;
}

ExpressionPtr ExpressionParser::parse_sum() {
  ExpressionPtr left = parse_concat();
  while (tokens_.is_op("+") || tokens_.is_op("-")) {
    Token op = tokens_.take();
    left = binary(Kind::binary, op.at, std::move(op.text), std::move(left), parse_concat());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_concat() {
  const Position at = tokens_.peek().at;
  std::vector<ExpressionPtr> parts;
  parts.push_back(parse_product());
  while (tokens_.skip_op("~")) parts.push_back(parse_product());
  if (parts.size() == 1) return std::move(parts.front());
  return with_parts(make(Kind::concat, at), std::move(parts));
}

ExpressionPtr ExpressionParser::parse_product() {
  ExpressionPtr left = parse_power();
  while (tokens_.is_op("*") || tokens_.is_op("/") || tokens_.is_op("//") || tokens_.is_op("%")) {
    Token op = tokens_.take();
    left = binary(Kind::binary, op.at, std::move(op.text), std::move(left), parse_power());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_power() {
  ExpressionPtr left = parse_unary();
  while (tokens_.is_op("**")) {
    const Position at = tokens_.take().at;
    left = binary(Kind::binary, at, "**", std::move(left), parse_unary());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_unary(bool with_filters) {
  ExpressionPtr node;
  if (tokens_.is_op("-") || tokens_.is_op("+")) {
    const TokenStream::Level level(tokens_);
    Token op = tokens_.take();
    node = with_parts(make(Kind::unary, op.at, std::move(op.text)), parts_of(parse_unary(false)));
  } else {
    node = parse_primary();
  }
  node = parse_postfix(std::move(node));
  return with_filters ? parse_filters(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::parse_primary() {
  Token token = tokens_.peek();
  switch (token.type) {
    case TokenType::name:
      tokens_.take();
      if (token.text == "true" || token.text == "True") return constant(token.at, true);
      if (token.text == "false" || token.text == "False") return constant(token.at, false);
      if (token.text == "none" || token.text == "None") return constant(token.at, None());
      mentioned.varargs = mentioned.varargs || token.text == "varargs";
      mentioned.kwargs = mentioned.kwargs || token.text == "kwargs";
      mentioned.caller = mentioned.caller || token.text == "caller";
      return make(Kind::name, token.at, std::move(token.text));
    case TokenType::string: {
      std::string text;
      while (tokens_.is(TokenType::string)) text += tokens_.take().text;
      return constant(token.at, Value(std::move(text)));
    }
    case TokenType::integer: tokens_.take(); return constant(token.at, token.integer);
    case TokenType::real: tokens_.take(); return constant(token.at, token.real);
    default: break;
  }
  if (tokens_.skip_op("(")) {
    ExpressionPtr inner = parse_tuple(true, "", true);
    tokens_.expect_op(")");
    return inner;
  }
  if (tokens_.skip_op("[")) return parse_list(token.at);
  if (tokens_.skip_op("{")) return parse_dict(token.at);
  tokens_.unexpected("an expression");
}

ExpressionPtr ExpressionParser::parse_list(Position at) {
  std::vector<ExpressionPtr> parts;
  while (!tokens_.is_op("]")) {
    parts.push_back(parse_expression());
    if (!tokens_.skip_op(",")) break;
  }
  tokens_.expect_op("]");
  return with_parts(make(Kind::list, at), std::move(parts));
}

ExpressionPtr ExpressionParser::parse_dict(Position at) {
  std::vector<ExpressionPtr> parts;
  while (!tokens_.is_op("}")) {
    parts.push_back(parse_expression());
    tokens_.expect_op(":");
    parts.push_back(parse_expression());
    if (!tokens_.skip_op(",")) break;
  }
  tokens_.expect_op("}");
  return with_parts(make(Kind::dict, at), std::move(parts));
}

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr node) {
  for (;;) {
    if (tokens_.is_op(".") || tokens_.is_op("["))
      node = parse_subscript(std::move(node));
    else if (tokens_.is_op("("))
      node = parse_call(std::move(node));
    else
      return node;
  }
}

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr node, bool inline_start) {
  for (;;) {
    if (inline_start || tokens_.is_op("|")) {
      if (!inline_start) tokens_.take();
      inline_start = false;
      Token name = tokens_.expect(TokenType::name, "the name of a filter");
      while (tokens_.skip_op(".")) name.text += "." + tokens_.expect(TokenType::name, "a name").text;
      auto filter = make(Kind::filter, name.at, std::move(name.text));
      if (tokens_.is_op("(")) filter->arguments = parse_arguments();
      node = with_parts(std::move(filter), parts_of(std::move(node)));
    } else if (node && tokens_.is_name("is")) {
      node = parse_test(std::move(node));
    } else if (node && tokens_.is_op("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr node) {
  const Token opening = tokens_.take();
  if (opening.text == ".") {
    Token name = tokens_.take();
    if (name.type == TokenType::name)
      return with_parts(make(Kind::attribute, name.at, std::move(name.text)), parts_of(std::move(node)));
    if (name.type != TokenType::integer) tokens_.refuse(name.at, "expected a name or a number behind \".\"");
    return binary(Kind::item, name.at, "", std::move(node), constant(name.at, name.integer));
  }
  if (tokens_.is_op(":")) return parse_slice(std::move(node), opening.at);
  ExpressionPtr first = parse_expression();
  if (tokens_.is_op(":")) {
    auto slice = parse_slice(std::move(node), opening.at);
    slice->parts[1] = std::move(first);
    count_depth(*slice);
    return slice;
  }
  if (tokens_.is_op(",")) {
    std::vector<ExpressionPtr> parts;
    parts.push_back(std::move(first));
    while (tokens_.skip_op(",")) parts.push_back(parse_expression());
    first = with_parts(make(Kind::tuple, opening.at), std::move(parts));
  }
  tokens_.expect_op("]");
  return binary(Kind::item, opening.at, "", std::move(node), std::move(first));
}

// From the first colon on; the start is the caller's to set.
ExpressionPtr ExpressionParser::parse_slice(ExpressionPtr object, Position at) {
  ExpressionPtr stop, step;
  tokens_.expect_op(":");
  if (!tokens_.is_op("]") && !tokens_.is_op(":")) stop = parse_expression();
  if (tokens_.skip_op(":") && !tokens_.is_op("]")) step = parse_expression();
  tokens_.expect_op("]");
  return with_parts(make(Kind::slice, at),
                    parts_of(std::move(object), ExpressionPtr(), std::move(stop), std::move(step)));
}

std::vector<Argument> ExpressionParser::parse_arguments() {
  using ArgumentKind = Argument::Kind;
  tokens_.expect_op("(");
  std::vector<Argument> arguments;
  bool only_named = false;
  while (!tokens_.is_op(")")) {
    Argument argument;
    const Position at = tokens_.peek().at;
    if (tokens_.skip_op("*")) {
      argument.kind = ArgumentKind::spread;
    } else if (tokens_.skip_op("**")) {
      argument.kind = ArgumentKind::spread_named;
    } else if (tokens_.is(TokenType::name) && tokens_.peek(1).type == TokenType::op && tokens_.peek(1).text == "=") {
      argument.kind = ArgumentKind::named;
      argument.name = tokens_.take().text;
      tokens_.take();
      for (const Argument& other : arguments)
        if (other.kind == ArgumentKind::named && other.name == argument.name)
          tokens_.refuse(at, fmt::format("the argument \"{}\" is given twice", argument.name));
    }
    if (argument.kind == ArgumentKind::positional && only_named)
      tokens_.refuse(at, "an argument without a name stands behind one with a name");
    only_named = only_named || argument.kind != ArgumentKind::positional;
    argument.value = parse_expression();
    arguments.push_back(std::move(argument));
    if (!tokens_.skip_op(",")) break;
  }
  tokens_.expect_op(")");
  return arguments;
}

ExpressionPtr ExpressionParser::parse_call(ExpressionPtr callee) {
  auto call = make(Kind::call, tokens_.peek().at);
  call->arguments = parse_arguments();
  return with_parts(std::move(call), parts_of(std::move(callee)));
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr subject) {
  const Position at = tokens_.take().at;
  const bool negated = tokens_.skip_name("not");
  Token name = tokens_.expect(TokenType::name, "the name of a test");
  while (tokens_.skip_op(".")) name.text += "." + tokens_.expect(TokenType::name, "a name").text;
  auto test = make(Kind::test, at, std::move(name.text));
  const auto starts_operand = [&] {
    switch (tokens_.peek().type) {
      case TokenType::name: return !tokens_.is_name("else") && !tokens_.is_name("or") && !tokens_.is_name("and");
      case TokenType::string:
      case TokenType::integer:
      case TokenType::real: return true;
      default: return tokens_.is_op("[") || tokens_.is_op("{");
    }
  };
  if (tokens_.is_op("(")) {
    test->arguments = parse_arguments();
  } else if (starts_operand()) {
    if (tokens_.is_name("is")) tokens_.refuse(tokens_.peek().at, "tests cannot be chained");
    const TokenStream::Level level(tokens_);
    test->arguments.push_back({Argument::Kind::positional, "", parse_postfix(parse_primary())});
  }
  test = with_parts(std::move(test), parts_of(std::move(subject)));
  return negated ? with_parts(make(Kind::unary, at, "not"), parts_of(std::move(test))) : std::move(test);
}

}  // namespace weft::jinja
