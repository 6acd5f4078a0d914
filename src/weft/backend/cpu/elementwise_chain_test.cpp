#include "weft/backend/cpu/elementwise_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "random_tensor.h"
#include "run_node.h"
#include "tolerance.h"

namespace weft::cpu {
namespace {

using test::random_tensor;
using test::run_node;
using Step = ChainStep;
using Operand = ChainOperand;

struct Scratch {
  alignas(64) std::byte bytes[chain_scratch_bytes];
};

// silu(x * row + 0.5) - clamp(y, -1, 1) / max(x, scalar), in steps and by the ops.
const std::vector<Step> chain = {
    {.kind = Step::Kind::fma, .a = Operand::of_input(0), .b = Operand::of_input(1), .c = Operand::of_constant(0.5f)},
    {.kind = Step::Kind::unary, .unary = UnaryKind::silu, .a = Operand::of_step(0)},
    {.kind = Step::Kind::clamp, .a = Operand::of_input(2), .low = -1, .high = 1},
    {.kind = Step::Kind::binary, .binary = BinaryKind::max, .a = Operand::of_input(0), .b = Operand::of_input(3)},
    {.kind = Step::Kind::binary, .binary = BinaryKind::div, .a = Operand::of_step(2), .b = Operand::of_step(3)},
    {.kind = Step::Kind::binary, .binary = BinaryKind::sub, .a = Operand::of_step(1), .b = Operand::of_step(4)},
};

TEST(ElementwiseChain, AgreesWithTheOpsOneByOne) {
  auto scratch = std::make_unique<Scratch>();
  for (const std::int64_t width : {1, 7, 100, 1024, 1500}) {
    const std::int64_t rows = 5;
    const Tensor x = random_tensor({rows, width}, 1), row = random_tensor({width}, 2),
                 y = random_tensor({rows, width}, 3), one = random_tensor({1}, 4);
    Tensor half = Tensor::allocate(DType::f32, {1});
    half.mutable_values<float>()[0] = 0.5f;
    const auto op = [](const char* name, std::vector<Tensor> inputs, Attributes attributes) {
      return run_node(name, inputs, attributes)[0];
    };
    const Tensor scaled = op("Binary", {op("Binary", {x, row}, {{"kind", "mul"}}), half}, {{"kind", "add"}});
    const Tensor left = op("Activation", {scaled}, {{"kind", "silu"}});
    const Tensor right =
        op("Binary", {op("Clamp", {y}, {{"min", -1.0}, {"max", 1.0}}), op("Binary", {x, one}, {{"kind", "max"}})},
           {{"kind", "div"}});
    const Tensor expected = op("Binary", {left, right}, {{"kind", "sub"}});
    const VectorOperand inputs[] = {{x.values<float>().data(), 0},
                                    {row.values<float>().data(), width},
                                    {y.values<float>().data(), 0},
                                    {one.values<float>().data(), 1}};
    for (const CpuLevel level : supported_cpu_levels()) {
      const VectorKernels& kernels = vector_kernels(level);
      std::vector<float> whole(static_cast<std::size_t>(rows * width)), parts(whole.size());
      run_chain(chain, inputs, whole.data(), 0, rows * width, kernels, scratch->bytes);
      for (std::size_t i = 0; i < whole.size(); ++i) {
        const float l = left.values<float>()[i], r = right.values<float>()[i];
        ASSERT_NEAR(whole[i], expected.values<float>()[i], 1e-6 * (std::abs(l) + std::abs(r))) << width << " " << i;
      }
      // Ranges of any kind give the same bits.
      for (std::int64_t begin = 0; begin < rows * width; begin += 333)
        run_chain(chain, inputs, parts.data(), begin, std::min(begin + 333, rows * width), kernels, scratch->bytes);
      EXPECT_EQ(0, std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float))) << to_string(level);
    }
  }
}

TEST(ElementwiseChain, TheOutputMayBeAnInput) {
  auto scratch = std::make_unique<Scratch>();
  const Tensor x = random_tensor({3000}, 1), y = random_tensor({3000}, 2);
  const std::vector<Step> steps = {
      {.kind = Step::Kind::unary, .unary = UnaryKind::exp, .a = Operand::of_input(0)},
      {.kind = Step::Kind::where, .a = Operand::of_input(0), .b = Operand::of_step(0), .c = Operand::of_input(1)},
      {.kind = Step::Kind::binary, .binary = BinaryKind::mul, .a = Operand::of_step(1), .b = Operand::of_input(0)}};
  const VectorKernels& kernels = vector_kernels(supported_cpu_levels().back());
  std::vector<float> out(3000), in_place(x.values<float>().begin(), x.values<float>().end());
  const VectorOperand apart[] = {{x.values<float>().data(), 0}, {y.values<float>().data(), 0}};
  const VectorOperand shared[] = {{in_place.data(), 0}, {y.values<float>().data(), 0}};
  run_chain(steps, apart, out.data(), 0, 3000, kernels, scratch->bytes);
  run_chain(steps, shared, in_place.data(), 0, 3000, kernels, scratch->bytes);
  EXPECT_EQ(out, in_place);
  for (std::size_t i = 0; i < 3000; ++i) {
    const double v = static_cast<double>(x.values<float>()[i]);
    ASSERT_NEAR(out[i], std::exp(v) * v, 1e-6 * std::abs(std::exp(v) * v));
  }
}

TEST(ElementwiseChain, RefusesWhatItCannotRun) {
  auto scratch = std::make_unique<Scratch>();
  const VectorKernels& kernels = vector_kernels(CpuLevel::portable);
  float x = 1;
  const VectorOperand inputs[] = {{&x, 0}};
  const auto code_of = [&](std::vector<Step> steps) {
    try {
      run_chain(steps, inputs, &x, 0, 1, kernels, scratch->bytes);
    } catch (const Error& error) {
      return std::string(error.code());
    }
    return std::string();
  };
  EXPECT_EQ(code_of({}), "InvalidChain");
  EXPECT_EQ(code_of({{.a = Operand::of_input(1)}}), "InvalidChain");
  EXPECT_EQ(code_of({{.a = Operand::of_step(0)}}), "InvalidChain");
  EXPECT_EQ(code_of(std::vector<Step>(33, {.a = Operand::of_input(0)})), "TooManySteps");
  EXPECT_EQ(code_of({{.a = Operand::of_input(0)}}), "");
}

}  // namespace
}  // namespace weft::cpu
