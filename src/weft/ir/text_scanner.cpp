#include "weft/ir/text_scanner.h"

#include <algorithm>
#include <charconv>

#include "weft/ir/attribute.h"
#include "weft/ir/text_names.h"

namespace weft {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

std::size_t TextScanner::mark() {
  for (;;) {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    if (!text_.substr(at_).starts_with("//")) return at_;
    at_ = std::min(text_.find('\n', at_), text_.size());
  }
}

char TextScanner::peek() { return mark() == text_.size() ? '\0' : text_[at_]; }

bool TextScanner::accept(std::string_view punctuation) {
  if (!text_.substr(mark()).starts_with(punctuation)) return false;
  at_ += punctuation.size();
  return true;
}

void TextScanner::expect(std::string_view punctuation) {
  if (!accept(punctuation)) refuse("expected \"{}\", found {}", punctuation, found());
}

bool TextScanner::accept_word(std::string_view word) {
  const std::string_view rest = text_.substr(mark());
  if (!rest.starts_with(word) || (rest.size() > word.size() && is_name_character(rest[word.size()]))) return false;
  at_ += word.size();
  return true;
}

void TextScanner::expect_word(std::string_view word) {
  if (!accept_word(word)) refuse("expected {}, found {}", word, found());
}

std::string_view TextScanner::word() {
  const std::size_t start = mark();
  while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
  if (at_ == start) refuse("expected a name, found {}", found());
  return text_.substr(start, at_ - start);
}

std::string TextScanner::name() { return peek() == '"' ? text() : std::string(word()); }

std::string TextScanner::text() {
  const std::size_t start = mark();
  if (peek() != '"') refuse("expected a text in quotes, found {}", found());
  std::string out;
  for (++at_; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; ++at_) {
    if (text_[at_] != '\\') {
      out += text_[at_];
      continue;
    }
    const std::string_view escape = text_.substr(at_ + 1, 3);
    std::uint8_t byte = 0;
    if (escape.starts_with('x') && escape.size() == 3 &&
        std::from_chars(escape.data() + 1, escape.data() + 3, byte, 16).ptr == escape.data() + 3) {
      out += static_cast<char>(byte);
      at_ += 3;
      continue;
    }
    switch (escape.empty() ? '\0' : escape[0]) {
      case '"': out += '"'; break;
      case '\\': out += '\\'; break;
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      default: refuse_at(at_, "expected one of the escapes \\\" \\\\ \\n \\t \\xNN");
    }
    ++at_;
  }
  if (at_ >= text_.size() || text_[at_] != '"') refuse_at(start, "the text has no closing quote on its line");
  ++at_;
  return out;
}

std::int64_t TextScanner::integer() {
  const std::size_t start = mark();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + start, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) refuse("the number exceeds 64 bits");
  if (error != std::errc()) refuse("expected a whole number, found {}", found());
  at_ = static_cast<std::size_t>(end - text_.data());
  if (at_ < text_.size() && is_name_character(text_[at_])) refuse_at(start, "expected a whole number");
  return value;
}

std::string_view TextScanner::number() {
  const std::size_t start = mark();
  while (at_ < text_.size() && (is_name_character(text_[at_]) || text_[at_] == '+')) ++at_;
  if (at_ == start) refuse("expected a number, found {}", found());
  return text_.substr(start, at_ - start);
}

std::string_view TextScanner::bracketed() {
  const std::size_t start = mark();
  if (peek() != '[') refuse("expected a shape such as [n, 64], found {}", found());
  const std::size_t end = text_.find_first_of("]\n", start);
  if (end == std::string_view::npos || text_[end] != ']') refuse_at(start, "the shape has no \"]\" on its line");
  at_ = end + 1;
  return text_.substr(start, at_ - start);
}

std::string_view TextScanner::until_separator() {
  const std::size_t start = mark();
  int depth = 0;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '\n' || (depth == 0 && (c == ',' || c == '}'))) break;
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
  }
  return text_.substr(start, at_ - start);
}

std::string TextScanner::where(std::size_t at) const {
  const std::string_view before = text_.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // 0 on the first line: npos + 1
  return fmt::format("{}:{}:{}", source_, line, at - line_start + 1);
}

void TextScanner::fail_at(std::size_t at, const Error& error) const {
  const bool syntax = error.code() == "BadDim" || error.code() == "BadShape";
  throw Error(syntax ? ErrorKind::bad_file : error.kind(), syntax ? "GraphSyntax" : error.code(), where(at),
              error.message());
}

std::string TextScanner::found() const {
  return at_ == text_.size() ? "the end"
                             : quoted(text_.substr(at_, std::min<std::size_t>(text_.find('\n', at_) - at_, 16)));
}

}  // namespace weft
