// weft tokenize: how a model cuts a text. Text from outside: control tokens in it are plain text. The tokens that a
// model puts around a prompt (BOS, EOS) are no part of the text and are not shown.
#include <fmt/format.h>

#include <cstdio>

#include "weft/cli/program.h"
#include "weft/cli/text_input.h"
#include "weft/ir/attribute.h"
#include "weft/models/checkpoint.h"
#include "weft/text/tokenizer.h"

namespace weft::cli {

int tokenize(const TokenizeArguments& arguments) {
  const auto tokenizer = Tokenizer::create(Checkpoint::open_vocabulary(arguments.model));
  const std::string text = arguments.text ? *arguments.text : read_text(*arguments.file);
  EncodeOptions options;
  options.add_bos = options.add_eos = false;
  const auto ids = tokenizer->encode(text, options);
  if (arguments.ids_only) {
    fmt::print("{}\n", fmt::join(ids, " "));
    return 0;
  }
  for (const std::int32_t id : ids) fmt::print("{:>8}  {}\n", id, quoted(tokenizer->token_text(id)));
  return 0;
}

}  // namespace weft::cli
