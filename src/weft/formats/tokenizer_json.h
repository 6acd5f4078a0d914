// The vocabulary of a Hugging Face tokenizer.json: models BPE (byte-level, or SentencePiece with merges), Unigram and
// WordPiece.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "weft/base/export.h"
#include "weft/formats/vocabulary_limits.h"
#include "weft/text/vocabulary.h"

namespace weft {

// Added tokens are control tokens where they are marked as special, else user-defined. BOS and EOS are those that the
// post-processor puts around a text. What weft cannot do exactly as the file says is refused: UnsupportedTokenizer,
// UnsupportedPreTokenizer, UnsupportedNormalizer. Other errors: BadJson, MissingField, InvalidField, BadVocab,
// BadCharsmap, Bad64Digit, Bad64Length, LimitExceeded above 128 MiB. `where` stands in errors.
WEFT_API Vocabulary read_tokenizer_json(std::string_view json, const std::string& where,
                                        const VocabularyLimits& limits = {});
WEFT_API Vocabulary open_tokenizer_json(const std::filesystem::path& path);

}  // namespace weft
