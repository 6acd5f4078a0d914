// A table of TOML while it is being read and may still grow. Internal to the TOML readers.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/formats/toml_value.h"

namespace weft {

struct TomlNode {
  enum class Kind {
    implied,   // a table that is only a step of a header's path
    header,    // a table with a header of its own
    dotted,    // a table made by a dotted key; grows only in the part of the text where it was made
    elements,  // an array of tables
    value,
  };

  Kind kind = Kind::implied;
  std::size_t made_in = 0;  // number of that part of the text
  std::string key;
  std::vector<std::unique_ptr<TomlNode>> members;
  std::unordered_map<std::string_view, TomlNode*> index;  // by the members' keys, views of them
  std::vector<std::unique_ptr<TomlNode>> elements;
  TomlValue value;

  TomlNode* find(std::string_view name) const;
  TomlNode& add(std::string_view name, Kind of_kind, std::size_t part);
  // Stores `stored` under a dotted key. Gives the part of the key that is taken already, or nullptr.
  const std::string* insert(const std::vector<std::string>& path, TomlValue stored, std::size_t part);
  // The plain table; the node is used up.
  TomlTable finish();
};

}  // namespace weft
