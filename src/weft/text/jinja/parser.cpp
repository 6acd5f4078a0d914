#include "weft/text/jinja/parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "weft/text/jinja/expression_parser.h"
#include "weft/text/jinja/token_stream.h"

namespace weft::jinja {
namespace {

class Parser {
 public:
  explicit Parser(TokenStream tokens) : tokens_(std::move(tokens)), expressions_(tokens_) {}

  Block parse_all() {
    Block block = parse_block({});
    if (!tokens_.is(TokenType::end)) tokens_.unexpected("the end of the template");
    return block;
  }

 private:
  using Kind = Statement::Kind;
  using Names = std::initializer_list<std::string_view>;

  static Statement make(Kind kind, Position at) {
    Statement statement;
    statement.kind = kind;
    statement.at = at;
    return statement;
  }

  // Up to a tag with one of `ends`, whose name is the next token then.
  Block parse_block(Names ends) {
    const TokenStream::Level level(tokens_);
    Block block;
    for (;;) {
      const Position at = tokens_.peek().at;
      if (tokens_.is(TokenType::data)) {
        block.push_back(make(Kind::text, at));
        block.back().text = tokens_.take().text;
      } else if (tokens_.is(TokenType::output_begin)) {
        tokens_.take();
        block.push_back(make(Kind::output, at));
        block.back().value = expressions_.parse_tuple();
        tokens_.expect(TokenType::output_end, "\"}}\"");
      } else if (tokens_.is(TokenType::block_begin)) {
        tokens_.take();
        if (!tokens_.is(TokenType::name)) tokens_.unexpected("the name of a statement");
        if (std::find(ends.begin(), ends.end(), tokens_.peek().text) != ends.end()) return block;
        block.push_back(parse_statement());
      } else {
        if (ends.size() != 0) tokens_.unexpected(fmt::format("\"{{% {} %}}\"", *(ends.end() - 1)));
        return block;
      }
    }
  }

  // The body of a tag whose head has been read, and the closing tag.
  Block parse_body(std::string_view end) {
    expect_block_end();
    Block body = parse_block({end});
    close(end);
    return body;
  }
  void close(std::string_view end) {
    if (!tokens_.skip_name(end)) tokens_.unexpected(end);
    expect_block_end();
  }
  void expect_block_end() { tokens_.expect(TokenType::block_end, "\"%}\""); }

  Statement parse_statement() {
    const Token name = tokens_.take();
    if (name.text == "if") return parse_condition(name.at);
    if (name.text == "for") return parse_loop(name.at);
    if (name.text == "set") return parse_set(name.at);
    if (name.text == "macro") return parse_macro(name.at);
    if (name.text == "call") return parse_call_block(name.at);
    if (name.text == "filter") return parse_filter_block(name.at);
    if (name.text == "with") return parse_with(name.at);
    if (name.text == "print") return parse_print(name.at);
    if (name.text == "generation") {
      // transformers' marks around what the model wrote; they print nothing.
      Statement scope = make(Kind::scope, name.at);
      scope.body = parse_body("endgeneration");
      return scope;
    }
    if (name.text == "break" || name.text == "continue") {
      if (loops_ == 0) tokens_.refuse(name.at, fmt::format("\"{}\" stands outside of a loop", name.text));
      expect_block_end();
      return make(name.text == "break" ? Kind::break_loop : Kind::continue_loop, name.at);
    }
    constexpr std::array<std::string_view, 5> loading{"include", "import", "from", "extends", "block"};
    if (std::find(loading.begin(), loading.end(), name.text) != loading.end())
      tokens_.refuse(name.at, fmt::format("\"{}\": a template cannot load or extend another", name.text));
    tokens_.refuse(name.at, fmt::format("\"{}\" is no statement that weft knows, or closes nothing here", name.text));
  }

  Statement parse_condition(Position at) {
    Statement statement = make(Kind::condition, at);
    for (;;) {
      ExpressionPtr condition = expressions_.parse_tuple(false);
      expect_block_end();
      Block body = parse_block({"elif", "else", "endif"});
      statement.branches.push_back({std::move(condition), std::move(body)});
      if (!tokens_.skip_name("elif")) break;
    }
    if (tokens_.skip_name("else")) {
      expect_block_end();
      statement.branches.push_back({nullptr, parse_block({"endif"})});
    }
    close("endif");
    return statement;
  }

  Statement parse_loop(Position at) {
    Statement loop = make(Kind::loop, at);
    loop.target = parse_target("in");
    if (!tokens_.skip_name("in")) tokens_.unexpected("\"in\"");
    loop.value = expressions_.parse_tuple(false, "recursive");
    if (tokens_.skip_name("if")) loop.condition = expressions_.parse_expression();
    loop.recursive = tokens_.skip_name("recursive");
    expect_block_end();
    ++loops_;
    loop.body = parse_block({"endfor", "else"});
    --loops_;
    if (tokens_.skip_name("else")) {
      expect_block_end();
      loop.otherwise = parse_block({"endfor"});
    }
    close("endfor");
    return loop;
  }

