// Whether a vocabulary can be used with a model: ids within its embedding, and a text that comes back as it was.
#pragma once

#include <cstdint>
#include <string>

#include "weft/text/vocabulary.h"

namespace weft {

// BadVocab for an id of a special token that the model has no row for, and for a text that comes back changed; what
// Tokenizer::create refuses.
void expect_usable(const Vocabulary& vocabulary, std::int64_t vocab_size, const std::string& where);

}  // namespace weft
