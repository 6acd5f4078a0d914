#include "weft/text/jinja/template.h"

#include <utility>

#include "weft/text/jinja/interpreter.h"
#include "weft/text/jinja/parser.h"
#include "weft/text/jinja/run.h"

namespace weft::jinja {

struct Template::State {
  std::string name;
  TemplateLimits limits;
  Block block;
};

Template Template::compile(std::string_view source, std::string name, const TemplateLimits& limits) {
  Block block = parse(source, name, limits);
  return Template(std::make_shared<const State>(State{std::move(name), limits, std::move(block)}));
}

std::string Template::render(const Value& context, const std::function<std::tm()>& clock) const {
  Run run(state_->name, state_->limits, clock);
  static const Mapping empty;
  const Mapping* mapping = context.mapping();
  return Interpreter(run, mapping != nullptr ? *mapping : empty).render(state_->block);
}

std::tm Template::local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return local;
}

}  // namespace weft::jinja
