// A Jinja template: compiled once, rendered any number of times, by any number of threads at once. The language is
// Jinja2's as transformers sets it up for chat templates: trim_blocks, lstrip_blocks, break and continue, its tojson,
// raise_exception, strftime_now and {% generation %}, in the immutable sandbox. A template reaches no file, no
// environment and nothing else outside its context, and can load no other template.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weft/base/export.h"
#include "weft/text/jinja/limits.h"
#include "weft/text/jinja/value.h"

namespace weft::jinja {

class WEFT_API Template {
 public:
  // `name` stands in errors, before line and column. InvalidTemplate, TemplateLimit.
  static Template compile(std::string_view source, std::string name = "template", const TemplateLimits& limits = {});

  // `context` is a mapping. InvalidTemplate for what Python would refuse too (a sum of a text and a number, a call of
  // nothing, an unknown filter), RefusedByTemplate for the template's own raise_exception, TemplateLimit.
  std::string render(const Value& context, const std::function<std::tm()>& clock = local_time) const;

  static std::tm local_time();

 private:
  struct State;
  explicit Template(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace weft::jinja
