#include "weft/text/jinja/filters.h"

#include <unordered_map>

namespace weft::jinja {

Filter find_filter(Run& run, std::string_view name) {
  static const auto filters = [] {
    std::unordered_map<std::string_view, Filter> all;
    for (const auto table : {text_filters(), sequence_filters(), selection_filters(), number_filters()})
      for (const FilterEntry& entry : table) all.emplace(entry.name, entry.filter);
    return all;
  }();
  const auto found = filters.find(name);
  if (found == filters.end()) run.fail("there is no filter \"{}\"", name);
  return found->second;
}

}  // namespace weft::jinja
