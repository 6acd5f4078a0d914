#include "weft/text/jinja/operators.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "weft/text/characters.h"
#include "weft/text/code_points.h"
#include "weft/text/jinja/methods.h"
#include "weft/text/jinja/python_format.h"
#include "weft/text/jinja/text_methods.h"
#include "weft/text/jinja/value_text.h"

namespace weft::jinja {
namespace {

[[noreturn]] void refuse_operands(Run& run, std::string_view op, const Value& left, const Value& right) {
  run.expect_defined(left);
  run.expect_defined(right);
  run.fail("{} cannot be applied to {} and {}", op, left.type_name(), right.type_name());
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Value integer_power(Run& run, std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) run.fail("0 has no negative power");
    return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  }
  std::int64_t result = 1;
  for (bool overflow = false; exponent != 0;) {
    if (exponent & 1) overflow = __builtin_mul_overflow(result, base, &result);
    exponent >>= 1;
    if (exponent != 0) overflow = __builtin_mul_overflow(base, base, &base) || overflow;
    if (overflow) run.fail("the power is no integer of 64 bits");
  }
  return result;
}

Value integer_binary(Run& run, std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  if (op == "+")
    overflow = __builtin_add_overflow(a, b, &result);
  else if (op == "-")
    overflow = __builtin_sub_overflow(a, b, &result);
  else if (op == "*")
    overflow = __builtin_mul_overflow(a, b, &result);
  else if (op == "**")
    return integer_power(run, a, b);
  else if (b == 0)
    run.fail("division by zero");
  else if (op == "/")
    return static_cast<double>(a) / static_cast<double>(b);
  else if (b == -1)
    overflow = op == "//" && __builtin_sub_overflow(std::int64_t{0}, a, &result);
  else
    result = op == "//" ? floor_div(a, b) : a - floor_div(a, b) * b;
  if (overflow) run.fail("{} {} {} is no integer of 64 bits", a, op, b);
  return result;
}

Value real_binary(Run& run, std::string_view op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "**") return std::pow(a, b);
  if (b == 0) run.fail("division by zero");
  if (op == "/") return a / b;
  double remainder = std::fmod(a, b);
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  if (op == "%") return remainder == 0 ? std::copysign(0.0, b) : remainder;
  return std::floor((a - remainder) / b + 0.5);
}

Value repeat(Run& run, const Value& value, std::int64_t count) {
  const auto times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  if (const std::string* text = value.text()) {
    if (times != 0 && text->size() > run.limits().output_bytes / times) run.charge(run.limits().output_bytes + 1);
    std::string all;
    for (std::size_t i = 0; i < times && !text->empty(); ++i) all += *text;
    run.charge(all.size());
    return like(value, std::move(all));
  }
  const Sequence& list = *value.sequence();
  if (times != 0 && list.items.size() > run.limits().output_bytes / times) run.charge(run.limits().output_bytes + 1);
  run.charge_items(list.items.size() * times);
  std::vector<Value> all;
  for (std::size_t i = 0; i < times && !list.items.empty(); ++i)
    all.insert(all.end(), list.items.begin(), list.items.end());
  return run.sequence(std::move(all), list.kind);
}

bool is_joinable(const Value& value) {
  const Sequence* list = value.sequence();
  return list != nullptr && (list->kind == Sequence::Kind::list || list->kind == Sequence::Kind::tuple);
}

std::optional<std::size_t> position(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  return static_cast<std::size_t>(index);
}

Value character(std::string_view text, std::int64_t index) {
  const std::u32string characters = text::to_code_points(text);
  const auto at = position(index, characters.size());
  return at ? Value(text::to_utf8(std::u32string_view(characters).substr(*at, 1))) : Value();
}

std::string quoted_name(Run& run, const Value& object, const Value& name) {
  std::string type = object.type_name();
  return fmt::format("a {} has no {}", type, name.text() != nullptr ? "\"" + *name.text() + "\"" : repr(run, name));
}

}  // namespace

