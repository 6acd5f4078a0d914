// weft bench: how fast a model runs, and how much of what the machine's memory allows that is.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "weft/cli/benchmark.h"
#include "weft/cli/interrupt.h"
#include "weft/cli/json_output.h"
#include "weft/cli/program.h"

namespace weft::cli {
namespace {

std::string spread_text(const Spread& spread) {
  return fmt::format("{:>9.2f} tok/s  ({:.2f} to {:.2f})", spread.median, spread.min, spread.max);
}

void print_report(const BenchReport& r) {
  fmt::print("{} · {} · level {} · backend {} · {} threads\n", r.model, r.cpu, r.level, r.backend, r.threads);
  fmt::print("prefill    {}, {} tokens\n", spread_text(r.prefill_tok_s), r.prompt);
  fmt::print("decode     {}, {} tokens\n", spread_text(r.decode_tok_s), r.new_tokens);
  fmt::print("ceiling    {:>9.2f} tok/s: {:.1f} GB/s over {:.1f} MB of weights and {:.1f} MB of {} keys and values\n",
             r.decode_ceiling(), r.bandwidth / 1e9, static_cast<double>(r.weight_bytes) / 1e6,
             static_cast<double>(r.kv_bytes) / 1e6, r.kv_type);
  fmt::print("fraction   {:>9.1f} %\n", r.decode_fraction() * 100);
}

// For a script that runs this and something else in turn: nothing is computed while a line is awaited.
void serve(Benchmark& benchmark) {
  for (std::string line; std::getline(std::cin, line) && !InterruptGuard::interrupted();) {
    fmt::print("{}\n", bench_json(benchmark.report({benchmark.run()})));
    std::fflush(stdout);
  }
}

}  // namespace

int bench(const BenchArguments& arguments) {
  const InterruptGuard guard;
  Benchmark benchmark(arguments);
  if (arguments.serve) {
    serve(benchmark);
  } else {
    std::vector<BenchRun> runs;
    for (std::int64_t i = 0; i < arguments.repeats; ++i) runs.push_back(benchmark.run());
    const BenchReport report = benchmark.report(runs);
    if (arguments.json)
      fmt::print("{}\n", bench_json(report));
    else
      print_report(report);
  }
  return InterruptGuard::interrupted() ? interrupted_status : 0;
}

}  // namespace weft::cli
