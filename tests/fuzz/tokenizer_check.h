// What may be done with a vocabulary from outside.
#pragma once

#include <vector>

#include "fuzz.h"
#include "weft/text/tokenizer.h"

namespace weft::fuzz {

inline void use(Vocabulary vocabulary) {
  const auto tokenizer = Tokenizer::create(std::move(vocabulary));
  for (const char* text :
       {"", "ab  a\n\n<s>Hello, 12345 w\xC3\xB6rld's \xE4\xB8\x96\xE7\x95\x8C \xF0\x9F\x98\x80\t</s>"})
    for (const bool parse_special : {false, true})
      accepts([&] {
        const std::vector<std::int32_t> ids = tokenizer->encode(text, {.parse_special = parse_special});
        for (const std::int32_t id : ids) expect(tokenizer->has_token(id));
        tokenizer->decode(ids);
      });
}

}  // namespace weft::fuzz
