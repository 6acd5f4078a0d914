#include "weft/text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "weft/base/fail.h"
#include "weft/base/utf8.h"
#include "weft/text/code_points.h"

namespace weft::jinja {
namespace {

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

// One kind of line end, and none at the end of the source.
std::string with_plain_line_ends(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    out += source[i] == '\r' ? '\n' : source[i];
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& name) : name_(name), source_(with_plain_line_ends(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) read_data();
    push(TokenType::end, "", at_);
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(at_); }

  Position position(std::size_t offset) {
    if (offset < counted_) {
      counted_ = 0;
      place_ = {};
    }
    while (counted_ < offset) {
      const auto byte = static_cast<unsigned char>(source_[counted_++]);
      if (byte == '\n')
        place_ = {place_.line + 1, 1};
      else if ((byte & 0xC0) != 0x80)
        ++place_.column;
    }
    return place_;
  }

  Token& push(TokenType type, std::string text, std::size_t offset) {
    return tokens_.emplace_back(Token{type, std::move(text), position(offset), 0, 0});
  }

  template <class... Args>
  [[noreturn]] void refuse(std::size_t offset, fmt::format_string<Args...> message, Args&&... args) {
    const Position at = position(offset);
    fail(ErrorKind::invalid_argument, "InvalidTemplate", fmt::format("{}:{}:{}", name_, at.line, at.column), message,
         std::forward<Args>(args)...);
  }

  // The sign at the start of `rest`: '-', '+' or 0.
  char sign_at(std::size_t offset) const {
    const char c = offset < source_.size() ? source_[offset] : '\0';
    return c == '-' || c == '+' ? c : '\0';
  }

  void skip_white_space() {
    while (at_ < source_.size() && text::strip(rest().substr(0, character())).empty()) at_ += character();
  }
  std::size_t character() const {
    const auto byte = static_cast<unsigned char>(source_[at_]);
    return std::min<std::size_t>(byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4, source_.size() - at_);
  }

  // Text up to a tag with this sign, as much of it as is meant.
  void push_data(std::size_t begin, std::size_t end, char sign, bool is_output) {
    std::string_view text = std::string_view(source_).substr(begin, end - begin);
    if (sign == '-') {
      text = right_stripped(text);
    } else if (sign != '+' && !is_output) {
      const std::size_t line_end = text.rfind('\n');
      const std::size_t line = line_end == std::string_view::npos ? 0 : line_end + 1;
      const bool whole_line = line > 0 || begin == 0 || source_[begin - 1] == '\n';
      if (whole_line && text::strip(text.substr(line)).empty()) text = text.substr(0, line);
    }
    if (!text.empty()) push(TokenType::data, std::string(text), begin);
  }
  static std::string_view right_stripped(std::string_view text) {
    const std::string_view stripped = text::strip(text);
    return stripped.empty() ? stripped
                            : text.substr(0, static_cast<std::size_t>(stripped.data() - text.data()) + stripped.size());
  }

