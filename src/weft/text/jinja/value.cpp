#include "weft/text/jinja/value.h"

#include <algorithm>
#include <cmath>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/value_text.h"

namespace weft::jinja {
namespace {

// A text that is equal for keys that are equal: 1, 1.0 and true are one key. Nothing for what cannot be a key.
std::optional<std::string> key_text(const Value& key) {
  if (const std::string* text = key.text()) return "s" + *text;
  if (const auto whole = key.integer()) return "n" + std::to_string(*whole);
  if (const double* real = key.real()) {
    if (std::trunc(*real) == *real && std::abs(*real) < 9e18)
      return "n" + std::to_string(static_cast<std::int64_t>(*real));
    return "n" + real_text(*real);
  }
  if (key.is_none()) return "z";
  const Sequence* tuple = key.sequence();
  if (tuple == nullptr || tuple->kind != Sequence::Kind::tuple) return std::nullopt;
  std::string all = "(";
  for (const Value& item : tuple->items) {
    const auto part = key_text(item);
    if (!part) return std::nullopt;
    all += std::to_string(part->size()) + ":" + *part;
  }
  return all;
}

// A list may hold a list many times that holds another many times: the sum stays below what can still be added up.
std::uint64_t add_weights(std::uint64_t a, std::uint64_t b) { return std::min(a + b, std::uint64_t{1} << 48); }

bool equal_items(const std::vector<Value>& a, const std::vector<Value>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), equal);
}

bool equal_sequences(const Sequence& a, const Sequence& b) {
  using Kind = Sequence::Kind;
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::values) return &a == &b;
  if (a.kind != Kind::keys && a.kind != Kind::items) return equal_items(a.items, b.items);
  return a.items.size() == b.items.size() && std::all_of(a.items.begin(), a.items.end(), [&](const Value& item) {
           return std::any_of(b.items.begin(), b.items.end(), [&](const Value& other) { return equal(item, other); });
         });
}

bool equal_mappings(const Mapping& a, const Mapping& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.members()) {
    const Value* other = b.find(key);
    if (other == nullptr || !equal(value, *other)) return false;
  }
  return true;
}

}  // namespace

Value Value::undefined(std::string reason) {
  Value value;
  value.value_ = Undefined{std::make_shared<const std::string>(std::move(reason))};
  return value;
}

Value Value::markup(std::string text) {
  Value value;
  value.value_ = Markup{std::make_shared<const std::string>(std::move(text))};
  return value;
}

Value Value::list(std::vector<Value> items) { return Value(std::make_shared<const Sequence>(std::move(items))); }

Value Value::mapping(std::vector<std::pair<Value, Value>> members) {
  auto mapping = std::make_shared<Mapping>();
  for (auto& [key, value] : members) mapping->set(key, std::move(value));
  return Value(std::shared_ptr<const Mapping>(std::move(mapping)));
}

std::optional<std::int64_t> Value::integer() const {
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return *whole;
  if (const bool* flag = boolean()) return *flag ? 1 : 0;
  return std::nullopt;
}

std::optional<double> Value::number() const {
  if (const double* value = real()) return *value;
  if (const auto whole = integer()) return static_cast<double>(*whole);
  return std::nullopt;
}

bool Value::truth() const {
  if (is_undefined() || is_none()) return false;
  if (const auto value = number()) return *value != 0;
  if (const std::string* value = text()) return !value->empty();
  if (const Sequence* value = sequence()) return !value->items.empty();
  if (const Mapping* value = mapping()) return value->size() != 0;
  return true;
}

int Value::depth() const {
  if (const Sequence* value = sequence()) return value->depth;
  if (const Mapping* value = mapping()) return value->depth();
  if (const Iterator* value = iterator()) {
    int deepest = 0;
    for (const Value& item : value->items) deepest = std::max(deepest, item.depth());
    return deepest + 1;
  }
  if (const Object* value = object()) return value->depth();
  return 0;
}

std::uint64_t Value::weight() const {
  if (const std::string* value = text()) return 1 + value->size() / 16;
  if (const Sequence* value = sequence()) return value->weight;
  if (const Mapping* value = mapping()) return value->weight();
  return 1;
}

std::string Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (boolean() != nullptr) return "bool";
  if (real() != nullptr) return "float";
  if (integer()) return "int";
  if (text() != nullptr) return "str";
  if (mapping() != nullptr) return "dict";
  if (iterator() != nullptr) return "generator";
  if (Object* value = object()) return value->type_name();
  switch (sequence()->kind) {
    case Sequence::Kind::list: return "list";
    case Sequence::Kind::tuple: return "tuple";
    case Sequence::Kind::range: return "range";
    case Sequence::Kind::keys: return "dict_keys";
    case Sequence::Kind::values: return "dict_values";
    case Sequence::Kind::items: return "dict_items";
  }
  return "";
}

Sequence::Sequence(std::vector<Value> values, Kind of_kind) : items(std::move(values)), kind(of_kind) {
  for (const Value& item : items) {
    depth = std::max(depth, item.depth() + 1);
    weight = add_weights(weight, item.weight());
  }
}

bool Mapping::set(const Value& key, Value value) {
  auto text = key_text(key);
  if (!text) return false;
  depth_ = std::max({depth_, key.depth() + 1, value.depth() + 1});
  weight_ = add_weights(weight_, key.weight() + value.weight());
  const auto [at, is_new] = index_.emplace(std::move(*text), members_.size());
  if (is_new)
    members_.emplace_back(key, std::move(value));
  else
    members_[at->second].second = std::move(value);
  return true;
}

const Value* Mapping::find(const Value& key) const {
  const auto text = key_text(key);
  if (!text) return nullptr;
  const auto found = index_.find(*text);
  return found == index_.end() ? nullptr : &members_[found->second].second;
}

const Value* Mapping::find(std::string_view key) const {
  const auto found = index_.find("s" + std::string(key));
  return found == index_.end() ? nullptr : &members_[found->second].second;
}

Value Object::call(Run& run, const Arguments&) { run.fail("a {} cannot be called", type_name()); }
std::optional<Value> Object::attribute(Run&, std::string_view) { return std::nullopt; }

bool equal(const Value& a, const Value& b) {
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  const auto x = a.integer(), y = b.integer();
  if (x && y) return *x == *y;
  if (a.number() && b.number()) return *a.number() == *b.number();
  if (a.text() != nullptr && b.text() != nullptr) return *a.text() == *b.text();
  if (a.sequence() != nullptr && b.sequence() != nullptr) return equal_sequences(*a.sequence(), *b.sequence());
  if (a.mapping() != nullptr && b.mapping() != nullptr) return equal_mappings(*a.mapping(), *b.mapping());
  if (a.iterator() != nullptr) return a.iterator() == b.iterator();
  return a.object() != nullptr && a.object() == b.object();
}

}  // namespace weft::jinja
