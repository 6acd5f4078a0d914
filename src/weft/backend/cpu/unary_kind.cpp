#include "weft/backend/cpu/unary_kind.h"

#include <array>

namespace weft::cpu {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, unary_kinds> unary_names = {
    "gelu",  "gelu_approx", "gelu_quick",  "silu",       "relu",     "sigmoid", "tanh", "exp",        "log",
    "sqrt",  "rsqrt",       "neg",         "abs",        "sin",      "cos",     "tan",  "atan",       "round",
    "recip", "floor",       "ceil",        "sign",       "softplus", "elu",     "erf",  "hard_swish", "hard_sigmoid",
    "mish",  "softsign",    "log_sigmoid", "log1p",      "expm1",    "asin",    "acos", "sinh",       "cosh",
    "asinh", "acosh",       "atanh",       "leaky_relu", "trunc",    "cbrt"};
constexpr std::array<std::string_view, binary_kinds> binary_names = {"add", "sub", "mul", "div",  "max",
                                                                     "min", "pow", "mod", "atan2"};

template <class Kind, std::size_t Count>
std::optional<Kind> find(const std::array<std::string_view, Count>& names, std::string_view name) {
  for (std::size_t i = 0; i < Count; ++i)
    if (names[i] == name) return static_cast<Kind>(i);
  return std::nullopt;
}

}  // namespace

std::optional<UnaryKind> unary_kind(std::string_view name) { return find<UnaryKind>(unary_names, name); }
std::optional<BinaryKind> binary_kind(std::string_view name) { return find<BinaryKind>(binary_names, name); }

}  // namespace weft::cpu
