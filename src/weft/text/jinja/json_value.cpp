#include "weft/text/jinja/json_value.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "weft/base/fail.h"
#include "weft/text/jinja/limits.h"

namespace weft::jinja {
namespace {

// Builds values as the parser meets their parts, so that depth is checked before anything recurses.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const std::string& name) : name_(name) {}
  Value result;

  bool null() override { return add(None()); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(std::int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(INT64_MAX)) refuse(fmt::format("{} is no integer of 64 bits", value));
    return add(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(Value(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool key(string_t& value) override {
    open_.back().keys.push_back(std::move(value));
    return true;
  }
  bool end_object() override {
    Level level = close();
    std::vector<std::pair<Value, Value>> members;
    for (std::size_t i = 0; i < level.keys.size(); ++i)
      members.emplace_back(Value(std::move(level.keys[i])), std::move(level.items[i]));
    return add(Value::mapping(std::move(members)));
  }
  bool end_array() override { return add(Value::list(close().items)); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    std::string message = error.what();
    if (const std::size_t start = message.find("] "); start != std::string::npos) message.erase(0, start + 2);
    fail(ErrorKind::bad_file, "BadJson", fmt::format("{}@{}", name_, position), "{}", message);
  }

 private:
  struct Level {
    std::vector<std::string> keys;
    std::vector<Value> items;
  };

  [[noreturn]] void refuse(std::string message) const {
    throw Error(ErrorKind::bad_file, "BadJson", name_, std::move(message));
  }
  bool open() {
    if (static_cast<int>(open_.size()) >= TemplateLimits().depth)
      refuse(fmt::format("values are nested more than {} deep", TemplateLimits().depth));
    open_.emplace_back();
    return true;
  }
  Level close() {
    Level level = std::move(open_.back());
    open_.pop_back();
    return level;
  }
  bool add(Value value) {
    if (open_.empty())
      result = std::move(value);
    else
      open_.back().items.push_back(std::move(value));
    return true;
  }

  const std::string& name_;
  std::vector<Level> open_;
};

}  // namespace

Value value_from_json(std::string_view json, const std::string& name) {
  Builder builder(name);
  nlohmann::json::sax_parse(json, &builder);
  return std::move(builder.result);
}

}  // namespace weft::jinja
