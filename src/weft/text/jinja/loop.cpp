#include "weft/text/jinja/loop.h"

#include <algorithm>

#include "weft/text/jinja/functions.h"
#include "weft/text/jinja/parameters.h"

namespace weft::jinja {

std::optional<Value> Loop::pull() {
  while (next_ < items_.size()) {
    const Value& item = items_[next_++];
    if (!keep_ || keep_(item)) return item;
  }
  return std::nullopt;
}

const std::optional<Value>& Loop::peek() {
  if (!upcoming_) upcoming_ = pull();
  return upcoming_;
}

bool Loop::advance() {
  previous_ = std::move(current_);
  current_ = upcoming_ ? std::exchange(upcoming_, std::nullopt) : pull();
  ++index_;
  return current_.has_value();
}

void Loop::clear() {
  items_.clear();
  next_ = 0;
  keep_ = nullptr;
  recurse_ = nullptr;
  previous_ = current_ = upcoming_ = std::nullopt;
  last_changed_.reset();
}

std::int64_t Loop::length() {
  if (keep_) {
    std::vector<Value> rest;
    while (auto item = pull()) rest.push_back(std::move(*item));
    items_ = std::move(rest);
    next_ = 0;
    keep_ = nullptr;
  }
  return index_ + 1 + (upcoming_ ? 1 : 0) + static_cast<std::int64_t>(items_.size() - next_);
}

Value Loop::call(Run& run, const Arguments& arguments) {
  const Parameters p(run, "loop", arguments, {"iterable"}, 1);
  if (!recurse_) run.fail("a loop can be called if it is marked as recursive");
  return recurse_(p.get(0));
}

Value Loop::cycle(Run& run, const Arguments& arguments) const {
  if (arguments.positional.empty()) run.fail("cycle needs items");
  return arguments.positional[static_cast<std::size_t>(index_) % arguments.positional.size()];
}

Value Loop::changed(const Arguments& arguments) {
  const bool same = last_changed_ && last_changed_->size() == arguments.positional.size() &&
                    std::equal(last_changed_->begin(), last_changed_->end(), arguments.positional.begin(), equal);
  last_changed_ = arguments.positional;
  return !same;
}

std::optional<Value> Loop::attribute(Run& run, std::string_view name) {
  if (!current_) return std::nullopt;
  if (name == "index") return index_ + 1;
  if (name == "index0") return index_;
  if (name == "revindex") return length() - index_;
  if (name == "revindex0") return length() - index_ - 1;
  if (name == "first") return index_ == 0;
  if (name == "last") return !peek().has_value();
  if (name == "length") return length();
  if (name == "depth") return depth_ + 1;
  if (name == "depth0") return depth_;
  if (name == "previtem") return index_ > 0 ? *previous_ : Value::undefined("there is no previous item");
  if (name == "nextitem") return peek() ? *peek() : Value::undefined("there is no next item");
  if (name != "cycle" && name != "changed") return std::nullopt;
  if (!std::exchange(kept_, true)) run.keep(shared_from_this());
  if (name == "changed") return Function::make([this](Run&, const Arguments& a) { return changed(a); });
  return Function::make([this](Run& at_call, const Arguments& a) { return cycle(at_call, a); });
}

}  // namespace weft::jinja
