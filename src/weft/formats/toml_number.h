// TOML's bare values: booleans, numbers, dates and times. Internal to formats/.
#pragma once

#include <optional>
#include <string_view>

#include "weft/formats/toml_value.h"

namespace weft {

// Length of the bare value at the start of `text`: one token, or a date and a time with a space between them.
std::size_t toml_bare_length(std::string_view text);

// The value of a token; nothing when it is none of TOML's, or a number that does not fit.
std::optional<TomlValue> parse_toml_bare(std::string_view token);

}  // namespace weft
