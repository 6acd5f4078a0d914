// Normalization of a text before it is cut into tokens.
#pragma once

#include <string>
#include <string_view>

#include "weft/text/charsmap.h"
#include "weft/text/special_matcher.h"
#include "weft/text/vocabulary.h"

namespace weft::text {

// Unicode's forms, of the text between special tokens: `form` is none, nfc or nfkc, and `text` is well-formed UTF-8.
// LimitExceeded for a run of over 1,024 combining marks: putting such a run into canonical order takes quadratic time.
std::string normalize(std::string_view text, TextNormalizer form);

// All that SentencePiece does to a text before it cuts it. At each position: a user-defined token stays as it is, else
// the longest key of the map that starts there is replaced, else a character stays. Then the spaces, which are plain in
// what comes out; a U+2581 of the text is one, too. `text` may be malformed: each byte that belongs to no character
// becomes one U+FFFD, which is not looked up in the map. `spaces` is keep or remove. (Source: SentencePiece's public
// sources, normalizer.cc.) LimitExceeded where the result would be longer than 2 GiB.
std::string normalize_sentencepiece(std::string_view text, const Charsmap& map, ExtraSpaces spaces,
                                    bool add_space_prefix, const SpecialMatcher& user_defined);

// The map as the tokenizers library applies it, which differs from SentencePiece: to each extended grapheme cluster of
// less than 6 bytes as a whole, and where that does not begin with any key, to each of its characters. The shortest key
// that begins the cluster or character is taken, and its replacement stands for all of it, so that marks behind a
// replaced letter may be lost. (Source: the public sources of tokenizers, normalizers/precompiled.rs, and of
// spm_precompiled.) `text` is well-formed UTF-8. LimitExceeded as above.
std::string normalize_precompiled(std::string_view text, const Charsmap& map);

// The steps of a tokenizer.json that merge and strip spaces: merge, merge_and_strip or words. White space is what has
// Unicode's property White_Space; `text` is well-formed UTF-8.
std::string reduce_spaces(std::string_view text, ExtraSpaces spaces);

}  // namespace weft::text
