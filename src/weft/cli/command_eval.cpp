// weft eval: how well a model predicts a text, and how far it is from another model.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "weft/base/error.h"
#include "weft/cli/interrupt.h"
#include "weft/cli/json_output.h"
#include "weft/cli/program.h"
#include "weft/cli/progress.h"
#include "weft/cli/text_input.h"
#include "weft/models/checkpoint.h"
#include "weft/models/evaluation.h"
#include "weft/models/language_model.h"

namespace weft::cli {
namespace {

constexpr std::int64_t default_context = 512;

void print_score(const char* name, const TextScore& score) {
  fmt::print("{:<10} perplexity {:.4f} ± {:.4f}   {:.4f} bits per byte   {:.5f} nats per token\n", name,
             score.perplexity, score.perplexity_error, score.bits_per_byte, score.nats_per_token);
}

}  // namespace

int evaluate(const EvalArguments& arguments) {
  const std::string text = read_text(arguments.file);
  const InterruptGuard guard;
  const auto checkpoint = Checkpoint::open(arguments.model);
  EvaluationOptions options{.stride = arguments.stride, .tokens = arguments.tokens, .threads = arguments.threads};
  options.context = arguments.context > 0 ? arguments.context
                                          : std::min(checkpoint->config().max_position_embeddings, default_context);
  const LanguageModelOptions opening{.context = options.context,
                                     .threads = arguments.threads,
                                     .backend = arguments.backend,
                                     .canceled = InterruptGuard::interrupted};
  try {
    LanguageModel model = LanguageModel::create(checkpoint, opening);
    std::optional<LanguageModel> against;
    if (!arguments.against.empty()) against = LanguageModel::open(arguments.against, opening);
    Evaluation result;
    const auto start = std::chrono::steady_clock::now();
    {
      ProgressBar bar("evaluating");
      options.progress = [&](std::uint64_t done, std::uint64_t total) { bar.update(done, total); };
      result = weft::evaluate(model, against ? &*against : nullptr, text, options);
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (arguments.json) {
      fmt::print("{}\n", eval_json(result, seconds));
      return 0;
    }
    fmt::print("{} tokens, {} bytes, {} windows of {} tokens that advance by {}; {:.1f} s\n", result.tokens,
               result.bytes, result.windows, result.context, result.stride, seconds);
    print_score("model", result.score);
    if (result.against) {
      const Divergence& d = *result.against;
      print_score("against", d.other);
      fmt::print("KL divergence  mean {:.6f}   median {:.6f}   99 % {:.6f}   largest {:.6f} nats\n", d.kl_mean,
                 d.kl_median, d.kl_99, d.kl_max);
      fmt::print("same likeliest token {:.3f} %   RMS probability difference {:.4f} %\n", 100 * d.top1_agreement,
                 100 * d.rms_probability_difference);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::canceled) throw;
    return interrupted_status;
  }
  return 0;
}

}  // namespace weft::cli
