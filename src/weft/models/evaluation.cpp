#include "weft/models/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/models/checkpoint.h"
#include "weft/models/language_model.h"

namespace weft {
namespace {

constexpr std::int64_t logits_in_memory = std::int64_t{8} << 20;  // of one model

double kl_of(std::span<const float> base, double base_sum, std::span<const float> model, double model_sum) {
  double total = 0;
  for (std::size_t i = 0; i < base.size(); ++i) {
    const double log_p = static_cast<double>(base[i]) - base_sum;
    const double p = std::exp(log_p);
    if (p > 0) total += p * (log_p - (static_cast<double>(model[i]) - model_sum));
  }
  return std::max(total, 0.0);  // rounding alone makes it negative
}

// What is kept of a position. `other` and `kl` are meaningful in a comparison.
struct Position {
  double log_p = 0, other_log_p = 0;
  float kl = 0;
  bool same_best = false;
};

void expect_same_vocabulary(const LanguageModel& model, const LanguageModel& against) {
  const Tokenizer &a = model.tokenizer(), &b = against.tokenizer();
  const auto refuse = [&](const std::string& why) {
    fail(ErrorKind::invalid_argument, "VocabularyMismatch", against.checkpoint().path().string(),
         "its predictions cannot be compared with those of {}: {}", model.checkpoint().path().string(), why);
  };
  const std::int64_t size = model.checkpoint().config().vocab_size, other = against.checkpoint().config().vocab_size;
  if (size != other) refuse(fmt::format("one predicts {} tokens, the other {}", other, size));
  if (a.type() != b.type() || a.id_limit() != b.id_limit()) refuse("the tokenizers differ");
  if (a.adds_bos() != b.adds_bos() || a.bos() != b.bos()) refuse("the begin-of-text tokens differ");
  for (std::int32_t id = 0; id < a.id_limit(); ++id) {
    if (a.has_token(id) != b.has_token(id) || (a.has_token(id) && a.token_text(id) != b.token_text(id)))
      refuse(fmt::format("token {} is not the same text in both", id));
  }
}

class Evaluator {
 public:
  Evaluator(LanguageModel& model, LanguageModel* against, std::string_view text, const EvaluationOptions& options)
      : model_(model), against_(against), options_(options), pool_(options.threads) {
    context_ = options.context;
    stride_ = options.stride == 0 ? context_ : options.stride;
    check(model);
    if (against != nullptr) {
      check(*against);
      expect_same_vocabulary(model, *against);
    }
    const Tokenizer& tokenizer = model.tokenizer();
    EncodeOptions plain;
    plain.add_bos = plain.add_eos = false;
    ids_ = tokenizer.encode(text, plain);
    if (tokenizer.adds_bos()) bos_ = tokenizer.bos();
    // With a begin-of-text token, target i is predicted from input i; else from the token before it.
    inputs_ = ids_;
    if (!bos_ && !ids_.empty()) ids_.erase(ids_.begin());
    if (ids_.empty())
      fail(ErrorKind::invalid_argument, "TextTooShort", model.checkpoint().path().string(),
           "the text has {} tokens; there is nothing to predict", inputs_.size());
    // Bytes of the text, not of the tokens, which may spell a space otherwise or put one in front.
    const auto text_bytes = [&](std::span<const std::int32_t> ids) { return tokenizer.decode(ids).size(); };
    std::size_t end = text.size();
    if (options.tokens > 0 && options.tokens < static_cast<std::int64_t>(ids_.size())) {
      ids_.resize(static_cast<std::size_t>(options.tokens));
      end = text_bytes(std::span(inputs_).first(ids_.size() + (bos_ ? 0 : 1)));
    }
    bytes_ = end - (bos_ ? 0 : std::min(end, text_bytes(std::span(inputs_).first(1))));
  }

  Evaluation run() {
    Evaluation result;
    positions_.resize(ids_.size());
    const auto total = static_cast<std::int64_t>(ids_.size());
    for (std::int64_t start = 0, scored = 0; scored < total; start += stride_) {
      const std::int64_t end = std::min(start + context_, total);
      run_window(start, scored, end);
      scored = end;
      ++result.windows;
    }
    result.tokens = ids_.size();
    result.bytes = bytes_;
    result.context = context_;
    result.stride = stride_;
    result.score = score_of(&Position::log_p);
    if (against_ != nullptr) result.against = divergence();
    return result;
  }

 private:
  void check(const LanguageModel& model) const {
    if (context_ < 1 || context_ > model.context())
      fail(ErrorKind::invalid_argument, "InvalidArgument", "context",
           "a window of {} tokens; it must be from 1 to the {} that the model is opened with", context_,
           model.context());
    if (stride_ < 1 || stride_ > context_)
      fail(ErrorKind::invalid_argument, "InvalidArgument", "stride", "windows of {} tokens cannot advance by {}",
           context_, stride_);
  }

