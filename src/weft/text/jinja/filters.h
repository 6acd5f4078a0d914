// The filters that a template may use, by name. Internal to the engine: each file of filters has a table of its own.
#pragma once

#include <span>
#include <string_view>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/value.h"

namespace weft::jinja {

using Filter = Value (*)(Run&, const Value& subject, const Arguments&);
using Test = bool (*)(Run&, const Value& subject, const Arguments&);

struct FilterEntry {
  std::string_view name;
  Filter filter;
};

std::span<const FilterEntry> text_filters();
std::span<const FilterEntry> sequence_filters();
std::span<const FilterEntry> selection_filters();
std::span<const FilterEntry> number_filters();

Filter find_filter(Run& run, std::string_view name);  // InvalidTemplate for an unknown one
Test find_test(Run& run, std::string_view name);

}  // namespace weft::jinja
