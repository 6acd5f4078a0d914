// A chain of elementwise functions run tile by tile, so that what lies between two of them never leaves the cache.
// Pure functions; nothing is allocated, and different threads may run different ranges of one chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/backend/cpu/vector_kernels.h"

namespace weft::cpu {

inline constexpr std::int64_t chain_tile = 1024;     // floats
inline constexpr std::size_t most_chain_steps = 32;  // what scratch has room for

// What a step reads: an input (its period says how it broadcasts), the result of an earlier step, or a number.
struct ChainOperand {
  enum class Source : std::uint8_t { input, step, constant };

  Source source = Source::input;
  std::int32_t index = 0;  // of the input or step
  float value = 0;         // of the constant

  static ChainOperand of_input(std::int32_t index) { return {Source::input, index, 0}; }
  static ChainOperand of_step(std::int32_t index) { return {Source::step, index, 0}; }
  static ChainOperand of_constant(float value) { return {Source::constant, 0, value}; }
};

// unary: unary_kind of a. binary: binary_kind of a and b. fma: a * b + c, rounded once. clamp: a between the
// constants low and high. where: b where a is not 0, else c.
struct ChainStep {
  enum class Kind : std::uint8_t { unary, binary, fma, clamp, where };

  Kind kind = Kind::unary;
  UnaryKind unary = UnaryKind::neg;
  BinaryKind binary = BinaryKind::add;
  ChainOperand a = {}, b = {}, c = {};
  float alpha = 1;  // slope of elu and leaky_relu
  float low = 0, high = 0;
};

// A tile for each step, and one for each operand that has to be spread out.
inline constexpr std::int64_t chain_scratch_bytes =
    static_cast<std::int64_t>((most_chain_steps + 3) * chain_tile * sizeof(float));

// output[i] for i in [begin, end) is the last step's result there. `output` may be an input of period 0. `scratch` has
// chain_scratch_bytes, aligned to 64. TooManySteps beyond most_chain_steps, InvalidChain for an operand that is not
// there or no steps.
void run_chain(std::span<const ChainStep> steps, std::span<const VectorOperand> inputs, float* output,
               std::int64_t begin, std::int64_t end, const VectorKernels& kernels, std::byte* scratch);

}  // namespace weft::cpu
