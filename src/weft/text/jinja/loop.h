// One {% for %} under way, which a template sees as `loop`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/value.h"

namespace weft::jinja {

class Loop final : public Object, public std::enable_shared_from_this<Loop> {
 public:
  using Keep = std::function<bool(const Value& item)>;       // the loop's own condition; null: every item
  using Recurse = std::function<Value(const Value& items)>;  // null: the loop is not recursive

  Loop(std::vector<Value> items, Keep keep, Recurse recurse, int depth)
      : items_(std::move(items)), keep_(std::move(keep)), recurse_(std::move(recurse)), depth_(depth) {}

  bool advance();  // to the next item that is kept; false at the end
  const Value& current() const { return *current_; }
  void clear() override;

  std::string type_name() const override { return "LoopContext"; }
  bool callable() const override { return recurse_ != nullptr; }
  Value call(Run& run, const Arguments& arguments) override;
  std::optional<Value> attribute(Run& run, std::string_view name) override;

 private:
  std::optional<Value> pull();
  const std::optional<Value>& peek();
  std::int64_t length();
  Value cycle(Run& run, const Arguments& arguments) const;
  Value changed(const Arguments& arguments);

  std::vector<Value> items_;
  std::size_t next_ = 0;  // the condition is asked only when an item is needed
  Keep keep_;
  Recurse recurse_;
  std::optional<Value> previous_, current_, upcoming_;
  std::optional<std::vector<Value>> last_changed_;
  std::int64_t index_ = -1;
  int depth_;
  bool kept_ = false;  // by the run, because a method of it may live on
};

}  // namespace weft::jinja