  // Targets [begin, end) are scored; the window's first target is `start`.
  void run_window(std::int64_t start, std::int64_t begin, std::int64_t end) {
    std::vector<std::int32_t> inputs;
    if (bos_) inputs.push_back(*bos_);
    const auto from = inputs_.begin() + start;
    inputs.insert(inputs.end(), from, from + (end - start - (bos_ ? 1 : 0)));
    const std::span<const std::int32_t> all(inputs);
    const auto known = static_cast<std::size_t>(begin - start);
    for (LanguageModel* model : {&model_, against_}) {
      if (model == nullptr) continue;
      model->reset();
      if (known > 0) model->last_logits(all.first(known));
    }
    const std::int64_t vocabulary = model_.checkpoint().config().vocab_size;
    const std::int64_t piece = std::clamp<std::int64_t>(logits_in_memory / vocabulary, 1, 512);
    for (std::int64_t at = begin; at < end; at += piece) {
      const std::int64_t count = std::min(piece, end - at);
      const auto rows = all.subspan(static_cast<std::size_t>(at - start), static_cast<std::size_t>(count));
      const Tensor logits = model_.logits(rows);
      const Tensor other = against_ != nullptr ? against_->logits(rows) : Tensor();
      pool_.parallel_for(count, 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) score(at + row, row, logits, other);
      });
      if (options_.progress) options_.progress(static_cast<std::uint64_t>(at + count), ids_.size());
    }
  }

  double log_p_of(std::span<const float> logits, const LogSumExp& sum, std::int64_t position) const {
    if (!std::isfinite(sum.value))
      fail(ErrorKind::out_of_range, "NotANumber", fmt::format("token {} of the text", position),
           "the logits hold values that are no numbers");
    return static_cast<double>(logits[static_cast<std::size_t>(ids_[static_cast<std::size_t>(position)])]) - sum.value;
  }

  void score(std::int64_t position, std::int64_t row, const Tensor& logits, const Tensor& other) {
    const auto row_of = [row](const Tensor& tensor) {
      const auto width = static_cast<std::size_t>(tensor.dim(1));
      return tensor.values<float>().subspan(static_cast<std::size_t>(row) * width, width);
    };
    Position& kept = positions_[static_cast<std::size_t>(position)];
    const auto mine = row_of(logits);
    const LogSumExp sum = log_sum_exp(mine);
    kept.log_p = log_p_of(mine, sum, position);
    if (!other.defined()) return;
    const auto theirs = row_of(other);
    const LogSumExp other_sum = log_sum_exp(theirs);
    kept.other_log_p = log_p_of(theirs, other_sum, position);
    kept.kl = static_cast<float>(kl_of(theirs, other_sum.value, mine, sum.value));
    kept.same_best = sum.largest == other_sum.largest;
  }

  TextScore score_of(double Position::*log_p) const {
    const auto count = static_cast<double>(positions_.size());
    double sum = 0, squares = 0;
    for (const Position& position : positions_) sum -= position.*log_p;
    const double mean = sum / count;
    for (const Position& position : positions_) squares += std::pow(-(position.*log_p) - mean, 2);
    TextScore score;
    score.nats_per_token = mean;
    score.perplexity = std::exp(mean);
    score.perplexity_error = count > 1 ? score.perplexity * std::sqrt(squares / (count - 1) / count) : 0;
    score.bits_per_byte = bytes_ == 0 ? 0 : sum / std::numbers::ln2 / static_cast<double>(bytes_);
    return score;
  }

  Divergence divergence() const {
    Divergence result;
    result.other = score_of(&Position::other_log_p);
    std::vector<float> kl;
    double sum = 0, squares = 0, same = 0;
    for (const Position& position : positions_) {
      kl.push_back(position.kl);
      sum += static_cast<double>(position.kl);
      squares += std::pow(std::exp(position.log_p) - std::exp(position.other_log_p), 2);
      same += position.same_best ? 1 : 0;
    }
    std::sort(kl.begin(), kl.end());
    // Between the two values around it, as NumPy does by default.
    const auto percentile = [&](double share) {
      const double at = share * static_cast<double>(kl.size() - 1);
      const auto low = static_cast<std::size_t>(at);
      const std::size_t high = std::min(low + 1, kl.size() - 1);
      const double part = at - static_cast<double>(low);
      return (1 - part) * static_cast<double>(kl[low]) + part * static_cast<double>(kl[high]);
    };
    const auto count = static_cast<double>(kl.size());
    result.kl_mean = sum / count;
    result.kl_median = percentile(0.5);
    result.kl_99 = percentile(0.99);
    result.kl_max = static_cast<double>(kl.back());
    result.top1_agreement = same / count;
    result.rms_probability_difference = std::sqrt(squares / count);
    return result;
  }

  LanguageModel& model_;
  LanguageModel* against_;
  const EvaluationOptions& options_;
  ThreadPool pool_;
  std::int64_t context_ = 0, stride_ = 0;
  std::optional<std::int32_t> bos_;
  std::vector<std::int32_t> inputs_, ids_;  // the text's tokens, and those of them that are predicted
  std::uint64_t bytes_ = 0;
  std::vector<Position> positions_;
};

}  // namespace

LogSumExp log_sum_exp(std::span<const float> logits) {
  LogSumExp result;
  result.largest = static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  const auto most = static_cast<double>(logits[result.largest]);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - most);
  result.value = most + std::log(sum);
  return result;
}

double kl_divergence(std::span<const float> base, std::span<const float> model) {
  return kl_of(base, log_sum_exp(base).value, model, log_sum_exp(model).value);
}

Evaluation evaluate(LanguageModel& model, LanguageModel* against, std::string_view text,
                    const EvaluationOptions& options) {
  return Evaluator(model, against, text, options).run();
}

}  // namespace weft
