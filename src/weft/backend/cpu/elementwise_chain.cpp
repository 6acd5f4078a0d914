#include "weft/backend/cpu/elementwise_chain.h"

#include <algorithm>

#include "weft/base/fail.h"

namespace weft::cpu {
namespace {

void check(const ChainOperand& operand, std::size_t step, std::size_t inputs) {
  const auto index = static_cast<std::size_t>(operand.index);
  const bool exists = operand.source == ChainOperand::Source::constant ||
                      (operand.index >= 0 && index < (operand.source == ChainOperand::Source::input ? inputs : step));
  if (!exists)
    fail(ErrorKind::invalid_argument, "InvalidChain", "", "step {} reads {} {}, which is not there", step,
         operand.source == ChainOperand::Source::input ? "input" : "step", operand.index);
}

int operands_of(ChainStep::Kind kind) {
  switch (kind) {
    case ChainStep::Kind::unary:
    case ChainStep::Kind::clamp: return 1;
    case ChainStep::Kind::binary: return 2;
    default: return 3;
  }
}

void check(std::span<const ChainStep> steps, std::size_t inputs) {
  if (steps.empty()) fail(ErrorKind::invalid_argument, "InvalidChain", "", "a chain of no steps has no result");
  if (steps.size() > most_chain_steps)
    fail(ErrorKind::invalid_argument, "TooManySteps", "", "{} steps, at most {}", steps.size(), most_chain_steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ChainOperand* operands[] = {&steps[i].a, &steps[i].b, &steps[i].c};
    for (int k = 0; k < operands_of(steps[i].kind); ++k) check(*operands[k], i, inputs);
  }
}

// One tile: elements [first, first + count) of the whole.
class Tile {
 public:
  Tile(std::span<const VectorOperand> inputs, const VectorKernels& kernels, float* results, float* last)
      : inputs_(inputs), kernels_(kernels), results_(results), last_(last) {}

  void run(std::span<const ChainStep> steps, std::int64_t first, std::int64_t count) {
    first_ = first;
    count_ = count;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      // The last result goes to its place: whatever of the inputs lies there has been read by then, or is read by
      // this step at the same element.
      float* out = i + 1 == steps.size() ? last_ + first : results_ + static_cast<std::int64_t>(i) * chain_tile;
      run(steps[i], out);
    }
  }

 private:
  // The operand from the tile's first element on.
  VectorOperand at(const ChainOperand& operand) const {
    switch (operand.source) {
      case ChainOperand::Source::step: return {results_ + operand.index * chain_tile, 0};
      case ChainOperand::Source::constant: return {&operand.value, 1};
      default: break;
    }
    const VectorOperand& input = inputs_[static_cast<std::size_t>(operand.index)];
    return input.period == 0 ? VectorOperand{input.data + first_, 0} : input;
  }
  // The same as a plain array, copied when it broadcasts.
  const float* array(const ChainOperand& operand, std::int64_t slot) {
    const VectorOperand found = at(operand);
    if (found.period == 0) return found.data;
    float* copy = results_ + (static_cast<std::int64_t>(most_chain_steps) + slot) * chain_tile;
    std::int64_t from =
        found.period == 1 || operand.source == ChainOperand::Source::constant ? 0 : first_ % found.period;
    for (std::int64_t i = 0; i < count_;) {
      const std::int64_t n = std::min(count_ - i, found.period - from);
      std::copy_n(found.data + from, n, copy + i);
      i += n;
      from = 0;
    }
    return copy;
  }

  void run(const ChainStep& step, float* out) {
    switch (step.kind) {
      case ChainStep::Kind::unary: kernels_.unary(step.unary, array(step.a, 0), out, count_, step.alpha); break;
      case ChainStep::Kind::binary: binary(step, out); break;
      case ChainStep::Kind::fma: kernels_.fma(array(step.a, 0), array(step.b, 1), array(step.c, 2), out, count_); break;
      case ChainStep::Kind::clamp: kernels_.clamp(array(step.a, 0), step.low, step.high, out, count_); break;
      case ChainStep::Kind::where:
        kernels_.where(array(step.a, 0), array(step.b, 1), array(step.c, 2), out, count_);
        break;
    }
  }

  // A period that the tile does not start on needs the copy; full and scalar operands go in as they are.
  void binary(const ChainStep& step, float* out) {
    VectorOperand a = at(step.a), b = at(step.b);
    if (a.period > 1) a = {array(step.a, 0), 0};
    if (b.period > 1) b = {array(step.b, 1), 0};
    kernels_.binary(step.binary, a, b, out, count_);
  }

  std::span<const VectorOperand> inputs_;
  const VectorKernels& kernels_;
  float *results_, *last_;
  std::int64_t first_ = 0, count_ = 0;
};

}  // namespace

void run_chain(std::span<const ChainStep> steps, std::span<const VectorOperand> inputs, float* output,
               std::int64_t begin, std::int64_t end, const VectorKernels& kernels, std::byte* scratch) {
  check(steps, inputs.size());
  Tile tile(inputs, kernels, reinterpret_cast<float*>(scratch), output);
  for (std::int64_t at = begin; at < end; at += chain_tile) tile.run(steps, at, std::min(chain_tile, end - at));
}

}  // namespace weft::cpu
