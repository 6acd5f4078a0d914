// Sinusoidal embeddings, relative biases and tables over time on the CPU backend against their ops, on ragged sizes.
#include <gtest/gtest.h>

#include <limits>

#include "step_problem.h"

namespace weft::cpu {
namespace {

using test::random_tensor;
using test::StepProblem;
using Sizes = std::vector<std::int64_t>;

TEST(PositionSteps, SinusoidsOfEveryLayout) {
  for (const Sizes& dims : {Sizes{}, {1}, {17}, {3, 5}, {0}})
    for (const std::int64_t dim : {1, 2, 7, 64})
      for (const char* layout : {"interleaved", "sin_cos", "cos_sin"}) {
        Tensor t = random_tensor(dims);
        for (float& value : t.mutable_values<float>()) value *= 300;
        StepProblem{"SinusoidalEmbed", {t}, {{"dim", dim}, {"layout", layout}}}.check(test::Rule::exact);
      }
}

TEST(PositionSteps, BiasesAddedToScores) {
  for (const Sizes& scores : {Sizes{3, 1, 1}, {3, 17, 17}, {2, 3, 5, 40}, {2, 3, 40, 5}, {2, 2, 3, 1, 300}, {3, 0, 4}})
    for (const bool both : {true, false})
      StepProblem{"RelativePositionBias",
                  {random_tensor({8, 3}, 1), random_tensor(scores, 2)},
                  {{"num_buckets", 8}, {"bidirectional", both}, {"max_distance", 20}}}
          .check(test::Rule::exact);
}

TEST(PositionSteps, TablesOverTime) {
  Tensor t = random_tensor({7, 5});
  for (float& value : t.mutable_values<float>()) value = 4 + 4 * value;
  const auto values = t.mutable_values<float>();
  values[0] = std::numeric_limits<float>::quiet_NaN();
  values[1] = std::numeric_limits<float>::infinity();
  values[2] = -values[1];
  values[3] = 8;
  values[4] = 1e30f;
  for (const std::int64_t size : {1, 2, 9})
    StepProblem{"InterpolateTable", {t, random_tensor({size}, 2)}, {}}.check(test::Rule::exact);
  StepProblem{"InterpolateTable", {random_tensor({0, 3}), random_tensor({4}, 2)}, {}}.check(test::Rule::exact);
}

}  // namespace
}  // namespace weft::cpu
