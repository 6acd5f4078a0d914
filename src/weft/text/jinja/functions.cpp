#include "weft/text/jinja/functions.h"

#include <array>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/text/jinja/operators.h"
#include "weft/text/jinja/parameters.h"
#include "weft/text/jinja/value_text.h"

namespace weft::jinja {
namespace {

constexpr std::int64_t longest_range = 100'000;  // as in Jinja's sandbox

Value range(Run& run, const Arguments& arguments) {
  const Parameters p(run, "range", arguments, {"start", "stop", "step"}, 1);
  const std::int64_t start = p.has(1) ? p.integer(0, 0) : 0, stop = p.has(1) ? p.integer(1, 0) : p.integer(0, 0);
  const std::int64_t step = p.integer(2, 1);
  if (step == 0) run.fail("a range cannot have the step 0");
  std::vector<Value> items;
  for (std::int64_t at = start; step > 0 ? at < stop : at > stop;) {
    if (static_cast<std::int64_t>(items.size()) == longest_range) run.too_much("{} items in a range", longest_range);
    items.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return run.sequence(std::move(items), Sequence::Kind::range);
}

// The members that dict() and namespace() are called with: of a mapping, then those with names.
template <class Set>
void each_member(Run& run, std::string_view function, const Arguments& arguments, Set set) {
  if (arguments.positional.size() > 1) run.fail("{} takes one mapping at most", function);
  if (!arguments.positional.empty()) {
    const Value& given = arguments.positional[0];
    if (const Mapping* mapping = given.mapping())
      for (const auto& [key, value] : mapping->members()) set(key, value);
    else
      for (const Value& pair : items_of(run, given)) {
        const std::vector<Value> parts = items_of(run, pair);
        if (parts.size() != 2) run.fail("{} needs pairs of a key and a value", function);
        set(parts[0], parts[1]);
      }
  }
  for (const auto& [name, value] : arguments.named) set(Value(name), value);
}

Value dict(Run& run, const Arguments& arguments) {
  auto mapping = std::make_shared<Mapping>();
  each_member(run, "dict", arguments, [&](const Value& key, const Value& value) {
    if (!mapping->set(key, value)) run.fail("a {} cannot be a key", key.type_name());
  });
  return run.mapping(std::move(mapping));
}

Value make_namespace(Run& run, const Arguments& arguments) {
  auto made = run.keep(std::make_shared<Namespace>());
  each_member(run, "namespace", arguments, [&](const Value& key, const Value& value) {
    if (key.text() == nullptr) run.fail("the names in a namespace are strings");
    made->set(*key.text(), value);
  });
  return Value(std::static_pointer_cast<Object>(std::move(made)));
}

// Nothing at the first call, the separator at each one after.
Value joiner(Run& run, const Arguments& arguments) {
  const Parameters p(run, "joiner", arguments, {"sep"});
  return Function::make([separator = p.text(0, ", "), used = false](Run& at_call, const Arguments& none) mutable {
    const Parameters no_arguments(at_call, "joiner", none, {});
    return Value(std::exchange(used, true) ? separator : std::string());
  });
}

class Cycler final : public Object {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}
  std::string type_name() const override { return "Cycler"; }
  void clear() override { items_.clear(); }
  std::optional<Value> attribute(Run&, std::string_view name) override {
    if (name == "current") return items_[at_];
    if (name == "next" || name == "reset")
      return Function::make([this, reset = name == "reset"](Run& run, const Arguments& none) -> Value {
        const Parameters no_arguments(run, "cycler", none, {});
        const Value current = items_[at_];
        at_ = reset ? 0 : (at_ + 1) % items_.size();
        return reset ? Value(None()) : current;
      });
    return std::nullopt;
  }

 private:
  std::vector<Value> items_;
  std::size_t at_ = 0;
};

Value cycler(Run& run, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty()) run.fail("cycler needs items, without names");
  run.charge_items(arguments.positional.size());
  return Value(std::static_pointer_cast<Object>(run.keep(std::make_shared<Cycler>(arguments.positional))));
}

Value raise_exception(Run& run, const Arguments& arguments) {
  const Parameters p(run, "raise_exception", arguments, {"message"}, 1);
  throw Error(ErrorKind::invalid_argument, "RefusedByTemplate", run.where(), str(run, p.get(0)));
}

Value strftime_now(Run& run, const Arguments& arguments) {
  const Parameters p(run, "strftime_now", arguments, {"format"}, 1);
  const std::string& format = p.exact_text(0);
  for (std::size_t at = format.find('%'); at != std::string::npos; at = format.find('%', at + 1)) {
    at += at + 1 < format.size() && format[at + 1] == '-' ? 2 : 1;
    constexpr std::string_view known = "aAbBcdDeFGhHIjmMnpRStTuUVwWxXyYzZ%";
    if (at >= format.size() || known.find(format[at]) == std::string_view::npos)
      run.fail("strftime_now does not know \"%{}\"", format.substr(std::min(at, format.size()), 1));
  }
  const std::tm now = run.now();
  std::string text(256 + 64 * format.size(), '\0');
  run.charge(text.size());
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &now));
  return Value(std::move(text));
}

using Global = Value (*)(Run&, const Arguments&);
constexpr std::array<std::pair<std::string_view, Global>, 7> globals{{
    {"range", range},
    {"dict", dict},
    {"namespace", make_namespace},
    {"joiner", joiner},
    {"cycler", cycler},
    {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
}};

}  // namespace

std::optional<Value> Namespace::attribute(Run&, std::string_view name) {
  const auto found = members_.find(std::string(name));
  return found == members_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Value> global_function(std::string_view name) {
  for (const auto& [known, function] : globals)
    if (known == name) return Function::make(function);
  return std::nullopt;
}

}  // namespace weft::jinja
