#include "weft/text/jinja/methods.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "weft/text/jinja/operators.h"
#include "weft/text/jinja/parameters.h"
#include "weft/text/jinja/text_methods.h"

namespace weft::jinja {
namespace {

class Method final : public Object {
 public:
  using Function = Value (*)(Run&, const Value& self, const Arguments&);
  Method(Value self, Function function) : self_(std::move(self)), function_(function) {}
  std::string type_name() const override { return "builtin_function_or_method"; }
  bool callable() const override { return true; }
  int depth() const override { return self_.depth() + 1; }
  Value call(Run& run, const Arguments& arguments) override {
    Value result = function_(run, self_, arguments);
    return self_.is_markup() && result.text() != nullptr ? Value::markup(*result.text()) : result;
  }

 private:
  Value self_;
  Function function_;
};

struct MethodEntry {
  std::string_view name;
  Method::Function function;  // nullptr: it would change the value
};

Value view(Run& run, const Value& self, std::string_view name, const Arguments& arguments, Sequence::Kind kind) {
  const Parameters none(run, name, arguments, {});
  std::vector<Value> items;
  run.charge_items(self.mapping()->size());
  for (const auto& [key, value] : self.mapping()->members())
    items.push_back(kind == Sequence::Kind::keys     ? key
                    : kind == Sequence::Kind::values ? value
                                                     : run.tuple({key, value}));
  return run.sequence(std::move(items), kind);
}

Value get(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, "get", arguments, {"key", "default"}, 1);
  if (const Value* found = self.mapping()->find(p.get(0))) return *found;
  return p.has(1) ? p.get(1) : Value(None());
}

Value copy(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters none(run, "copy", arguments, {});
  return self;
}

Value list_index(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, "index", arguments, {"value"}, 1);
  const auto& items = self.sequence()->items;
  const auto found = std::find_if(items.begin(), items.end(), [&](const Value& item) { return equal(item, p.get(0)); });
  if (found == items.end()) run.fail("the value is not in the list");
  return static_cast<std::int64_t>(found - items.begin());
}

Value list_count(Run& run, const Value& self, const Arguments& arguments) {
  const Parameters p(run, "count", arguments, {"value"}, 1);
  const auto& items = self.sequence()->items;
  return static_cast<std::int64_t>(
      std::count_if(items.begin(), items.end(), [&](const Value& item) { return equal(item, p.get(0)); }));
}

constexpr std::array<MethodEntry, 11> mapping_methods{{
    {"items", [](Run& r, const Value& s, const Arguments& a) { return view(r, s, "items", a, Sequence::Kind::items); }},
    {"keys", [](Run& r, const Value& s, const Arguments& a) { return view(r, s, "keys", a, Sequence::Kind::keys); }},
    {"values",
     [](Run& r, const Value& s, const Arguments& a) { return view(r, s, "values", a, Sequence::Kind::values); }},
    {"get", get},
    {"copy", copy},
    {"clear", nullptr},
    {"fromkeys", nullptr},
    {"pop", nullptr},
    {"popitem", nullptr},
    {"setdefault", nullptr},
    {"update", nullptr},
}};

constexpr std::array<MethodEntry, 11> list_methods{{
    {"index", list_index},
    {"count", list_count},
    {"copy", copy},
    {"append", nullptr},
    {"clear", nullptr},
    {"extend", nullptr},
    {"insert", nullptr},
    {"pop", nullptr},
    {"remove", nullptr},
    {"reverse", nullptr},
    {"sort", nullptr},
}};

template <class Table>
const MethodEntry* find_method(const Table& table, std::string_view name) {
  for (const MethodEntry& entry : table)
    if (entry.name == name) return &entry;
  return nullptr;
}

}  // namespace

std::optional<Value> method_or_attribute(Run& run, const Value& object, std::string_view name) {
  if (Object* known = object.object()) return known->attribute(run, name);
  if (name.starts_with("_")) return std::nullopt;
  Method::Function function = nullptr;
  if (object.text() != nullptr) {
    function = text_method(name);
    if (function == nullptr) return std::nullopt;
  } else {
    const Sequence* list = object.sequence();
    const MethodEntry* entry = object.mapping() != nullptr ? find_method(mapping_methods, name)
                               : list != nullptr && list->kind == Sequence::Kind::list ? find_method(list_methods, name)
                               : list != nullptr && list->kind <= Sequence::Kind::range
                                   ? find_method(list_methods, name)
                                   : nullptr;
    if (entry == nullptr) return std::nullopt;
    if (entry->function == nullptr) {
      if (list != nullptr && list->kind != Sequence::Kind::list) return std::nullopt;
      return Value::undefined(
          fmt::format("\"{}\" would change a {}, which a template may not", name, object.type_name()));
    }
    function = entry->function;
  }
  return Value(std::static_pointer_cast<Object>(std::make_shared<Method>(object, function)));
}

}  // namespace weft::jinja
