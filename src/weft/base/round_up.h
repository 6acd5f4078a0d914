// The least multiple of a unit that is not below a value; both are not negative.
#pragma once

namespace weft {

template <class T>
constexpr T round_up(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace weft
