// One rendering under way: what it may still cost, and where in the template it is. Filters, tests and functions get
// it to make values and to refuse.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/fail.h"
#include "weft/text/jinja/limits.h"
#include "weft/text/jinja/position.h"
#include "weft/text/jinja/value.h"

namespace weft::jinja {

class Run {
 public:
  using Clock = std::function<std::tm()>;

  Run(std::string name, const TemplateLimits& limits, Clock clock)
      : name_(std::move(name)), limits_(limits), clock_(std::move(clock)) {}
  ~Run() {
    for (const auto& object : kept_) object->clear();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const TemplateLimits& limits() const { return limits_; }
  std::tm now() const { return clock_(); }
  // Objects that may come to hold each other, or long chains of one another, live until the run ends and let go then.
  template <class T>
  std::shared_ptr<T> keep(std::shared_ptr<T> object) {
    kept_.push_back(object);
    return object;
  }
  void at(Position position) { position_ = position; }
  std::string where() const { return fmt::format("{}:{}:{}", name_, position_.line, position_.column); }

  void step(std::uint64_t count = 1) {
    steps_ += count;
    if (steps_ > limits_.steps) too_much("{} steps", limits_.steps);
  }
  // Before something is done that looks through all of a value.
  void step_through(const Value& value) { step(1 + value.weight() / 64); }
  // Before something of this size is made.
  void charge(std::size_t bytes) {
    if (bytes > limits_.output_bytes) too_much("{} bytes in one value", limits_.output_bytes);
    work_bytes_ += bytes;
    if (work_bytes_ > limits_.work_bytes) too_much("{} bytes of values", limits_.work_bytes);
  }
  void charge_items(std::size_t count) { charge(count * sizeof(Value)); }

  Value text(std::string text) {
    charge(text.size());
    return Value(std::move(text));
  }
  Value sequence(std::vector<Value> items, Sequence::Kind kind = Sequence::Kind::list) {
    charge_items(items.size());
    return nested(Value(std::make_shared<const Sequence>(std::move(items), kind)));
  }
  Value tuple(std::vector<Value> items) { return sequence(std::move(items), Sequence::Kind::tuple); }
  Value mapping(std::shared_ptr<const Mapping> members) {
    charge_items(members->size() * 4);
    return nested(Value(std::move(members)));
  }
  Value iterator(std::vector<Value> items) {
    charge_items(items.size());
    return nested(Value(std::make_shared<Iterator>(std::move(items))));
  }

  // One call or tree level deeper while it lives.
  class Level {
   public:
    explicit Level(Run& run) : run_(run) {
      if (++run_.level_ > run_.limits_.depth * levels_per_depth) run_.too_much("{} calls in calls", run_.limits_.depth);
    }
    ~Level() { --run_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Run& run_;
  };

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> message, Args&&... args) const {
    refuse(fmt::format(message, std::forward<Args>(args)...));
  }
  template <class... Args>
  [[noreturn]] void too_much(fmt::format_string<Args...> what, Args&&... args) const {
    limit(fmt::format(what, std::forward<Args>(args)...));
  }
  [[noreturn]] void refuse(std::string message) const;  // InvalidTemplate
  [[noreturn]] void limit(std::string what) const;      // TemplateLimit
  // Fails with the reason of an undefined value.
  void expect_defined(const Value& value) const;

 private:
  Value nested(Value value) const {
    if (value.depth() > limits_.depth) too_much("values nested {} deep", limits_.depth);
    return value;
  }

  static constexpr int levels_per_depth = 16;  // of the evaluated tree, for each call

  std::string name_;
  TemplateLimits limits_;
  Clock clock_;
  std::vector<std::shared_ptr<Object>> kept_;
  int level_ = 0;
  Position position_;
  std::uint64_t steps_ = 0;
  std::size_t work_bytes_ = 0;
};

}  // namespace weft::jinja
