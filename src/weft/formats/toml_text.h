// TOML written: strings, keys and numbers as they stand in a text, such that reading gives back the same value.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// A basic string on one line, quotes included.
std::string toml_quoted(std::string_view text);
// A basic string over several lines, readable as it is. No line of it begins with "~~~".
std::string toml_multiline(std::string_view text);
// One part of a key: bare where TOML allows it, else quoted.
std::string toml_key(std::string_view part);
// The shortest text that reads as the same double, or as a double that rounds to the same float.
std::string toml_number(double value);
std::string toml_number(float value);

}  // namespace weft
