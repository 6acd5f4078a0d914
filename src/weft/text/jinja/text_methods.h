// The methods of Python's str. Internal to the methods.
#pragma once

#include <string_view>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/value.h"

namespace weft::jinja {

// nullptr: there is none of this name.
Value (*text_method(std::string_view name))(Run&, const Value& self, const Arguments&);

// What methods and filters share.
// As std::string_view's, but linear in the length of the text whatever is looked for.
std::size_t find(std::string_view text, std::string_view wanted, std::size_t from = 0);
std::size_t rfind(std::string_view text, std::string_view wanted);
std::string replace(Run& run, std::string_view text, std::string_view from, std::string_view to, std::int64_t most);
std::string strip(std::string_view text, const Value& characters, bool left, bool right);
std::string capitalize(std::string_view text);
std::string pad(Run& run, std::string_view text, std::int64_t width, std::string_view fill, char side);  // < > ^
std::vector<std::string> split_lines(std::string_view text);

}  // namespace weft::jinja
