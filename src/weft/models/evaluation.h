// How well a language model predicts a text, and how far its predictions are from those of another model of the same
// vocabulary.
//
// The text is cut into tokens once, control tokens in it being plain text. Windows of `context` tokens are run, each
// from an empty context. Where the model puts a begin-of-text token before a prompt, each window begins with it, and
// every token of the text is scored once. Where it does not, the first token of the text has nothing to be predicted
// from and is not scored. Windows advance by `stride` tokens; where they overlap, a token is scored in the first one
// that holds it.
//
//   perplexity = exp(-mean log p(token))          bits per byte = -sum log2 p(token) / bytes of the scored tokens
//   KL = sum over the vocabulary of p_other (log p_other - log p_model), at each position
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "weft/base/export.h"

namespace weft {

class LanguageModel;

struct EvaluationOptions {
  std::int64_t context = 512;  // tokens of a window, begin-of-text included; at most what the models were opened with
  std::int64_t stride = 0;     // 0: the context, so that windows do not overlap
  std::int64_t tokens = 0;     // most tokens of the text to score; 0: all
  int threads = 0;             // for the sums over the vocabulary
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

struct TextScore {
  double nats_per_token = 0;
  double perplexity = 0, perplexity_error = 0;  // and its standard error, tokens taken as independent
  double bits_per_byte = 0;
};

struct Divergence {
  TextScore other;                                           // of the model compared with
  double kl_mean = 0, kl_median = 0, kl_99 = 0, kl_max = 0;  // nats; kl_99: the 99th percentile
  double top1_agreement = 0;              // share of positions at which both have the same likeliest token
  double rms_probability_difference = 0;  // of the text's tokens
};

struct Evaluation {
  std::uint64_t tokens = 0, bytes = 0, windows = 0;  // scored
  std::int64_t context = 0, stride = 0;
  TextScore score;
  std::optional<Divergence> against;
};

// `against` may be null. Logits are held for a few rows at a time. VocabularyMismatch when the two models do not share
// their vocabulary; TextTooShort; NotANumber for logits that hold NaN; InvalidArgument for a context or a stride that
// makes no sense; what Tokenizer::encode and LanguageModel::logits refuse.
WEFT_API Evaluation evaluate(LanguageModel& model, LanguageModel* against, std::string_view text,
                             const EvaluationOptions& options = {});

// The log of the sum of exponentials, and the position of the largest value, the first of equal ones. In f64, in order.
struct LogSumExp {
  double value = 0;
  std::size_t largest = 0;
};
WEFT_API LogSumExp log_sum_exp(std::span<const float> logits);
// KL of the softmax of `model` from that of `base`.
WEFT_API double kl_divergence(std::span<const float> base, std::span<const float> model);

}  // namespace weft
