// What a vocabulary means where its file leaves something out: the same for every format.
#pragma once

#include <string>
#include <string_view>

#include "weft/text/vocabulary.h"

namespace weft {

// Whether a text begins with BOS: for SentencePiece and WordPiece, for the Llama 3 pre-tokenizer and where a token
// "<bos>" exists; whether it ends with EOS: for WordPiece.
bool adds_bos_by_default(const Vocabulary& vocabulary);
bool adds_eos_by_default(const Vocabulary& vocabulary);

// Of WordPiece: "##" where tokens begin with it, else none.
std::string continuation_prefix_by_default(const Vocabulary& vocabulary);

// Makes the tokens that end a turn of a chat ("<|im_end|>", ...) end a text, where they are control tokens.
void add_turn_ends(Vocabulary& vocabulary);

// Appends an id that ends a text, unless it is there.
void add_eos(Vocabulary& vocabulary, std::int32_t id);

bool has_token(const Vocabulary& vocabulary, std::string_view text);

}  // namespace weft