Value binary(Run& run, std::string_view op, const Value& left, const Value& right) {
  const auto a = left.integer(), b = right.integer();
  if (a && b) return integer_binary(run, op, *a, *b);
  if (left.number() && right.number()) return real_binary(run, op, *left.number(), *right.number());
  if (op == "+") {
    if (left.text() != nullptr && right.text() != nullptr) {
      run.charge(left.text()->size() + right.text()->size());
      if (left.is_markup() || right.is_markup()) return Value::markup(escaped(run, left) + escaped(run, right));
      return Value(*left.text() + *right.text());
    }
    if (is_joinable(left) && is_joinable(right) && left.sequence()->kind == right.sequence()->kind) {
      std::vector<Value> all = left.sequence()->items;
      all.insert(all.end(), right.sequence()->items.begin(), right.sequence()->items.end());
      return run.sequence(std::move(all), left.sequence()->kind);
    }
  }
  if (op == "*") {
    if ((left.text() != nullptr || is_joinable(left)) && b) return repeat(run, left, *b);
    if ((right.text() != nullptr || is_joinable(right)) && a) return repeat(run, right, *a);
  }
  if (op == "%" && left.text() != nullptr) return run.text(format_percent(run, *left.text(), right));
  refuse_operands(run, op, left, right);
}

Value negate(Run& run, const Value& value) {
  if (const auto whole = value.integer()) return integer_binary(run, "-", 0, *whole);
  if (const double* real = value.real()) return -*real;
  run.expect_defined(value);
  run.fail("a {} has no negative", value.type_name());
}

bool less(Run& run, const Value& left, const Value& right) {
  const auto a = left.integer(), b = right.integer();
  if (a && b) return *a < *b;
  if (left.number() && right.number()) return *left.number() < *right.number();
  // UTF-8 sorts as its code points do.
  if (left.text() != nullptr && right.text() != nullptr) return *left.text() < *right.text();
  if (is_joinable(left) && is_joinable(right) && left.sequence()->kind == right.sequence()->kind) {
    const auto &x = left.sequence()->items, &y = right.sequence()->items;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      run.step();
      if (!equal(x[i], y[i])) return less(run, x[i], y[i]);
    }
    return x.size() < y.size();
  }
  refuse_operands(run, "<", left, right);
}

bool compare(Run& run, std::string_view op, const Value& left, const Value& right) {
  if (op == "==") return equal(left, right);
  if (op == "!=") return !equal(left, right);
  if (op == "<") return less(run, left, right);
  if (op == ">") return less(run, right, left);
  if (op == "in") return contains(run, right, left);
  if (op == "not in") return !contains(run, right, left);
  if (left.number() && right.number() && (std::isnan(*left.number()) || std::isnan(*right.number()))) return false;
  return op == "<=" ? !less(run, right, left) : !less(run, left, right);
}

bool contains(Run& run, const Value& container, const Value& wanted) {
  if (const std::string* text = container.text()) {
    if (wanted.text() == nullptr) {
      run.expect_defined(wanted);
      run.fail("a str cannot contain a {}", wanted.type_name());
    }
    return find(*text, *wanted.text()) != std::string_view::npos;
  }
  if (const Mapping* mapping = container.mapping()) return mapping->find(wanted) != nullptr;
  const std::vector<Value> items = items_of(run, container);
  return std::any_of(items.begin(), items.end(), [&](const Value& each) { return equal(each, wanted); });
}

Value item(Run& run, const Value& object, const Value& index) {
  run.expect_defined(object);
  if (const Mapping* mapping = object.mapping()) {
    if (const Value* found = mapping->find(index)) return *found;
  } else if (const auto number = index.integer()) {
    const Sequence* list = object.sequence();
    if (list != nullptr && list->kind <= Sequence::Kind::range) {
      if (const auto at = position(*number, list->items.size())) return list->items[*at];
    } else if (const std::string* text = object.text()) {
      run.charge(text->size());
      if (const Value found = character(*text, *number); !found.is_undefined()) return like(object, *found.text());
    }
  }
  if (index.text() != nullptr && object.mapping() == nullptr) return attribute(run, object, *index.text());
  if (index.text() != nullptr)
    if (const auto found = method_or_attribute(run, object, *index.text())) return *found;
  return Value::undefined(quoted_name(run, object, index));
}

