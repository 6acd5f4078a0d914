// Unicode normalization of the text between special tokens.
#pragma once

#include <string>
#include <string_view>

#include "weft/text/vocabulary.h"

namespace weft::text {

// `text` is well-formed UTF-8. LimitExceeded for a run of over 1,024 combining marks: putting such a run into
// canonical order takes quadratic time.
std::string normalize(std::string_view text, TextNormalizer form);

}  // namespace weft::text
