// Reductions and softmax along any axis on the CPU backend against their ops, on ragged sizes.
#include <gtest/gtest.h>

#include <limits>

#include "step_problem.h"

namespace weft::cpu {
namespace {

using test::random_tensor;
using test::StepProblem;
using Sizes = std::vector<std::int64_t>;

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

const std::vector<Sizes> shapes = {{1},         {37},         {1, 5},      {17, 33}, {5, 1, 70},
                                   {3, 40, 19}, {2, 3, 4, 5}, {2, 700, 3}, {0, 4}};

// With equal elements, infinities and NaN here and there.
Tensor awkward(const Sizes& dims) {
  Tensor x = random_tensor(dims, 3);
  const auto values = x.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::nearbyint(values[i] * 2) / 2;
    if (i % 11 == 7) values[i] = i % 2 == 0 ? infinity : -infinity;
    if (i % 53 == 20) values[i] = nan;
  }
  return x;
}

TEST(ReduceSteps, ArgMaxAndArgMin) {
  for (const Sizes& dims : shapes)
    for (std::int64_t axis = -1; axis < static_cast<std::int64_t>(dims.size()); ++axis)
      for (const char* op : {"ArgMax", "ArgMin"}) {
        if (dims[static_cast<std::size_t>(axis < 0 ? static_cast<std::int64_t>(dims.size()) - 1 : axis)] == 0) continue;
        for (const DType dtype : {DType::i32, DType::i64, DType::f32})
          StepProblem{op, {awkward(dims)}, {{"axis", axis}, {"index_dtype", dtype}}}.check(test::Rule::exact);
        StepProblem{op, {awkward(dims)}, {{"axis", axis}, {"nan", "ignore"}, {"keep_dim", true}}}.check(
            test::Rule::exact);
      }
  Tensor nothing = random_tensor({2, 19});
  std::fill(nothing.mutable_values<float>().begin(), nothing.mutable_values<float>().end(), nan);
  StepProblem{"ArgMax", {nothing}, {{"nan", "ignore"}}}.check(test::Rule::exact);
}

TEST(ReduceSteps, Reductions) {
  const auto reduce = [](const Tensor& x, const Sizes& axes, const char* op, test::Rule rule) {
    SCOPED_TRACE(dims_text(x.dims()) + " over " + dims_text(axes) + ": " + op);
    for (const bool keep : {false, true})
      StepProblem{"Reduce", {x}, {{"op", op}, {"axes", AttributeValue(axes)}, {"keep_dim", keep}}}.check(rule);
  };
  for (const Sizes& dims : shapes)
    for (std::int64_t first = 0; first < static_cast<std::int64_t>(dims.size()); ++first)
      for (std::int64_t last = first; last < static_cast<std::int64_t>(dims.size()); ++last) {
        Sizes axes;
        for (std::int64_t axis = last; axis >= first; --axis) axes.push_back(axis);
        for (const char* op : {"sum", "mean"}) reduce(random_tensor(dims), axes, op, test::Rule::sum);
        for (const char* op : {"max", "min"}) {
          reduce(random_tensor(dims), axes, op, test::Rule::exact);
          reduce(awkward(dims), axes, op, test::Rule::elementwise);
        }
        reduce(random_tensor(dims), axes, "prod", test::Rule::elementwise);
      }
  reduce(random_tensor({3, 5}), {}, "sum", test::Rule::exact);
  reduce(random_tensor({2, 30000}), {1}, "mean", test::Rule::sum);
}

TEST(ReduceSteps, SoftmaxAlongAnyAxis) {
  for (const Sizes& dims : shapes)
    for (std::int64_t axis = -1; axis < static_cast<std::int64_t>(dims.size()); ++axis)
      for (const Tensor& x : {random_tensor(dims), awkward(dims)}) {
        SCOPED_TRACE(axis);
        for (const char* empty : {"zeros", "nan"})
          StepProblem{"Softmax", {x}, {{"axis", axis}, {"empty_row", empty}}}.check(test::Rule::softmax);
        StepProblem{"LogSoftmax", {x}, {{"axis", axis}}}.check(test::Rule::softmax);
      }
}

TEST(ReduceSteps, RowsThatSoftmaxHasRulesFor) {
  Tensor x = random_tensor({6, 5});
  const auto values = x.mutable_values<float>();
  std::fill(values.begin(), values.begin() + 5, -infinity);
  values[7] = -infinity;
  values[12] = infinity;
  values[16] = nan;
  values[21] = 60;  // all but certain: what is left of the logarithm are the others
  for (const std::int64_t axis : {0, 1})
    for (const char* op : {"Softmax", "LogSoftmax"}) StepProblem{op, {x}, {{"axis", axis}}}.check(test::Rule::softmax);
}

}  // namespace
}  // namespace weft::cpu
