// weft run: continues a text. The continuation goes to stdout as it becomes final, timings go to stderr.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "weft/base/fail.h"
#include "weft/cli/bundled_model.h"
#include "weft/cli/interrupt.h"
#include "weft/cli/json_output.h"
#include "weft/cli/placement_table.h"
#include "weft/cli/program.h"
#include "weft/cli/sampling.h"
#include "weft/cli/text_input.h"
#include "weft/models/checkpoint.h"
#include "weft/models/language_model.h"
#include "weft/runtime/profile.h"

namespace weft::cli {
namespace {

std::vector<std::int32_t> prompt_ids(const LanguageModel& model, const RunArguments& arguments) {
  if (!arguments.ids.empty()) return arguments.ids;
  const std::string text = arguments.prompt ? *arguments.prompt : read_text(*arguments.prompt_file);
  EncodeOptions options;
  if (arguments.no_bos) options.add_bos = false;
  return model.tokenizer().encode(text, options);
}

GenerateOptions generate_options(const LanguageModel& model, const RunArguments& arguments) {
  return {.max_tokens = arguments.max_tokens,
          .sampling = sampling_options(model.checkpoint(), arguments.sampling),
          .stop = arguments.stop,
          .ignore_eos = arguments.ignore_eos};
}

void print_timings(const RunReport& report) {
  const Generation& g = report.generation;
  fmt::print(stderr,
             "load {:.2f} s · prompt {} tokens, {:.1f} tok/s · first token after {:.3f} s · {} tokens, {:.1f} tok/s\n",
             report.load_seconds, g.prompt_ids.size(), report.prefill_rate(), g.first_token_seconds, g.ids.size(),
             report.decode_rate());
  fmt::print(stderr, "stop: {} · seed {} · backend {} · {} threads\n", to_string(g.stop), g.seed, report.backend,
             report.threads);
}

void print_profile(const GraphExecutor& executor) {
  if (const Profile* profile = executor.profile()) {
    fmt::print(stderr, "{}", profile->table());
    return;
  }
  struct Row {
    std::uint64_t runs = 0;
    double seconds = 0;
  };
  std::map<std::string, Row> by_op;
  double total = 0;
  for (const OpTiming& timing : executor.timings()) {
    Row& row = by_op[timing.op];
    row.runs += timing.runs;
    row.seconds += timing.seconds;
    total += timing.seconds;
  }
  std::vector<std::pair<std::string, Row>> rows(by_op.begin(), by_op.end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  fmt::print(stderr, "{:<12} {:>9} {:>10} {:>7}\n", "op", "runs", "ms", "share");
  for (const auto& [op, row] : rows)
    fmt::print(stderr, "{:<12} {:>9} {:>10.2f} {:>6.1f}%\n", op, row.runs, row.seconds * 1e3,
               total > 0 ? row.seconds / total * 100 : 0);
}

}  // namespace

int run(const RunArguments& arguments) {
  const InterruptGuard guard;
  const auto start = std::chrono::steady_clock::now();
  LanguageModel model = LanguageModel::open(arguments.model.empty() ? bundled_model() : arguments.model,
                                            {.context = arguments.context,
                                             .threads = arguments.threads,
                                             .backend = arguments.backend,
                                             .kv_type = *dtype_from_name(arguments.kv_type),
                                             .profile = arguments.profile || !arguments.trace.empty(),
                                             .check_finite = arguments.check_nan,
                                             .canceled = InterruptGuard::interrupted});
  if (arguments.explain) fmt::print(stderr, "{}", placement_table(model.executor()));
  RunReport report;
  report.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.backend = model.backend();
  report.threads = model.threads();
  const std::vector<std::int32_t> prompt = prompt_ids(model, arguments);
  const auto stream = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return std::fflush(stdout) == 0 && !InterruptGuard::interrupted();
  };
  const auto silent = [](std::string_view) { return !InterruptGuard::interrupted(); };
  report.generation = model.generate_ids(prompt, generate_options(model, arguments),
                                         arguments.json ? TextSink(silent) : TextSink(stream));
  if (arguments.json)
    fmt::print("{}\n", run_json(report));
  else
    fmt::print("\n");
  std::fflush(stdout);
  if (!arguments.json || InterruptGuard::interrupted()) print_timings(report);
  if (arguments.profile) print_profile(model.executor());
  if (!arguments.trace.empty()) {
    const Profile* profile = model.executor().profile();
    if (profile == nullptr)
      fail(ErrorKind::unsupported, "NoTrace", "--trace", "the backend {} runs no program to trace", model.backend());
    profile->write_trace(arguments.trace);
  }
  return InterruptGuard::interrupted() ? interrupted_status : 0;
}

}  // namespace weft::cli
