// Filters that put sequences into another order or another shape.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "weft/text/code_points.h"
#include "weft/text/jinja/filters.h"
#include "weft/text/jinja/operators.h"
#include "weft/text/jinja/parameters.h"

namespace weft::jinja {
namespace {

Value first(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "first", arguments, {});
  // Of an iterator, only the one item is used up.
  if (Iterator* iterator = subject.iterator(); iterator != nullptr && iterator->next < iterator->items.size())
    return iterator->items[iterator->next++];
  const std::vector<Value> items = items_of(run, subject);
  return items.empty() ? Value::undefined("there is no first item, the sequence was empty") : items.front();
}

Value last(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "last", arguments, {});
  if (subject.iterator() != nullptr) run.fail("a generator has no last item; use |list");
  const std::vector<Value> items = items_of(run, subject);
  return items.empty() ? Value::undefined("there is no last item, the sequence was empty") : items.back();
}

Value list(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "list", arguments, {});
  return run.sequence(items_of(run, subject));
}

Value reverse(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "reverse", arguments, {});
  if (subject.text() != nullptr) {
    std::u32string all = text::to_code_points(*subject.text());
    std::reverse(all.begin(), all.end());
    return run.text(text::to_utf8(all));
  }
  const bool from_iterator = subject.iterator() != nullptr;
  std::vector<Value> items = items_of(run, subject);
  std::reverse(items.begin(), items.end());
  return from_iterator ? run.sequence(std::move(items)) : run.iterator(std::move(items));
}

// What is compared of an item: itself or an attribute, strings without their case where that does not count.
Value sort_key(Run& run, const Value& value, bool case_sensitive) {
  if (case_sensitive || value.text() == nullptr) return value;
  return run.text(text::to_utf8(text::lower(text::to_code_points(*value.text()))));
}

Value sort_key(Run& run, const Value& each, const Value& attribute, bool case_sensitive) {
  if (attribute.is_undefined() || attribute.is_none()) return sort_key(run, each, case_sensitive);
  if (attribute.text() == nullptr || attribute.text()->find(',') == std::string::npos)
    return sort_key(run, path(run, each, attribute), case_sensitive);
  std::vector<Value> parts;
  std::string_view rest = *attribute.text();
  for (;;) {
    const std::size_t comma = rest.find(',');
    parts.push_back(sort_key(run, path(run, each, Value(rest.substr(0, comma))), case_sensitive));
    if (comma == std::string_view::npos) return run.sequence(std::move(parts));
    rest.remove_prefix(comma + 1);
  }
}

// Merges instead of std::stable_sort: the comparison may throw, and may answer as it likes where a key is NaN.
template <class Less>
void merge_sort(std::vector<std::pair<Value, Value>>& items, Less less) {
  std::vector<std::pair<Value, Value>> merged(items.size());
  for (std::size_t width = 1; width < items.size(); width *= 2) {
    for (std::size_t begin = 0; begin < items.size(); begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, items.size()), end = std::min(begin + 2 * width, items.size());
      for (std::size_t i = begin, j = middle, to = begin; to < end; ++to)
        merged[to] =
            std::move(i < middle && (j == end || !less(items[j].first, items[i].first)) ? items[i++] : items[j++]);
    }
    items.swap(merged);
  }
}

std::vector<Value> sorted(Run& run, std::vector<std::pair<Value, Value>> keyed, bool descending) {
  merge_sort(keyed, [&](const Value& a, const Value& b) {
    run.step_through(a);
    return descending ? less(run, b, a) : less(run, a, b);
  });
  std::vector<Value> items;
  for (auto& [key, value] : keyed) items.push_back(std::move(value));
  return items;
}

std::vector<std::pair<Value, Value>> with_keys(Run& run, const Value& subject, const Value& attribute,
                                               bool case_sensitive) {
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& each : items_of(run, subject)) {
    run.step_through(each);
    Value key = sort_key(run, each, attribute, case_sensitive);
    keyed.emplace_back(std::move(key), std::move(each));
  }
  return keyed;
}

Value sort(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "sort", arguments, {"reverse", "case_sensitive", "attribute"});
  return run.sequence(sorted(run, with_keys(run, subject, p.get(2), p.flag(1, false)), p.flag(0, false)));
}

Value dictsort(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by = p.text(1, "key");
  if (by != "key" && by != "value") run.fail("dictsort sorts by key or by value, not by \"{}\"", by);
  if (subject.mapping() == nullptr) {
    run.expect_defined(subject);
    run.fail("dictsort needs a mapping, not a {}", subject.type_name());
  }
  std::vector<std::pair<Value, Value>> keyed;
  for (const auto& [key, value] : subject.mapping()->members())
    keyed.emplace_back(sort_key(run, by == "key" ? key : value, p.flag(0, false)), run.tuple({key, value}));
  return run.sequence(sorted(run, std::move(keyed), p.flag(2, false)));
}

