// Operators, indexing and iteration with Python's meaning.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/value.h"

namespace weft::jinja {

// One of: + - * / // % **
Value binary(Run& run, std::string_view op, const Value& left, const Value& right);
Value negate(Run& run, const Value& value);
// One of: == != < <= > >= in "not in"
bool compare(Run& run, std::string_view op, const Value& left, const Value& right);
bool less(Run& run, const Value& left, const Value& right);
bool contains(Run& run, const Value& container, const Value& item);

Value item(Run& run, const Value& object, const Value& index);          // object[index], else undefined
Value attribute(Run& run, const Value& object, std::string_view name);  // object.name, else undefined
Value path(Run& run, const Value& object, const Value& dotted);         // a filter's "a.b.0"
Value slice(Run& run, const Value& object, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
            std::optional<std::int64_t> step);

// What a loop over the value gives. Uses an iterator up.
std::vector<Value> items_of(Run& run, const Value& value);
std::size_t length(Run& run, const Value& value);

}  // namespace weft::jinja
