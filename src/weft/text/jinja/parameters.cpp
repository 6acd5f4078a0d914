#include "weft/text/jinja/parameters.h"

#include <algorithm>

#include "weft/text/jinja/value_text.h"

namespace weft::jinja {

Parameters::Parameters(Run& run, std::string_view function, const Arguments& arguments,
                       std::initializer_list<std::string_view> names, std::size_t required)
    : run_(run), function_(function), given_(names.size()), names_(names) {
  if (arguments.positional.size() > names.size())
    run.fail("{} takes at most {} arguments, {} are given", function, names.size(), arguments.positional.size());
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) given_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) run.fail("{} has no argument \"{}\"", function, name);
    const Value*& slot = given_[static_cast<std::size_t>(found - names_.begin())];
    if (slot != nullptr) run.fail("{} gets its argument \"{}\" twice", function, name);
    slot = &value;
  }
  for (std::size_t i = 0; i < required; ++i)
    if (given_[i] == nullptr) run.fail("{} lacks its argument \"{}\"", function, names_[i]);
}

std::int64_t Parameters::integer(std::size_t i, std::int64_t otherwise) const {
  if (!has(i)) return otherwise;
  const auto value = get(i).integer();
  if (!value) {
    run_.expect_defined(get(i));
    run_.fail("{} needs an integer as \"{}\", not a {}", function_, names_[i], get(i).type_name());
  }
  return *value;
}

std::string Parameters::text(std::size_t i, std::string_view otherwise) const {
  return has(i) ? str(run_, get(i)) : std::string(otherwise);
}

const std::string& Parameters::exact_text(std::size_t i) const {
  if (get(i).text() == nullptr) {
    run_.expect_defined(get(i));
    run_.fail("{} needs a string as \"{}\", not a {}", function_, names_[i], get(i).type_name());
  }
  return *get(i).text();
}

}  // namespace weft::jinja
