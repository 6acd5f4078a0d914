// A vocabulary by itself, against the model's embedding, and against its chat template.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/verify/findings.h"
#include "weft/text/vocabulary.h"

namespace weft {

// Errors: TokenOutOfRange for ids that the embedding has no row for, and those of expect_usable(). Warnings:
// TokensMissing, DuplicateToken, NoEndOfText, MergeWithoutToken, ByteWithoutToken, and UnknownSpecialToken for one that
// the chat template writes.
void check_vocabulary(const Vocabulary& vocabulary, std::int64_t vocab_size, std::string_view chat_template,
                      const std::string& where, Findings& findings);

}  // namespace weft
