#include "weft/ops/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>
#include <vector>

#include "weft/base/fail.h"
#include "weft/base/random.h"

namespace weft::ops {
namespace {

template <class T>
class RowSampler {
 public:
  RowSampler(std::span<const T> logits, const SamplingOptions& options) : logits_(logits), options_(options) {
    if (logits.empty()) fail(ErrorKind::invalid_argument, "NoCandidates", "", "a row of no logits has nothing to draw");
    for (std::size_t begin = 0; begin < logits.size(); begin += piece) {
      const std::span<const T> some = logits.subspan(begin, std::min(piece, logits.size() - begin));
      const auto [greatest, nan] = greatest_of(some);
      if (nan)
        fail(ErrorKind::invalid_argument, "NanLogits", "", "logit {} is not a number: nothing can be drawn",
             begin + static_cast<std::size_t>(std::ranges::find_if(some, [](T x) { return std::isnan(x); }) -
                                              some.begin()));
      if (greatest > logits[best_])
        best_ = begin + static_cast<std::size_t>(std::ranges::find(some, greatest) - some.begin());
    }
  }

  std::int64_t greedy() const { return static_cast<std::int64_t>(best_); }

  std::int64_t draw(double u) {
    if (logits_[best_] == -std::numeric_limits<T>::infinity())
      fail(ErrorKind::invalid_argument, "NoCandidates", "", "all {} logits are -inf: nothing can be drawn",
           logits_.size());
    const SamplingMethod method = options_.method;
    const bool chain = method == SamplingMethod::chain;
    filter_temperature_ = chain && !options_.temperature_first ? 1 : options_.temperature;
    if (chain || method == SamplingMethod::top_k) keep_top_k();
    if (chain || method == SamplingMethod::top_p) keep_top_p();
    if (chain || method == SamplingMethod::min_p) keep_min_p();
    if (sorted_ && options_.order == DrawOrder::vocabulary) std::sort(kept_.begin(), kept_.end());
    return all_ ? pick(std::views::iota(std::size_t{0}, logits_.size()), u) : pick(kept_, u);
  }

 private:
  static constexpr std::size_t piece = 1024;
  struct Greatest {
    T value;
    bool nan;
  };
  // In lanes that do not wait for each other: vocabularies are long.
  static Greatest greatest_of(std::span<const T> x) {
    constexpr std::size_t lanes = 16;
    T most[lanes];
    int nans[lanes] = {};
    std::fill_n(most, lanes, -std::numeric_limits<T>::infinity());
    const auto take = [&](std::size_t lane, T value) {
      most[lane] = value > most[lane] ? value : most[lane];
      nans[lane] |= value != value;
    };
    std::size_t i = 0;
    for (; i + lanes <= x.size(); i += lanes)
      for (std::size_t lane = 0; lane < lanes; ++lane) take(lane, x[i + lane]);
    for (; i < x.size(); ++i) take(i % lanes, x[i]);
    return {*std::max_element(most, most + lanes), std::any_of(nans, nans + lanes, [](int nan) { return nan != 0; })};
  }

  // Proportional to the probability; 1 for the best. Equal infinities share everything.
  double weight(std::size_t i, double temperature) const {
    if (logits_[i] == logits_[best_]) return 1;
    return std::exp((static_cast<double>(logits_[i]) - static_cast<double>(logits_[best_])) / temperature);
  }

  bool before(std::size_t a, std::size_t b) const {
    return logits_[a] > logits_[b] || (logits_[a] == logits_[b] && a < b);
  }

  // The `count` first of the whole row by falling logit.
  void sort_first(std::size_t count) {
    const auto order = [this](std::size_t a, std::size_t b) { return before(a, b); };
    if (count < 2048) {
      // A small heap stays in cache while the row streams by.
      kept_.resize(count);
      std::ranges::partial_sort_copy(std::views::iota(std::size_t{0}, logits_.size()), kept_, order);
    } else {
      kept_.resize(logits_.size());
      std::iota(kept_.begin(), kept_.end(), std::size_t{0});
      const auto end = kept_.begin() + static_cast<std::ptrdiff_t>(count);
      std::nth_element(kept_.begin(), end, kept_.end(), order);
      kept_.erase(end, kept_.end());
      std::sort(kept_.begin(), kept_.end(), order);
    }
    all_ = false;
    sorted_ = true;
  }