  // Names with commas between them, before the name `until` or an "=".
  Target parse_target(std::string_view until) {
    const Position at = tokens_.peek().at;
    Target target;
    std::vector<Target> parts;
    bool is_tuple = false;
    do {
      if (tokens_.is_op("=") || tokens_.is_op(")") || tokens_.is(TokenType::block_end) ||
          (!until.empty() && tokens_.is_name(until)))
        break;
      parts.push_back(parse_target_part());
      is_tuple = is_tuple || tokens_.is_op(",");
    } while (tokens_.skip_op(","));
    if (parts.empty()) tokens_.unexpected("a name");
    if (!is_tuple) return std::move(parts.front());
    target.at = at;
    target.parts = std::move(parts);
    return target;
  }

  Target parse_target_part() {
    const TokenStream::Level level(tokens_);
    if (tokens_.skip_op("(")) {
      Target inner = parse_target("");
      tokens_.expect_op(")");
      return inner;
    }
    const Token name = tokens_.expect(TokenType::name, "a name");
    constexpr std::array<std::string_view, 7> constants{"true", "false", "none", "True", "False", "None", "loop"};
    if (std::find(constants.begin(), constants.end(), name.text) != constants.end())
      tokens_.refuse(name.at, fmt::format("nothing can be assigned to \"{}\"", name.text));
    return {name.at, name.text, "", {}};
  }

  Statement parse_set(Position at) {
    Statement set = make(Kind::assign, at);
    if (tokens_.peek(1).type == TokenType::op && tokens_.peek(1).text == ".") {
      const Token name = tokens_.expect(TokenType::name, "a name");
      tokens_.take();
      set.target = {name.at, name.text, tokens_.expect(TokenType::name, "the name of an attribute").text, {}};
    } else {
      set.target = parse_target("");
    }
    if (tokens_.skip_op("=")) {
      set.value = expressions_.parse_tuple();
      expect_block_end();
      return set;
    }
    set.kind = Kind::capture;
    set.value = expressions_.parse_filters(nullptr);
    set.body = parse_body("endset");
    return set;
  }

  std::vector<Parameter> parse_parameters() {
    std::vector<Parameter> parameters;
    tokens_.expect_op("(");
    while (!tokens_.is_op(")")) {
      Parameter parameter;
      const Token name = tokens_.expect(TokenType::name, "the name of a parameter");
      parameter.name = name.text;
      if (tokens_.skip_op("="))
        parameter.otherwise = expressions_.parse_expression();
      else if (!parameters.empty() && parameters.back().otherwise)
        tokens_.refuse(name.at, "a parameter without a default stands behind one with a default");
      parameters.push_back(std::move(parameter));
      if (!tokens_.skip_op(",")) break;
    }
    tokens_.expect_op(")");
    return parameters;
  }

  // Loops around a macro are not loops of its body.
  void parse_function_body(Statement& function, std::string_view end) {
    const int outer = std::exchange(loops_, 0);
    const auto mentioned = std::exchange(expressions_.mentioned, {});
    function.body = parse_body(end);
    function.takes_more = expressions_.mentioned.varargs;
    function.takes_named = expressions_.mentioned.kwargs;
    function.takes_caller = expressions_.mentioned.caller;
    expressions_.mentioned = mentioned;
    loops_ = outer;
  }

  Statement parse_macro(Position at) {
    Statement macro = make(Kind::macro, at);
    macro.text = tokens_.expect(TokenType::name, "the name of the macro").text;
    macro.parameters = parse_parameters();
    parse_function_body(macro, "endmacro");
    return macro;
  }

  Statement parse_call_block(Position at) {
    Statement block = make(Kind::call_block, at);
    if (tokens_.is_op("(")) block.parameters = parse_parameters();
    block.value = expressions_.parse_expression();
    if (block.value->kind != Expression::Kind::call) tokens_.refuse(block.value->at, "expected a call");
    parse_function_body(block, "endcall");
    return block;
  }

  Statement parse_filter_block(Position at) {
    Statement block = make(Kind::filter_block, at);
    block.value = expressions_.parse_filters(nullptr, true);
    block.body = parse_body("endfilter");
    return block;
  }

  Statement parse_with(Position at) {
    Statement scope = make(Kind::scope, at);
    while (!tokens_.is(TokenType::block_end)) {
      if (!scope.assignments.empty()) tokens_.expect_op(",");
      Target target = parse_target_part();
      tokens_.expect_op("=");
      scope.assignments.emplace_back(std::move(target), expressions_.parse_expression());
    }
    scope.body = parse_body("endwith");
    return scope;
  }

  Statement parse_print(Position at) {
    Statement print = make(Kind::output, at);
    print.value = expressions_.parse_expression();
    expect_block_end();
    return print;
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int loops_ = 0;
};

}  // namespace

Block parse(std::string_view source, const std::string& name, const TemplateLimits& limits) {
  return Parser(TokenStream(tokenize(source, name, limits), name, limits)).parse_all();
}

}  // namespace weft::jinja
