// weft quantize: a GGUF file with its weights in another type.
#include <fmt/format.h>

#include <cstdio>

#include "weft/base/error.h"
#include "weft/base/fail.h"
#include "weft/cli/interrupt.h"
#include "weft/cli/program.h"
#include "weft/cli/progress.h"
#include "weft/cli/quantize_summary.h"
#include "weft/models/checkpoint.h"
#include "weft/models/quantize.h"

namespace weft::cli {
int quantize(const QuantizeArguments& arguments) {
  if (model_format(arguments.source) != ModelFormat::gguf)
    fail(ErrorKind::unsupported, "UnknownFormat", arguments.source,
         "weft quantize reads GGUF files; for a .model use weft import --quant");
  QuantizeOptions options{.plan = {.dtype = quantize_type(arguments.type)}, .threads = arguments.threads};
  for (const std::string& rule : arguments.rules)
    options.plan.rules.push_back(parse_quantize_rule(rule, WeightFile::gguf));
  const InterruptGuard guard;
  options.canceled = InterruptGuard::interrupted;
  try {
    QuantizeReport report;
    {
      ProgressBar bar("quantizing");
      options.progress = [&](std::uint64_t done, std::uint64_t total) { bar.update(done, total); };
      report = quantize_gguf(GgufFile::open(arguments.source), arguments.output, options);
    }
    fmt::print(stderr, "{}", quantize_summary(report.tensors, WeightFile::gguf));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::canceled) throw;
    return interrupted_status;
  }
  return 0;
}

}  // namespace weft::cli
