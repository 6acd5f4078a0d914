#include "weft/text/jinja/token_stream.h"

namespace weft::jinja {

void TokenStream::unexpected(std::string_view wanted) const {
  const Token& found = peek();
  std::string what;
  switch (found.type) {
    case TokenType::end: what = "the end of the template"; break;
    case TokenType::data: what = "text"; break;
    case TokenType::block_end: what = "\"%}\""; break;
    case TokenType::output_end: what = "\"}}\""; break;
    case TokenType::block_begin: what = "\"{%\""; break;
    case TokenType::output_begin: what = "\"{{\""; break;
    case TokenType::string: what = "a string"; break;
    default: what = "\"" + found.text + "\"";
  }
  refuse(found.at, fmt::format("expected {}, found {}", wanted, what));
}

void TokenStream::refuse(Position at, std::string message) const {
  throw Error(ErrorKind::invalid_argument, "InvalidTemplate", fmt::format("{}:{}:{}", name_, at.line, at.column),
              std::move(message));
}

void TokenStream::too_deep(Position at) const {
  fail(ErrorKind::out_of_memory, "TemplateLimit", fmt::format("{}:{}:{}", name_, at.line, at.column),
       "blocks and brackets are nested more than {} deep", limits_.depth);
}

}  // namespace weft::jinja