Value unique(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "unique", arguments, {"case_sensitive", "attribute"});
  Mapping seen;
  std::vector<Value> items;
  for (auto& [key, value] : with_keys(run, subject, p.get(1), p.flag(0, false))) {
    if (seen.find(key) != nullptr) continue;
    if (!seen.set(key, None())) run.fail("unique cannot compare a {}", key.type_name());
    items.push_back(std::move(value));
  }
  return run.iterator(std::move(items));
}

template <bool greatest>
Value extreme(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, greatest ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  const auto keyed = with_keys(run, subject, p.get(1), p.flag(0, false));
  if (keyed.empty()) return Value::undefined("there is no item, the sequence was empty");
  std::size_t best = 0;
  for (std::size_t i = 1; i < keyed.size(); ++i) {
    run.step_through(keyed[i].first);
    if (greatest ? less(run, keyed[best].first, keyed[i].first) : less(run, keyed[i].first, keyed[best].first))
      best = i;
  }
  return keyed[best].second;
}

Value items(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "items", arguments, {});
  std::vector<Value> pairs;
  if (const Mapping* mapping = subject.mapping())
    for (const auto& [key, value] : mapping->members()) pairs.push_back(run.tuple({key, value}));
  else if (!subject.is_undefined())
    run.fail("items needs a mapping, not a {}", subject.type_name());
  return run.iterator(std::move(pairs));
}

Value batch(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "batch", arguments, {"linecount", "fill_with"}, 1);
  const std::int64_t size = p.integer(0, 1);
  std::vector<Value> rows, row;
  for (Value& each : items_of(run, subject)) {
    if (static_cast<std::int64_t>(row.size()) == size) rows.push_back(run.sequence(std::exchange(row, {})));
    row.push_back(std::move(each));
  }
  if (!row.empty()) {
    if (p.given(1) && size > static_cast<std::int64_t>(row.size())) {
      run.charge_items(static_cast<std::size_t>(std::min<std::int64_t>(size, std::int64_t{1} << 32)));
      row.resize(static_cast<std::size_t>(size), p.get(1));
    }
    rows.push_back(run.sequence(std::move(row)));
  }
  return run.iterator(std::move(rows));
}

Value slice_filter(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "slice", arguments, {"slices", "fill_with"}, 1);
  const std::int64_t slices = p.integer(0, 1);
  const std::vector<Value> all = items_of(run, subject);
  if (slices <= 0) run.fail("slice needs a number above 0");
  run.charge_items(static_cast<std::size_t>(std::min<std::int64_t>(slices, std::int64_t{1} << 32)));
  const auto count = static_cast<std::size_t>(slices), each = all.size() / count, longer = all.size() % count;
  std::vector<Value> columns;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = each + (i < longer ? 1 : 0);
    std::vector<Value> column(all.begin() + static_cast<std::ptrdiff_t>(at),
                              all.begin() + static_cast<std::ptrdiff_t>(at + size));
    if (p.given(1) && i >= longer) column.push_back(p.get(1));
    columns.push_back(run.sequence(std::move(column)));
    at += size;
  }
  return run.iterator(std::move(columns));
}

Value groupby(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& each : items_of(run, subject)) {
    run.step_through(each);
    Value key = path(run, each, p.get(0));
    if (key.is_undefined() && p.has(1)) key = p.get(1);
    keyed.emplace_back(sort_key(run, key, p.flag(2, false)), run.tuple({key, each}));
  }
  std::vector<Value> groups, members;
  Value current;
  const auto close = [&](const Value& head) {
    if (!members.empty()) groups.push_back(run.tuple({head, run.sequence(std::exchange(members, {}))}));
  };
  Value head;
  for (const Value& pair : sorted(run, std::move(keyed), false)) {
    const Value &key = pair.sequence()->items[0], &member = pair.sequence()->items[1];
    const Value compared = sort_key(run, key, p.flag(2, false));
    if (members.empty() || !equal(compared, current)) {
      close(head);
      head = key;
      current = compared;
    }
    members.push_back(member);
  }
  close(head);
  return run.sequence(std::move(groups));
}

}  // namespace

std::span<const FilterEntry> sequence_filters() {
  static constexpr std::array<FilterEntry, 13> table{{
      {"first", first},
      {"last", last},
      {"list", list},
      {"reverse", reverse},
      {"sort", sort},
      {"dictsort", dictsort},
      {"unique", unique},
      {"min", extreme<false>},
      {"max", extreme<true>},
      {"items", items},
      {"batch", batch},
      {"slice", slice_filter},
      {"groupby", groupby},
  }};
  return table;
}

}  // namespace weft::jinja