  void keep_top_k() {
    const auto k = static_cast<std::uint64_t>(options_.top_k);
    if (k == 0 || k >= logits_.size()) {
      // Candidates in falling order are what the method promises even where it drops none.
      if (options_.method == SamplingMethod::top_k && options_.order == DrawOrder::sorted) sort_first(logits_.size());
      return;
    }
    sort_first(static_cast<std::size_t>(k));
    if (!options_.keep_ties) return;
    const std::size_t last = kept_.back();
    for (std::size_t i = last + 1; i < logits_.size(); ++i)
      if (logits_[i] == logits_[last]) kept_.push_back(i);
  }

  void keep_top_p() {
    if (options_.top_p >= 1) {
      if (options_.method == SamplingMethod::top_p && options_.order == DrawOrder::sorted) sort_first(logits_.size());
      return;
    }
    double total = 0;
    if (!all_) {
      for (const std::size_t i : kept_) total += weight(i, filter_temperature_);
      cut_prefix(total);
      return;
    }
    for (std::size_t i = 0; i < logits_.size(); ++i) total += weight(i, filter_temperature_);
    // The prefix is short as a rule: sort a little first.
    for (std::size_t count = 64;; count *= 8) {
      sort_first(std::min(count, logits_.size()));
      if (cut_prefix(total) || kept_.size() == logits_.size()) return;
    }
  }

  // Whether the kept ones, in order, reach the wanted share of `total`; drops what lies behind that place.
  bool cut_prefix(double total) {
    double sum = 0;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      sum += weight(kept_[i], filter_temperature_);
      if (sum < options_.top_p * total) continue;
      kept_.resize(i + 1);
      return true;
    }
    return false;
  }

  void keep_min_p() {
    if (options_.min_p <= 0) return;
    const auto too_small = [this](std::size_t i) { return weight(i, filter_temperature_) < options_.min_p; };
    if (!all_) {
      std::erase_if(kept_, too_small);
      return;
    }
    for (std::size_t i = 0; i < logits_.size(); ++i)
      if (!too_small(i)) kept_.push_back(i);
    all_ = false;
  }

  template <class Candidates>
  std::int64_t pick(const Candidates& candidates, double u) const {
    // Weights are computed twice: for a whole vocabulary that is cheaper than fresh memory to hold them.
    double total = 0, sum = 0;
    for (const std::size_t i : candidates) total += weight(i, options_.temperature);
    std::size_t chosen = best_;
    for (const std::size_t i : candidates) {
      const double w = weight(i, options_.temperature);
      if (w == 0) continue;
      chosen = i;
      sum += w;
      if (sum > u * total) break;
    }
    return static_cast<std::int64_t>(chosen);
  }

  std::span<const T> logits_;
  const SamplingOptions& options_;
  std::size_t best_ = 0;
  double filter_temperature_ = 1;
  bool all_ = true, sorted_ = false;
  std::vector<std::size_t> kept_;  // unless all_
};

template <class T>
std::int64_t pick(std::span<const T> logits, const SamplingOptions& options, double u) {
  RowSampler<T> sampler(logits, options);
  return needs_draw(options) ? sampler.draw(u) : sampler.greedy();
}

}  // namespace

std::optional<std::string> sampling_problem(const SamplingOptions& options) {
  if (!std::isfinite(options.temperature))
    return fmt::format("temperature is {}, expected a number", options.temperature);
  if (options.top_k < 0) return fmt::format("top_k is {}, expected 0 or more", options.top_k);
  if (!(options.top_p >= 0)) return fmt::format("top_p is {}, expected 0 or more", options.top_p);
  if (!(options.min_p >= 0 && options.min_p <= 1)) return fmt::format("min_p is {}, expected 0 to 1", options.min_p);
  return std::nullopt;
}

bool needs_draw(const SamplingOptions& options) {
  return options.method != SamplingMethod::greedy && options.temperature > 0;
}

std::int64_t sample_row(std::span<const float> logits, const SamplingOptions& options, double u) {
  return pick(logits, options, u);
}

std::int64_t sample_row(std::span<const double> logits, const SamplingOptions& options, double u) {
  return pick(logits, options, u);
}

double philox_uniform(std::uint64_t seed, std::int64_t run, std::int64_t row) {
  const PhiloxCounter words = philox4x32({static_cast<std::uint32_t>(run), static_cast<std::uint32_t>(row), 0, 0},
                                         {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return (words[0] >> 8) * 0x1p-24;
}

}  // namespace weft::ops
