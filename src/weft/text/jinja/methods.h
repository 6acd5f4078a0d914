// The methods of strings, lists and mappings that a template may call. Those that would change a value are refused, as
// in Jinja's immutable sandbox.
#pragma once

#include <optional>
#include <string_view>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/value.h"

namespace weft::jinja {

// Nothing: the type has neither a method nor an attribute of this name.
std::optional<Value> method_or_attribute(Run& run, const Value& object, std::string_view name);

}  // namespace weft::jinja
