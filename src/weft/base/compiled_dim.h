// A dim whose symbols are numbers: what a program evaluates in every run, without names and without allocating.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weft/base/dim.h"
#include "weft/base/function_ref.h"

namespace weft {

class WEFT_API CompiledDim {
 public:
  // `symbol_index` numbers the symbols that the dim mentions.
  CompiledDim(const Dim& dim, FunctionRef<std::int32_t(std::string_view)> symbol_index);
  // What Dim::eval gives when symbol i has the value symbols[i].
  std::int64_t eval(std::span<const std::int64_t> symbols) const;
  // What eval() gives at most while no symbol is above symbols[i] or below 0.
  std::int64_t upper_bound(std::span<const std::int64_t> symbols) const;

 private:
  enum class Operation : std::uint8_t {
    constant,
    coefficient,
    symbol,
    floor_div,
    ceil_div,
    pow2_ceil,
    add,
    multiply,
    max,
    broadcast
  };
  struct Instruction {
    Operation operation;
    std::int64_t value;  // constant, index of the symbol, divisor
  };
  template <bool upper>
  std::int64_t run(std::span<const std::int64_t> symbols) const;
  void compile(const Dim& dim, FunctionRef<std::int32_t(std::string_view)> symbol_index);
  std::vector<Instruction> code_;  // for a stack machine
};

}  // namespace weft
