// What is odd in a file, but harmless: a stable code, its place, and what was found. Plain data.
#pragma once

#include <string>

namespace weft {

struct Warning {
  std::string code, where, message;
  friend bool operator==(const Warning&, const Warning&) = default;
};

}  // namespace weft
