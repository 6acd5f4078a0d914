// Timed runs of a language model: a prompt of made-up tokens, then greedy tokens one by one, between probes of the
// memory's bandwidth. Behind `weft bench`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/backend/cpu/machine_rates.h"
#include "weft/base/thread_pool.h"
#include "weft/cli/arguments.h"
#include "weft/models/language_model.h"

namespace weft::cli {

struct Spread {
  double median = 0, min = 0, max = 0;
};
// Of no values: zeros. Of an even number the median is the mean of the middle two.
Spread spread_of(std::vector<double> values);

struct BenchRun {
  double prefill_tok_s = 0, decode_tok_s = 0;
  double bandwidth = 0;  // bytes a second, probed before the run
};

struct BenchReport {
  std::string model, cpu, level, backend, kv_type;
  int threads = 1;
  std::int64_t prompt = 0, new_tokens = 0;
  double load_seconds = 0;
  Spread prefill_tok_s, decode_tok_s;
  double bandwidth = 0;            // the median of the probes
  std::uint64_t weight_bytes = 0;  // read for one token
  std::uint64_t kv_bytes = 0;      // read for one token, on average over the new ones

  // What reading alone allows, and the part of it that was reached.
  double decode_ceiling() const;
  double decode_fraction() const;
};

class Benchmark {
 public:
  explicit Benchmark(const BenchArguments& arguments);

  BenchRun run();
  BenchReport report(const std::vector<BenchRun>& runs) const;

 private:
  BenchArguments arguments_;
  double load_seconds_ = 0;
  LanguageModel model_;
  ThreadPool pool_;  // of the probe; the model's own sleeps meanwhile
  cpu::BandwidthProbe probe_;
};

// Bytes of weights that one token reads: all, but of an embedding that is not the output matrix too a row alone.
std::uint64_t weight_bytes_per_token(const Checkpoint& checkpoint);
// Bytes of one token's keys and values over all layers.
std::uint64_t kv_bytes_per_row(const Checkpoint& checkpoint, DType kv_type);

}  // namespace weft::cli
