// Tokens of the text form, with the line and column of whatever is wrong. Internal.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "weft/base/fail.h"

namespace weft {

class TextScanner {
 public:
  TextScanner(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  // Offset of the next token.
  std::size_t mark();
  char peek();  // its first character, 0 at the end
  bool at_end() { return mark() == text_.size(); }

  bool accept(std::string_view punctuation);
  void expect(std::string_view punctuation);
  bool accept_word(std::string_view word);  // the whole word
  void expect_word(std::string_view word);

  std::string_view word();  // name characters, at least one
  std::string name();       // a word or a quoted text
  std::string text();       // quoted
  std::int64_t integer();
  std::string_view number();           // up to a separator; not empty
  std::string_view bracketed();        // "[...]" within a line
  std::string_view until_separator();  // up to the ',' or closing brace outside parentheses

  // open item, item, ... close
  template <class F>
  void list(std::string_view open, std::string_view close, F&& item) {
    expect(open);
    if (accept(close)) return;
    do item();
    while (accept(","));
    expect(close);
  }
  // open key=value, ... close; `field(key)` reads the value, false for an unknown key. Each key stands once.
  template <class F>
  void fields(std::string_view open, std::string_view close, F&& field) {
    std::set<std::string> seen;
    list(open, close, [&] {
      const std::size_t at = mark();
      std::string key = name();
      if (!seen.insert(key).second) refuse_at(at, "{} is given twice", key);
      expect("=");
      if (!field(key)) refuse_at(at, "{} is unknown here", key);
    });
  }

  // Gives an error that knows no place the one of a token.
  template <class F>
  void placed(std::size_t at, F&& f) {
    try {
      f();
    } catch (const Error& error) {
      fail_at(at, error);
    }
  }

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> message, Args&&... args) {
    refuse_at(mark(), message, std::forward<Args>(args)...);
  }
  template <class... Args>
  [[noreturn]] void refuse_at(std::size_t at, fmt::format_string<Args...> message, Args&&... args) const {
    throw Error(ErrorKind::bad_file, "GraphSyntax", where(at), fmt::format(message, std::forward<Args>(args)...));
  }

 private:
  std::string where(std::size_t at) const;  // "source:line:column", counted from 1
  [[noreturn]] void fail_at(std::size_t at, const Error& error) const;
  std::string found() const;  // the next few characters, for messages

  std::string_view text_;
  std::string source_;
  std::size_t at_ = 0;
};

}  // namespace weft
