// A place in a template.
#pragma once

#include <cstdint>

namespace weft::jinja {

struct Position {
  std::uint32_t line = 1, column = 1;  // columns count characters
};

}  // namespace weft::jinja
