// JSON as a template's value.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/export.h"
#include "weft/text/jinja/value.h"

namespace weft::jinja {

// BadJson with the offset, also for integers beyond 64 bits and for nesting beyond 64 levels. `name` stands in errors.
WEFT_API Value value_from_json(std::string_view json, const std::string& name = "JSON");

}  // namespace weft::jinja
