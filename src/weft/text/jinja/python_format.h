// Python's two ways to put values into a text: "%s, %05.2f" % values and "{}, {name:>8}".format(values).
#pragma once

#include <string>
#include <string_view>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/value.h"

namespace weft::jinja {

std::string format_percent(Run& run, std::string_view format, const Value& values);
std::string format_braces(Run& run, std::string_view format, const Arguments& values);

}  // namespace weft::jinja
