// Attention inside windows on the CPU backend against its op, at every level, on ragged sizes.
#include <gtest/gtest.h>

#include "step_problem.h"

namespace weft::cpu {
namespace {

using test::random_tensor;
using test::StepProblem;

struct Sizes {
  std::int64_t batch = 1, tokens = 1, heads = 1, width = 1, window = 1, shift = 0;
};

enum class Bias { none, shared, by_window };

void check(const Sizes& s, const std::string& layout, Bias bias) {
  std::vector<std::int64_t> dims;
  if (layout == "packed") dims = {s.batch, s.tokens, s.heads * s.width};
  if (layout == "bhsd") dims = {s.batch, s.heads, s.tokens, s.width};
  if (layout == "bshd") dims = {s.batch, s.tokens, s.heads, s.width};
  if (layout == "rows") dims = {s.tokens * s.heads, s.width};
  StepProblem problem{"WindowAttention",
                      {random_tensor(dims, 1), random_tensor(dims, 2), random_tensor(dims, 3)},
                      {{"num_heads", s.heads},
                       {"head_dim", s.width},
                       {"window_size", s.window},
                       {"shift", s.shift},
                       {"layout", layout},
                       {"k_layout", layout},
                       {"v_layout", layout}}};
  if (bias == Bias::shared) problem.inputs.push_back(random_tensor({s.heads, s.window, s.window}, 4));
  if (bias == Bias::by_window)
    problem.inputs.push_back(random_tensor({(s.tokens + s.window - 1) / s.window, s.heads, s.window, s.window}, 5));
  problem.check(test::Rule::row);
}

TEST(WindowAttention, AgreesWithItsOp) {
  for (const char* layout : {"packed", "bhsd", "bshd", "rows"})
    for (const Bias bias : {Bias::none, Bias::shared, Bias::by_window})
      check({.batch = layout == std::string("rows") ? 1 : 2,
             .tokens = 37,
             .heads = 3,
             .width = 20,
             .window = 9,
             .shift = 4},
            layout, bias);
  check({.tokens = 17, .heads = 2, .width = 7, .window = 1}, "packed", Bias::shared);
  check({.tokens = 5, .heads = 2, .width = 16, .window = 40, .shift = 3}, "bhsd", Bias::by_window);
  check({.tokens = 1100, .heads = 1, .width = 8, .window = 600, .shift = 70}, "packed", Bias::none);
  check({.tokens = 98, .heads = 4, .width = 32, .window = 49, .shift = 24}, "packed", Bias::shared);
  check({.tokens = 0, .heads = 2, .width = 8, .window = 4}, "packed", Bias::none);
}

}  // namespace
}  // namespace weft::cpu
