// The arguments of a built-in filter, test, function or method, matched to the names of its parameters.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/value.h"

namespace weft::jinja {

class Parameters {
 public:
  // InvalidTemplate for too many arguments, unknown names, and one given twice.
  Parameters(Run& run, std::string_view function, const Arguments& arguments,
             std::initializer_list<std::string_view> names, std::size_t required = 0);

  bool has(std::size_t i) const { return given_[i] != nullptr; }
  const Value& get(std::size_t i) const { return given_[i] != nullptr ? *given_[i] : absent_; }  // undefined if absent
  bool given(std::size_t i) const { return has(i) && !get(i).is_none(); }
  std::int64_t integer(std::size_t i, std::int64_t otherwise) const;
  bool flag(std::size_t i, bool otherwise) const { return has(i) ? get(i).truth() : otherwise; }
  std::string text(std::size_t i, std::string_view otherwise) const;  // any value as text
  const std::string& exact_text(std::size_t i) const;                 // a string, else InvalidTemplate

 private:
  Run& run_;
  std::string_view function_;
  std::vector<const Value*> given_;
  std::vector<std::string_view> names_;
  Value absent_;
};

}  // namespace weft::jinja
