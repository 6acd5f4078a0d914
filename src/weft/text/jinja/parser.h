// From a template's text to its tree.
#pragma once

#include <string>
#include <string_view>

#include "weft/text/jinja/limits.h"
#include "weft/text/jinja/syntax.h"

namespace weft::jinja {

// InvalidTemplate with line and column, TemplateLimit.
Block parse(std::string_view source, const std::string& name, const TemplateLimits& limits);

}  // namespace weft::jinja
