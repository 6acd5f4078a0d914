// TOML 1.0 read item by item: headers and key/value pairs in the order of the text, with no document built. What is
// kept is one key and one value at a time, so a section with millions of entries costs its text and no more. Rules
// that need the whole document (no key or table twice) are the caller's; parse_toml() applies them all.
//
// The text must be valid UTF-8 and outlive the reader. Errors are "Toml" with line and column; nesting, and the
// values of one tree, are limited (LimitExceeded).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/formats/toml_limits.h"
#include "weft/formats/toml_value.h"

namespace weft {

// Where a TOML text comes from, for messages.
struct TomlSource {
  std::string file;            // "model.model"
  std::string section;         // "vocab"; empty for a whole file
  std::size_t first_line = 1;  // the text's first line within the file
};

class TomlReader {
 public:
  enum class Item { end, table, table_array, key };

  TomlReader(std::string_view text, TomlSource source, TomlLimits limits = {});

  // After `key`, the value is read with one of the functions below before the next call.
  Item next();
  // The parts of the header or of the (dotted) key that next() found.
  const std::vector<std::string>& path() const { return path_; }

  TomlValue read_value();
  // Reads the value if it is a string, into `text` (whose memory is reused); false, and nothing read, otherwise.
  bool read_string(std::string& text);
  // Likewise for an array of exactly `count` strings. Any other array is an error.
  bool read_strings(std::string* texts, std::size_t count);

  // "model.model:12:5 (section vocab)", where the last item began.
  std::string where() const { return where(item_); }
  // A place for errors about values that the caller judges.
  [[noreturn]] void refuse(std::string_view reason) const;

 private:
  std::string where(std::size_t offset) const;
  [[noreturn]] void refuse_at(std::size_t offset, std::string_view reason) const;
  [[noreturn]] void refuse_here(std::string_view reason) const { refuse_at(at_, reason); }

  bool done() const { return at_ == text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool accept(char c);
  bool accept_newline();
  void skip_blanks();
  void skip_comment();
  void skip_blanks_and_lines();
  void end_line();

  void read_key(std::vector<std::string>& parts);
  void read_key_part(std::string& part);
  void read_value_into(TomlValue& value, std::size_t depth);
  void read_array(TomlValue& value, std::size_t depth);
  void read_inline_table(TomlValue& value, std::size_t depth);
  void read_any_string(std::string& text);
  void read_basic(std::string& text, bool multiline);
  void read_literal(std::string& text, bool multiline);
  void read_escape(std::string& text, bool multiline);
  void check_character(unsigned char c, bool multiline);
  std::size_t closing_quotes(char quote);
  void read_bare(TomlValue& value);

  std::string_view text_;
  TomlSource source_;
  TomlLimits limits_;
  std::size_t at_ = 0, item_ = 0, values_ = 0;
  bool value_pending_ = false, line_open_ = false;
  std::vector<std::string> path_;
};

}  // namespace weft
