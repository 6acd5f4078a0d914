// The words of the text form that its printer and its parser share. Internal.
#pragma once

#include <array>
#include <string_view>

#include "weft/ir/graph.h"

namespace weft {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_name_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-';
}
// Whether a name needs no quotes.
bool is_bare_name(std::string_view name);

inline constexpr std::array<std::string_view, 3> state_kind_names = {"rows", "paged_rows", "fixed"};
inline std::string_view state_kind_name(StateKind kind) { return state_kind_names[static_cast<std::size_t>(kind)]; }

}  // namespace weft
