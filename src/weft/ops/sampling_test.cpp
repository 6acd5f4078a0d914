#include "weft/ops/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "infer_node.h"
#include "random_tensor.h"
#include "weft/base/random.h"

namespace weft::ops {
namespace {

using Logits = std::vector<float>;
constexpr float inf = std::numeric_limits<float>::infinity();

std::int64_t drawn(const Logits& logits, const SamplingOptions& options, double u) {
  return sample_row(std::span<const float>(logits), options, u);
}

// What u may give, with the share of [0, 1) that gives it.
std::map<std::int64_t, double> shares(const Logits& logits, const SamplingOptions& options) {
  std::map<std::int64_t, double> found;
  constexpr int steps = 4000;
  for (int i = 0; i < steps; ++i) found[drawn(logits, options, (i + 0.5) / steps)] += 1.0 / steps;
  return found;
}

std::vector<std::int64_t> candidates(const Logits& logits, const SamplingOptions& options) {
  std::vector<std::int64_t> found;
  for (const auto& [index, share] : shares(logits, options)) found.push_back(index);
  return found;
}

using Ids = std::vector<std::int64_t>;

Logits of_probabilities(std::initializer_list<double> p) {
  Logits logits;
  for (const double value : p) logits.push_back(static_cast<float>(std::log(value)));
  return logits;
}

TEST(Sampling, SharesAreTheProbabilities) {
  const Logits logits = of_probabilities({0.1, 0.4, 0.2, 0.3});
  const auto found = shares(logits, {.method = SamplingMethod::temperature});
  EXPECT_NEAR(found.at(0), 0.1, 1e-3);
  EXPECT_NEAR(found.at(1), 0.4, 1e-3);
  EXPECT_NEAR(found.at(2), 0.2, 1e-3);
  EXPECT_NEAR(found.at(3), 0.3, 1e-3);
  const auto sharper = shares(logits, {.method = SamplingMethod::temperature, .temperature = 0.5});
  EXPECT_NEAR(sharper.at(1), 0.16 / 0.3, 1e-3);
}

TEST(Sampling, FiltersKeepWhatTheySay) {
  const Logits logits = of_probabilities({0.1, 0.4, 0.2, 0.3});
  EXPECT_EQ(candidates(logits, {.method = SamplingMethod::greedy}), Ids{1});
  EXPECT_EQ(candidates(logits, {.method = SamplingMethod::temperature, .temperature = -1}), Ids{1});
  EXPECT_EQ(candidates(logits, {.method = SamplingMethod::top_k, .top_k = 2}), (Ids{1, 3}));
  EXPECT_EQ(candidates(logits, {.method = SamplingMethod::top_p, .top_p = 0.65}), (Ids{1, 3}));
  EXPECT_EQ(candidates(logits, {.method = SamplingMethod::top_p, .top_p = 0.75}),
            (Ids{1, 2, 3}));  // keeps the crossing
  EXPECT_EQ(candidates(logits, {.method = SamplingMethod::min_p, .min_p = 0.45}), (Ids{1, 2, 3}));
  // A method ignores the filters of the others.
  EXPECT_EQ(candidates(logits, {.method = SamplingMethod::top_k, .top_k = 3, .top_p = 0.1, .min_p = 1}),
            (Ids{1, 2, 3}));
}

TEST(Sampling, AChainFiltersWhatIsLeft) {
  const Logits logits = of_probabilities({0.1, 0.4, 0.2, 0.3});
  // After top-k = 2 the two have 4/7 and 3/7.
  EXPECT_EQ(candidates(logits, {.top_k = 2, .top_p = 0.55}), Ids{1});
  EXPECT_EQ(candidates(logits, {.top_k = 2, .top_p = 0.6}), (Ids{1, 3}));
  EXPECT_EQ(candidates(logits, {.top_k = 3, .min_p = 0.7}), (Ids{1, 3}));
  // The temperature comes last: it widens no filter, unless asked to come first.
  EXPECT_EQ(candidates(logits, {.temperature = 100, .top_p = 0.65}), (Ids{1, 3}));
  EXPECT_EQ(candidates(logits, {.temperature = 100, .top_p = 0.65, .temperature_first = true}), (Ids{1, 2, 3}));
  EXPECT_NEAR(shares(logits, {.temperature = 1e6, .top_p = 0.65}).at(3), 0.5, 1e-3);
}

TEST(Sampling, TiesGoToTheLowerIndexOrStay) {
  const Logits logits = {1, 2, 2, 0, 2};
  EXPECT_EQ(drawn(logits, {.method = SamplingMethod::greedy}, 0), 1);
  EXPECT_EQ(candidates(logits, {.method = SamplingMethod::top_k, .top_k = 2}), (Ids{1, 2}));
  EXPECT_EQ(candidates(logits, {.method = SamplingMethod::top_k, .top_k = 2, .keep_ties = true}), (Ids{1, 2, 4}));
}

TEST(Sampling, TheOrderDecidesWhereTheDrawBegins) {
  const Logits logits = of_probabilities({0.1, 0.4, 0.2, 0.3});
  SamplingOptions options{.method = SamplingMethod::top_k, .top_k = 3};
  EXPECT_EQ(drawn(logits, options, 0.45), 2);  // 1: 4/9, 2: 6/9, 3: 1
  options.order = DrawOrder::sorted;
  EXPECT_EQ(drawn(logits, options, 0.45), 3);  // 1: 4/9, 3: 7/9, 2: 1
}

TEST(Sampling, TheEndsOfTheUnitIntervalDrawTheFirstAndLast) {
  const double below_one = std::nextafter(1.0, 0.0);
  const Logits logits = {-inf, 0, 0, -inf};
  EXPECT_EQ(drawn(logits, {}, 0), 1);
  EXPECT_EQ(drawn(logits, {}, below_one), 2);
  EXPECT_EQ(drawn(logits, {.method = SamplingMethod::top_k, .top_k = 4, .order = DrawOrder::sorted}, below_one), 2);
  // u = 1/2 of two equals is not exceeded by the first.
  EXPECT_EQ(drawn(logits, {}, 0.5), 2);
  EXPECT_EQ(drawn(logits, {}, std::nextafter(0.5, 0.0)), 1);
}

TEST(Sampling, InfinitiesTakeAll) {
  EXPECT_EQ(candidates({0, inf, 5, inf}, {}), (Ids{1, 3}));
  EXPECT_EQ(candidates({0, inf, 5, inf}, {.temperature = 0.3, .top_k = 3, .top_p = 0.99, .min_p = 0.01}), (Ids{1, 3}));
  EXPECT_EQ(candidates({-inf, -3, -inf}, {.top_k = 2}), Ids{1});
  EXPECT_EQ(candidates({1e38f, -1e38f, 0}, {.temperature = 1e-300}), Ids{0});
}

TEST(Sampling, WhatCannotBeDrawnIsAnError) {
  const auto code = [](const Logits& logits, const SamplingOptions& options) {
    return test::error_code([&] { drawn(logits, options, 0.5); });
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(code({}, {}), "NoCandidates");
  EXPECT_EQ(code({-inf, -inf}, {}), "NoCandidates");
  EXPECT_EQ(code({-inf, -inf}, {.method = SamplingMethod::greedy}), "");
  EXPECT_EQ(code({0, nan}, {}), "NanLogits");
  EXPECT_EQ(code({nan, 0}, {}), "NanLogits");
  EXPECT_EQ(code({nan}, {.method = SamplingMethod::greedy}), "NanLogits");
}

TEST(Sampling, OptionsAreChecked) {
  EXPECT_FALSE(sampling_problem({}));
  EXPECT_FALSE(sampling_problem({.temperature = -1, .top_k = 40, .top_p = 2, .min_p = 1}));
  EXPECT_TRUE(sampling_problem({.temperature = std::nan("")}));
  EXPECT_TRUE(sampling_problem({.top_k = -1}));
  EXPECT_TRUE(sampling_problem({.top_p = -0.1}));
  EXPECT_TRUE(sampling_problem({.top_p = std::nan("")}));
  EXPECT_TRUE(sampling_problem({.min_p = 1.1}));
  EXPECT_TRUE(needs_draw({}));
  EXPECT_FALSE(needs_draw({.method = SamplingMethod::greedy}));
  EXPECT_FALSE(needs_draw({.temperature = 0}));
}

// top-p over the whole row sorts only as much as it needs; what it keeps must not show that.
TEST(Sampling, TopPOfLongRowsIsThatOfTheSortedRow) {
  Pcg32 generator(3);
  for (const double spread : {0.01, 1.0, 4.0}) {
    Logits logits(5000);
    for (float& value : logits) value = static_cast<float>(generator.uniform() * spread);
    std::vector<std::pair<float, std::int64_t>> sorted;
    double total = 0;
    const double top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
    for (std::size_t i = 0; i < logits.size(); ++i) {
      sorted.emplace_back(-logits[i], static_cast<std::int64_t>(i));
      total += std::exp(static_cast<double>(logits[i]) - top);
    }
    std::sort(sorted.begin(), sorted.end());
    for (const double p : {0.001, 0.3, 0.97}) {
      double sum = 0;
      std::size_t count = 0;
      while (sum < p * total) sum += std::exp(-static_cast<double>(sorted[count++].first) - top);
      // The last one drawn in falling order is the last one kept.
      const SamplingOptions options{.method = SamplingMethod::top_p, .top_p = p, .order = DrawOrder::sorted};
      EXPECT_EQ(drawn(logits, options, std::nextafter(1.0, 0.0)), sorted[count - 1].second) << spread << " " << p;
    }
  }
}

TEST(Sampling, PhiloxNumbersDependOnSeedRunAndRow) {
  const double u = philox_uniform(7, 2, 3);
  EXPECT_EQ(u, philox_uniform(7, 2, 3));
  EXPECT_NE(u, philox_uniform(8, 2, 3));
  EXPECT_NE(u, philox_uniform(7, 3, 3));
  EXPECT_NE(u, philox_uniform(7, 2, 4));
  EXPECT_NE(u, philox_uniform(7 + (std::uint64_t{1} << 32), 2, 3));
  EXPECT_EQ(u * 0x1p24, std::floor(u * 0x1p24));
  // Key and counter of zeros, first word of the published known answers: 6627e8d5.
  EXPECT_EQ(philox_uniform(0, 0, 0), (0x6627e8d5u >> 8) * 0x1p-24);
}

}  // namespace
}  // namespace weft::ops
