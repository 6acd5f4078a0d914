#include "weft/models/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/models/checkpoint.h"
#include "weft/models/language_model.h"

namespace weft {
namespace {

constexpr const char* text =
    "No one who had ever seen Catherine Morland in her infancy would have supposed her born to be an heroine. Her "
    "situation in life, the character of her father and mother, her own person and disposition, were all equally "
    "against her.";

LanguageModel demo(std::int64_t context = 64) {
  return LanguageModel::open(WEFT_SOURCE_DIR "/models/demo.model", {.context = context, .threads = 1});
}

template <class Call>
std::string code_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

TEST(Evaluation, LogSumExpHoldsAtAnySize) {
  const std::vector<float> small = {0, 0, 0, 0}, large = {3e38f, 3e38f, -3e38f}, mixed = {1, 5, 5, 2};
  EXPECT_DOUBLE_EQ(log_sum_exp(small).value, std::log(4.0));
  EXPECT_EQ(log_sum_exp(small).largest, 0u);
  EXPECT_DOUBLE_EQ(log_sum_exp(large).value, double{3e38f} + std::log(2.0));
  EXPECT_DOUBLE_EQ(log_sum_exp(mixed).value, std::log(std::exp(1) + 2 * std::exp(5) + std::exp(2)));
  EXPECT_EQ(log_sum_exp(mixed).largest, 1u);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(log_sum_exp(std::vector<float>{1, nan, 2}).value));
}

TEST(Evaluation, DivergenceOfKnownDistributions) {
  const auto logs = [](std::vector<double> p) {
    std::vector<float> logits;
    for (const double x : p) logits.push_back(static_cast<float>(std::log(x) + 3));
    return logits;
  };
  const std::vector<float> p = logs({0.5, 0.25, 0.25}), q = logs({0.25, 0.5, 0.25});
  EXPECT_NEAR(kl_divergence(p, q), 0.25 * std::log(2.0), 1e-7);
  EXPECT_EQ(kl_divergence(p, p), 0);
  // What the base excludes adds nothing.
  const float never = -std::numeric_limits<float>::infinity();
  EXPECT_NEAR(kl_divergence(std::vector<float>{0, never}, std::vector<float>{0, 0}), std::log(2.0), 1e-12);
}

TEST(Evaluation, ThreadsChangeNothing) {
  LanguageModel model = demo();
  const Evaluation one = evaluate(model, nullptr, text, {.context = 64, .threads = 1});
  const Evaluation two = evaluate(model, nullptr, text, {.context = 64, .threads = 2});
  EXPECT_EQ(one.score.nats_per_token, two.score.nats_per_token);
  EXPECT_EQ(one.score.perplexity_error, two.score.perplexity_error);
  EXPECT_EQ(one.bytes, std::string(text).size());
  EXPECT_FALSE(one.against);
}

TEST(Evaluation, OverlapScoresEachTokenOnce) {
  LanguageModel model = demo();
  std::vector<std::uint64_t> steps;
  EvaluationOptions options{.context = 16, .stride = 5};
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    steps.push_back(done);
    EXPECT_LE(done, total);
  };
  const Evaluation overlapping = evaluate(model, nullptr, text, options);
  EXPECT_EQ(steps.front(), 16u);
  for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_GT(steps[i], steps[i - 1]);
  EXPECT_EQ(steps.back(), overlapping.tokens);
  const Evaluation apart = evaluate(model, nullptr, text, {.context = 16});
  EXPECT_EQ(apart.tokens, overlapping.tokens);
  EXPECT_EQ(apart.windows, (apart.tokens + 15) / 16);
  EXPECT_LT(overlapping.score.perplexity, apart.score.perplexity);  // more context before each token
}

TEST(Evaluation, TheFirstTokensAlone) {
  LanguageModel model = demo();
  const Evaluation few = evaluate(model, nullptr, text, {.context = 64, .tokens = 7});
  EXPECT_EQ(few.tokens, 7u);
  EXPECT_GT(few.bytes, 7u);
  EXPECT_LT(few.bytes, 50u);
  EXPECT_EQ(evaluate(model, nullptr, text, {.context = 64, .tokens = 100000}).bytes, std::string(text).size());
  // A single token after begin-of-text.
  const Evaluation one = evaluate(model, nullptr, text, {.context = 1, .tokens = 1});
  const std::vector<std::int32_t> bos = {*model.tokenizer().bos()};
  model.reset();
  const Tensor logits = model.logits(bos);
  const std::int32_t first = model.tokenizer().encode(text, {.add_bos = false})[0];
  EXPECT_DOUBLE_EQ(one.score.nats_per_token, log_sum_exp(logits.values<float>()).value -
                                                 double{logits.values<float>()[static_cast<std::size_t>(first)]});
  EXPECT_EQ(one.score.perplexity_error, 0);
}

TEST(Evaluation, RefusesWhatMakesNoSense) {
  LanguageModel model = demo();
  const auto code = [&](std::string_view words, EvaluationOptions options) {
    return code_of([&] { evaluate(model, nullptr, words, options); });
  };
  EXPECT_EQ(code("", {.context = 8}), "TextTooShort");
  EXPECT_EQ(code("a", {.context = 0}), "InvalidArgument");
  EXPECT_EQ(code("a", {.context = 65}), "InvalidArgument");
  EXPECT_EQ(code("a", {.context = 8, .stride = 9}), "InvalidArgument");
  EXPECT_EQ(code("a", {.context = 8, .stride = -1}), "InvalidArgument");
  EXPECT_EQ(code("\xff", {.context = 8}), "InvalidUtf8");
  LanguageModel narrow = demo(8);
  EXPECT_EQ(code_of([&] { evaluate(model, &narrow, "a", {.context = 64}); }), "InvalidArgument");
}

}  // namespace
}  // namespace weft
