// What a template may call by name: range, dict, namespace, joiner, cycler, raise_exception and strftime_now.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/value.h"

namespace weft::jinja {

// Variables that keep what is set in them beyond the block where it is set.
class Namespace final : public Object {
 public:
  std::string type_name() const override { return "Namespace"; }
  std::optional<Value> attribute(Run& run, std::string_view name) override;
  void clear() override { members_.clear(); }
  void set(std::string_view name, Value value) { members_.insert_or_assign(std::string(name), std::move(value)); }

 private:
  struct Hash {
    std::size_t operator()(const std::string& key) const { return text::hash_bytes(key); }
  };
  std::unordered_map<std::string, Value, Hash> members_;
};

// A function of the language itself, such as a method of `loop`.
class Function final : public Object {
 public:
  using Body = std::function<Value(Run&, const Arguments&)>;
  explicit Function(Body body) : body_(std::move(body)) {}
  static Value make(Body body) {
    return Value(std::static_pointer_cast<Object>(std::make_shared<Function>(std::move(body))));
  }
  std::string type_name() const override { return "function"; }
  bool callable() const override { return true; }
  Value call(Run& run, const Arguments& arguments) override { return body_(run, arguments); }

 private:
  Body body_;
};

std::optional<Value> global_function(std::string_view name);

}  // namespace weft::jinja
