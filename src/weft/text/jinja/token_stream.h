// The tokens of a template while a parser walks them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/fail.h"
#include "weft/text/jinja/lexer.h"

namespace weft::jinja {

class TokenStream {
 public:
  TokenStream(std::vector<Token> tokens, std::string name, const TemplateLimits& limits)
      : tokens_(std::move(tokens)), name_(std::move(name)), limits_(limits) {}

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  Token take() { return at_ + 1 < tokens_.size() ? std::move(tokens_[at_++]) : tokens_.back(); }
  bool is(TokenType type) const { return peek().type == type; }
  bool is_op(std::string_view op) const { return is(TokenType::op) && peek().text == op; }
  bool is_name(std::string_view name) const { return is(TokenType::name) && peek().text == name; }
  bool skip_op(std::string_view op) { return is_op(op) && (take(), true); }
  bool skip_name(std::string_view name) { return is_name(name) && (take(), true); }
  void expect_op(std::string_view op) {
    if (!skip_op(op)) unexpected(fmt::format("\"{}\"", op));
  }
  Token expect(TokenType type, std::string_view what) {
    if (!is(type)) unexpected(what);
    return take();
  }

  [[noreturn]] void unexpected(std::string_view wanted) const;
  [[noreturn]] void refuse(Position at, std::string message) const;
  [[noreturn]] void too_deep(Position at) const;
  const TemplateLimits& limits() const { return limits_; }

  // Counts how deep the parser is inside the template while it lives.
  class Level {
   public:
    explicit Level(TokenStream& stream) : stream_(stream) {
      if (++stream_.level_ > stream_.limits_.depth) stream_.too_deep(stream_.peek().at);
    }
    ~Level() { --stream_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    TokenStream& stream_;
  };

 private:
  std::vector<Token> tokens_;
  std::string name_;
  const TemplateLimits& limits_;
  std::size_t at_ = 0;
  int level_ = 0;
};

}  // namespace weft::jinja
