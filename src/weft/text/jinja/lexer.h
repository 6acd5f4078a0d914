// A template cut into tokens, with Jinja's rules for white space as transformers sets them: the line end after a block
// or comment is no text (trim_blocks), nor is the white space before one that begins a line (lstrip_blocks).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/jinja/limits.h"
#include "weft/text/jinja/position.h"

namespace weft::jinja {

enum class TokenType {
  data,
  output_begin,
  output_end,
  block_begin,
  block_end,
  name,
  string,
  integer,
  real,
  op,
  end,
};

struct Token {
  TokenType type = TokenType::end;
  std::string text;  // data and strings as they are meant, everything else as it stands
  Position at;
  std::int64_t integer = 0;
  double real = 0;
};

// InvalidTemplate, TemplateLimit. `name` places errors. The last token is `end`.
std::vector<Token> tokenize(std::string_view source, const std::string& name, const TemplateLimits& limits);

}  // namespace weft::jinja
