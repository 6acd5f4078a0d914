// The kinds of Activation. Internal to the library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::ops {

// "none" and the kinds that map floats to floats of the same type, in the order of their tags: what a fused op may end
// with.
std::vector<std::string> epilogue_kinds();
bool is_epilogue_kind(std::string_view kind);
bool is_activation_kind(std::string_view kind);

}  // namespace weft::ops