  void read_data() {
    const std::size_t begin = at_;
    std::size_t tag = begin;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) {
        push(TokenType::data, source_.substr(begin), begin);
        at_ = source_.size();
        return;
      }
      if (const char c = source_[tag + 1]; c == '{' || c == '%' || c == '#') break;
    }
    const char kind = source_[tag + 1], sign = sign_at(tag + 2);
    push_data(begin, tag, sign, kind == '{');
    at_ = tag + 2 + (sign != 0 ? 1 : 0);
    if (kind == '#') return skip_comment(tag);
    if (kind == '%' && read_raw(tag)) return;
    const bool is_block = kind == '%';
    push(is_block ? TokenType::block_begin : TokenType::output_begin, "", tag);
    read_expression(tag, is_block);
  }

  // Past the end of a block or comment, which `at_` is behind.
  void after_end(char sign) {
    if (sign == '-')
      skip_white_space();
    else if (sign != '+' && at_ < source_.size() && source_[at_] == '\n')
      ++at_;
  }

  void skip_comment(std::size_t tag) {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) refuse(tag, "the comment has no end");
    const char sign = end > at_ ? sign_at(end - 1) : '\0';
    at_ = end + 2;
    after_end(sign);
  }

  // The rest of "{% WORD %}" from `offset`; gives the offset behind it and the sign at its end.
  struct Tag {
    std::size_t end;
    char sign;
  };
  std::optional<Tag> match_word_tag(std::size_t offset, std::string_view word, bool plus) const {
    const std::string_view text = source_;
    const auto skip = [&] {
      while (offset < text.size() && (text[offset] == ' ' || (text[offset] >= '\t' && text[offset] <= '\r'))) ++offset;
    };
    skip();
    if (text.substr(offset, word.size()) != word) return std::nullopt;
    offset += word.size();
    skip();
    char sign = sign_at(offset);
    if (sign == '+' && !plus) return std::nullopt;
    if (sign != 0) ++offset;
    if (text.substr(offset, 2) != "%}") return std::nullopt;
    return Tag{offset + 2, sign};
  }

  bool read_raw(std::size_t tag) {
    const auto open = match_word_tag(at_, "raw", false);
    if (!open) return false;
    at_ = open->end;
    if (open->sign == '-') skip_white_space();
    for (std::size_t close = source_.find("{%", at_); close != std::string::npos;
         close = source_.find("{%", close + 1)) {
      const char sign = sign_at(close + 2);
      const auto end = match_word_tag(close + 2 + (sign != 0 ? 1 : 0), "endraw", true);
      if (!end) continue;
      push_data(at_, close, sign, false);
      at_ = end->end;
      after_end(end->sign);
      return true;
    }
    refuse(tag, "the raw block has no end");
  }

  void read_expression(std::size_t tag, bool is_block) {
    std::vector<char> open;
    const std::string_view end = is_block ? "%}" : "}}";
    for (;;) {
      skip_white_space();
      if (at_ >= source_.size()) refuse(tag, "\"{}\" is missing", end);
      if (open.empty()) {
        char sign = sign_at(at_);
        if (sign == '+' && !is_block) sign = '\0';
        if (rest().substr(sign != 0 ? 1 : 0, 2) == end) {
          push(is_block ? TokenType::block_end : TokenType::output_end, "", at_);
          at_ += (sign != 0 ? 3 : 2);
          if (is_block)
            after_end(sign);
          else if (sign == '-')
            skip_white_space();
          return;
        }
      }
      const char c = source_[at_];
      if (text::is_ascii_digit(c))
        read_number();
      else if (starts_name(c))
        read_name();
      else if (c == '"' || c == '\'')
        read_string(c);
      else
        read_operator(open);
    }
  }

  void read_name() {
    const std::size_t begin = at_;
    while (at_ < source_.size() && (starts_name(source_[at_]) || text::is_ascii_digit(source_[at_]))) ++at_;
    push(TokenType::name, source_.substr(begin, at_ - begin), begin);
  }

  // Digits with single underscores between them.
  template <class IsDigit>
  std::string digits(IsDigit is_one) {
    std::string found;
    while (at_ < source_.size() && (is_one(source_[at_]) || (source_[at_] == '_' && !found.empty() &&
                                                             at_ + 1 < source_.size() && is_one(source_[at_ + 1])))) {
      if (source_[at_] != '_') found += source_[at_];
      ++at_;
    }
    return found;
  }

  void read_number() {
    const std::size_t begin = at_;
    const char prefix =
        source_[at_] == '0' && at_ + 1 < source_.size() ? static_cast<char>(source_[at_ + 1] | 0x20) : 0;
    const int base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 10;
    if (base != 10) at_ += 2;
    std::string number = digits([&](char c) {
      const int value = text::is_ascii_digit(c)                  ? c - '0'
                        : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                 : 99;
      return value < base;
    });
    const auto digit_at = [&](std::size_t offset) {
      return offset < source_.size() && text::is_ascii_digit(source_[offset]);
    };
    bool real = false;
    if (base == 10 && digit_at(at_ + 1) && source_[at_] == '.' && (begin == 0 || source_[begin - 1] != '.')) {
      ++at_;
      number += "." + digits(text::is_ascii_digit);
      real = true;
    }
    if (base == 10 && at_ < source_.size() && (source_[at_] | 0x20) == 'e') {
      const std::size_t sign = sign_at(at_ + 1) != 0 ? 1 : 0;
      if (digit_at(at_ + 1 + sign)) {
        number += source_.substr(at_, 1 + sign);
        at_ += 1 + sign;
        number += digits(text::is_ascii_digit);
        real = true;
      }
    }
    Token& token = push(real ? TokenType::real : TokenType::integer, source_.substr(begin, at_ - begin), begin);
    if (real) {
      token.real = std::strtod(number.c_str(), nullptr);
      return;
    }
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), token.integer, base);
    if (error != std::errc() || end != number.data() + number.size())
      refuse(begin, "{} is no integer of 64 bits", token.text);
  }

  void read_string(char quote) {
    const std::size_t begin = at_++;
    std::string text;
    for (;;) {
      if (at_ >= source_.size()) refuse(begin, "the string has no end");
      const char c = source_[at_++];
      if (c == quote) break;
      if (c != '\\')
        text += c;
      else if (at_ < source_.size())
        read_escape(text);
    }
    push(TokenType::string, std::move(text), begin);
  }

  // Python's escapes. What is none of them stays as it stands.
  void read_escape(std::string& text) {
    constexpr std::string_view letters = "abfnrtv\\'\"", meanings = "\a\b\f\n\r\t\v\\'\"";
    const std::size_t begin = at_ - 1;
    const char c = source_[at_++];
    if (const std::size_t known = letters.find(c); known != std::string_view::npos) {
      text += meanings[known];
    } else if (c == '\n') {
      // A line goes on.
    } else if (c >= '0' && c <= '7') {
      std::uint32_t value = static_cast<std::uint32_t>(c - '0');
      for (int i = 0; i < 2 && at_ < source_.size() && source_[at_] >= '0' && source_[at_] <= '7'; ++i)
        value = value * 8 + static_cast<std::uint32_t>(source_[at_++] - '0');
      text::append_utf8(text, value);
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const std::size_t count = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      std::uint32_t value = 0;
      const std::string digits = source_.substr(at_, count);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
      if (digits.size() < count || error != std::errc() || end != digits.data() + digits.size() || value > 0x10FFFF ||
          (value >= 0xD800 && value < 0xE000))
        refuse(begin, "\"\\{}{}\" is no character", c, digits);
      text::append_utf8(text, value);
      at_ += count;
    } else {
      (text += '\\') += c;
    }
  }

  void read_operator(std::vector<char>& open) {
    constexpr std::array<std::string_view, 6> pairs{"//", "**", "==", "!=", ">=", "<="};
    constexpr std::string_view single = "+-/*%~[](){}<>=.:|,;";
    std::string_view found;
    for (const std::string_view pair : pairs)
      if (rest().starts_with(pair)) found = pair;
    const char c = source_[at_];
    if (found.empty() && single.find(c) == std::string_view::npos)
      refuse(at_, "\"{}\" has no meaning here", rest().substr(0, character()));
    if (found.empty()) found = rest().substr(0, 1);
    if (c == '(' || c == '[' || c == '{') open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) refuse(at_, "\"{}\" closes nothing", c);
      open.pop_back();
    }
    push(TokenType::op, std::string(found), at_);
    at_ += found.size();
  }

  const std::string& name_;
  std::string source_;
  std::size_t at_ = 0, counted_ = 0;
  Position place_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source, const std::string& name, const TemplateLimits& limits) {
  if (source.size() > limits.source_bytes)
    fail(ErrorKind::out_of_memory, "TemplateLimit", name, "the template has {} bytes, the limit is {}", source.size(),
         limits.source_bytes);
  if (const auto bad = find_invalid_utf8(source))
    fail(ErrorKind::invalid_argument, "InvalidTemplate", fmt::format("{}@{}", name, *bad),
         "the template must be UTF-8");
  return Lexer(source, name).run();
}

}  // namespace weft::jinja
