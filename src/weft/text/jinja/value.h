// The values of a template, with Python's meaning: what a context holds and what expressions give. Cheap to copy;
// strings, sequences and mappings are immutable and shared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "weft/base/export.h"
#include "weft/text/hash.h"

namespace weft::jinja {

class Mapping;
class Object;
class Value;
struct Iterator;
struct Sequence;

struct Undefined {
  std::shared_ptr<const std::string> reason;  // what to say when it is used: "'x' is undefined"
};
struct None {};

using Text = std::shared_ptr<const std::string>;
// A text that counts as HTML already: what is added to it is escaped.
struct Markup {
  Text text;
};

class WEFT_API Value {
 public:
  using Variant =
      std::variant<Undefined, None, bool, std::int64_t, double, Text, Markup, std::shared_ptr<const Sequence>,
                   std::shared_ptr<const Mapping>, std::shared_ptr<Iterator>, std::shared_ptr<Object>>;

  Value() = default;  // undefined
  Value(None) : value_(None()) {}
  Value(bool value) : value_(value) {}
  Value(std::int64_t value) : value_(value) {}
  Value(int value) : value_(std::int64_t{value}) {}
  Value(double value) : value_(value) {}
  Value(std::string value) : value_(std::make_shared<const std::string>(std::move(value))) {}
  Value(std::string_view value) : Value(std::string(value)) {}
  Value(const char* value) : Value(std::string(value)) {}
  Value(std::shared_ptr<const Sequence> value) : value_(std::move(value)) {}
  Value(std::shared_ptr<const Mapping> value) : value_(std::move(value)) {}
  Value(std::shared_ptr<Iterator> value) : value_(std::move(value)) {}
  Value(std::shared_ptr<Object> value) : value_(std::move(value)) {}
  static Value undefined(std::string reason);
  static Value markup(std::string text);
  static Value list(std::vector<Value> items);
  static Value mapping(std::vector<std::pair<Value, Value>> members);  // a later member of an equal key wins

  bool is_undefined() const { return std::holds_alternative<Undefined>(value_); }
  bool is_none() const { return std::holds_alternative<None>(value_); }
  const Undefined* undefined() const { return std::get_if<Undefined>(&value_); }
  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const double* real() const { return std::get_if<double>(&value_); }
  const std::string* text() const {
    if (const auto* markup = std::get_if<Markup>(&value_)) return markup->text.get();
    const auto* text = std::get_if<Text>(&value_);
    return text == nullptr ? nullptr : text->get();
  }
  bool is_markup() const { return std::holds_alternative<Markup>(value_); }
  const Sequence* sequence() const { return pointee<std::shared_ptr<const Sequence>>(); }
  const Mapping* mapping() const { return pointee<std::shared_ptr<const Mapping>>(); }
  Iterator* iterator() const { return pointee<std::shared_ptr<Iterator>>(); }
  Object* object() const { return pointee<std::shared_ptr<Object>>(); }
  std::shared_ptr<Object> shared_object() const { return std::get<std::shared_ptr<Object>>(value_); }

  // Python counts its booleans among the integers.
  std::optional<std::int64_t> integer() const;
  std::optional<double> number() const;
  bool truth() const;
  int depth() const;              // levels of sequences and mappings; 0 for all else
  std::uint64_t weight() const;   // how much there is to look through: 16 bytes of text, or one item, count as 1
  std::string type_name() const;  // Python's: "str", "NoneType"

 private:
  template <class Pointer>
  auto pointee() const -> decltype(std::declval<Pointer>().get()) {
    const auto* found = std::get_if<Pointer>(&value_);
    return found == nullptr ? nullptr : found->get();
  }
  Variant value_;
};

struct Sequence {
  enum class Kind { list, tuple, range, keys, values, items };  // the last three: views of a mapping

  Sequence(std::vector<Value> values, Kind of_kind = Kind::list);
  // Lists equal lists only, tuples equal tuples only; views of keys are sets.
  std::vector<Value> items;
  Kind kind = Kind::list;
  int depth = 1;
  std::uint64_t weight = 1;
};

// In the order of insertion.
class Mapping {
 public:
  using Member = std::pair<Value, Value>;

  // Replaces the value of an equal key. False for a key that cannot be one (a list, a mapping).
  bool set(const Value& key, Value value);
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  const std::vector<Member>& members() const { return members_; }
  std::size_t size() const { return members_.size(); }
  int depth() const { return depth_; }
  std::uint64_t weight() const { return weight_; }

 private:
  struct Hash {
    std::size_t operator()(const std::string& key) const { return text::hash_bytes(key); }
  };
  std::vector<Member> members_;
  std::unordered_map<std::string, std::size_t, Hash> index_;  // by a text that is equal for equal keys
  int depth_ = 1;
  std::uint64_t weight_ = 1;
};

// What a lazy filter gives: can be walked once, has no length and is always true.
struct Iterator {
  explicit Iterator(std::vector<Value> values) : items(std::move(values)) {}
  std::vector<Value> items;
  std::size_t next = 0;
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

class Run;

// Functions, namespaces, loops. Compared by identity.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string type_name() const = 0;
  virtual bool callable() const { return false; }
  virtual int depth() const { return 0; }  // of the values that it holds for good
  virtual void clear() {}                  // lets go of all values
  virtual Value call(Run& run, const Arguments& arguments);
  virtual std::optional<Value> attribute(Run& run, std::string_view name);  // nothing: there is none
};

bool equal(const Value& a, const Value& b);

}  // namespace weft::jinja
