// How a token is drawn from a row of logits: the one definition behind the op Sample and the language models' sampler.
// Weights, sums and comparisons are f64 in a stated order, so a row, the options and u decide the result. Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "weft/base/export.h"

namespace weft::ops {

// greedy: the largest logit, the first of equals. temperature: any token. top_k, top_p, min_p: one filter, after the
// temperature. chain: all filters that are set, in the order top-k, top-p, min-p, each over the probabilities of what
// is left, and the temperature for the draw alone.
enum class SamplingMethod : std::uint8_t { greedy, temperature, top_k, top_p, min_p, chain };

// In which order the running sum of the draw goes through the candidates. sorted: by falling logit where top-k or top-p
// took part, else as vocabulary.
enum class DrawOrder : std::uint8_t { vocabulary, sorted };

struct SamplingOptions {
  SamplingMethod method = SamplingMethod::chain;
  double temperature = 1;  // 0 or less: greedy
  std::int64_t top_k = 0;  // this many of the largest, lower index first among equals; 0: all
  double top_p = 1;        // the shortest prefix by falling probability that reaches this sum, never empty; 1: all
  double min_p = 0;        // those at least this fraction as probable as the best
  bool temperature_first = false;  // chain: the filters see the probabilities under the temperature too
  bool keep_ties = false;          // top-k keeps all that equal the last kept
  DrawOrder order = DrawOrder::vocabulary;
};

// What is wrong with the options, as "top_k is -1, expected 0 or more".
WEFT_API std::optional<std::string> sampling_problem(const SamplingOptions& options);
// Whether u matters.
WEFT_API bool needs_draw(const SamplingOptions& options);

// The index drawn with u in [0, 1). Errors NoCandidates (an empty row, or nothing but -inf to draw from) and NanLogits.
WEFT_API std::int64_t sample_row(std::span<const float> logits, const SamplingOptions& options, double u);
WEFT_API std::int64_t sample_row(std::span<const double> logits, const SamplingOptions& options, double u);

// The uniform number of a row of a run under a seed, from Philox: multiples of 2^-24.
WEFT_API double philox_uniform(std::uint64_t seed, std::int64_t run, std::int64_t row);

}  // namespace weft::ops
