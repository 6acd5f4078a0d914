// Filters that choose among items, or between a value and a default.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "weft/text/jinja/filters.h"
#include "weft/text/jinja/operators.h"
#include "weft/text/jinja/parameters.h"

namespace weft::jinja {
namespace {

Value otherwise(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "default", arguments, {"default_value", "boolean"});
  if (!subject.is_undefined() && (!p.flag(1, false) || subject.truth())) return subject;
  return p.has(0) ? p.get(0) : Value("");
}

Value attribute_filter(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "attr", arguments, {"name"}, 1);
  // Unlike a dot, the filter does not look among a mapping's members.
  const Value found = subject.mapping() != nullptr ? Value() : attribute(run, subject, p.text(0, ""));
  return found.is_undefined() ? Value::undefined(fmt::format("there is no attribute \"{}\"", p.text(0, ""))) : found;
}

// The arguments behind the first `count`.
Arguments behind(const Arguments& arguments, std::size_t count) {
  Arguments rest;
  rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(count), arguments.positional.end());
  rest.named = arguments.named;
  return rest;
}

// The items that map and select go through: of what is not true (none, 0) there are none.
std::vector<Value> items_if_true(Run& run, const Value& subject) {
  return subject.truth() ? items_of(run, subject) : std::vector<Value>();
}

Value map(Run& run, const Value& subject, const Arguments& arguments) {
  std::vector<Value> items;
  if (arguments.positional.empty()) {
    const Parameters p(run, "map", arguments, {"attribute", "default"}, 1);
    for (const Value& each : items_if_true(run, subject)) {
      run.step();
      Value found = path(run, each, p.get(0));
      items.push_back(found.is_undefined() && p.has(1) ? p.get(1) : std::move(found));
    }
    return run.iterator(std::move(items));
  }
  if (arguments.positional[0].text() == nullptr) run.fail("map needs the name of a filter");
  const Filter filter = find_filter(run, *arguments.positional[0].text());
  const Arguments rest = behind(arguments, 1);
  for (const Value& each : items_if_true(run, subject)) {
    run.step_through(each);
    items.push_back(filter(run, each, rest));
  }
  return run.iterator(std::move(items));
}

// With an attribute the test is of that, else of the item; without a test, whether it is true.
template <bool keeps, bool by_attribute>
Value select(Run& run, const Value& subject, const Arguments& arguments) {
  constexpr std::size_t first = by_attribute ? 1 : 0;
  if (arguments.positional.size() < first) run.fail("selectattr and rejectattr need the name of an attribute");
  Test test = nullptr;
  Arguments rest;
  if (arguments.positional.size() > first) {
    const std::string* name = arguments.positional[first].text();
    if (name == nullptr) run.fail("select and reject need the name of a test");
    test = find_test(run, *name);
    rest = behind(arguments, first + 1);
  }
  std::vector<Value> items;
  for (Value& each : items_if_true(run, subject)) {
    run.step_through(each);
    const Value tested = by_attribute ? path(run, each, arguments.positional[0]) : each;
    if ((test != nullptr ? test(run, tested, rest) : tested.truth()) == keeps) items.push_back(std::move(each));
  }
  return run.iterator(std::move(items));
}

}  // namespace

std::span<const FilterEntry> selection_filters() {
  static constexpr std::array<FilterEntry, 8> table{{
      {"default", otherwise},
      {"d", otherwise},
      {"attr", attribute_filter},
      {"map", map},
      {"select", select<true, false>},
      {"reject", select<false, false>},
      {"selectattr", select<true, true>},
      {"rejectattr", select<false, true>},
  }};
  return table;
}

}  // namespace weft::jinja