Value attribute(Run& run, const Value& object, std::string_view name) {
  run.expect_defined(object);
  if (const auto found = method_or_attribute(run, object, name)) return *found;
  if (const Mapping* mapping = object.mapping())
    if (const Value* found = mapping->find(name)) return *found;
  return Value::undefined(quoted_name(run, object, Value(name)));
}

Value path(Run& run, const Value& object, const Value& dotted) {
  if (dotted.text() == nullptr) return item(run, object, dotted);
  Value found = object;
  std::string_view rest = *dotted.text();
  for (;;) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    const bool is_number = !part.empty() && part[0] != '-' && error == std::errc() && end == part.data() + part.size();
    found = item(run, found, is_number ? Value(number) : Value(part));
    if (dot == std::string_view::npos) return found;
    rest.remove_prefix(dot + 1);
  }
}

Value slice(Run& run, const Value& object, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
            std::optional<std::int64_t> step) {
  const Sequence* list = object.sequence();
  const std::string* text = object.text();
  if (text == nullptr && (list == nullptr || list->kind > Sequence::Kind::range)) {
    run.expect_defined(object);
    return Value::undefined(fmt::format("a {} has no slices", object.type_name()));
  }
  const std::int64_t by = step.value_or(1);
  if (by == 0) run.fail("a slice cannot have the step 0");
  std::u32string characters;
  if (text != nullptr) {
    run.charge(text->size() * sizeof(char32_t));
    characters = text::to_code_points(*text);
  }
  const auto size = static_cast<std::int64_t>(text != nullptr ? characters.size() : list->items.size());
  const std::int64_t least = by > 0 ? 0 : -1, most = by > 0 ? size : size - 1;
  const auto clamp = [&](std::optional<std::int64_t> bound, std::int64_t otherwise) {
    if (!bound) return otherwise;
    return std::clamp(*bound < 0 ? *bound + size : *bound, least, most);
  };
  const std::int64_t first = clamp(start, by > 0 ? 0 : size - 1), last = clamp(stop, by > 0 ? size : -1);
  std::string cut;
  std::vector<Value> items;
  for (std::int64_t at = first; by > 0 ? at < last : at > last;) {
    if (text != nullptr)
      text::append_utf8(cut, characters[static_cast<std::size_t>(at)]);
    else
      items.push_back(list->items[static_cast<std::size_t>(at)]);
    if (__builtin_add_overflow(at, by, &at)) break;
  }
  run.charge(cut.size());
  return text != nullptr ? like(object, std::move(cut)) : run.sequence(std::move(items), list->kind);
}

std::vector<Value> items_of(Run& run, const Value& value) {
  if (value.is_undefined()) return {};
  if (const Sequence* list = value.sequence()) {
    run.charge_items(list->items.size());
    return list->items;
  }
  std::vector<Value> items;
  if (const Mapping* mapping = value.mapping()) {
    run.charge_items(mapping->size());
    for (const auto& [key, member] : mapping->members()) items.push_back(key);
    return items;
  }
  if (const std::string* text = value.text()) {
    run.charge_items(text->size());
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t size = std::min(text::character_length((*text)[at]), text->size() - at);
      items.emplace_back(text->substr(at, size));
      at += size;
    }
    return items;
  }
  if (Iterator* iterator = value.iterator()) {
    items.assign(iterator->items.begin() + static_cast<std::ptrdiff_t>(iterator->next), iterator->items.end());
    iterator->next = iterator->items.size();
    return items;
  }
  run.fail("a {} cannot be walked through", value.type_name());
}

std::size_t length(Run& run, const Value& value) {
  if (value.is_undefined()) return 0;
  if (const std::string* text = value.text()) return text::count_code_points(*text);
  if (const Sequence* list = value.sequence()) return list->items.size();
  if (const Mapping* mapping = value.mapping()) return mapping->size();
  run.fail("a {} has no length", value.type_name());
}

}  // namespace weft::jinja
