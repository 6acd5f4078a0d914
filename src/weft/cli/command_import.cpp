// weft import: a model as a .model, with the graph that runs it.
#include <fmt/format.h>

#include <cstdio>

#include "weft/cli/program.h"
#include "weft/cli/progress.h"
#include "weft/cli/quantize_summary.h"
#include "weft/models/import_model.h"

namespace weft::cli {

int import(const ImportArguments& arguments) {
  const auto source = Checkpoint::open(arguments.source);
  ImportReport report;
  {
    ProgressBar bar("importing");
    ImportOptions options{.alignment = arguments.alignment, .threads = arguments.threads};
    if (!arguments.quant.empty()) options.quantize = QuantizePlan{.dtype = quantize_type(arguments.quant)};
    options.progress = [&](std::uint64_t done, std::uint64_t total) { bar.update(done, total); };
    report = import_model(*source, arguments.output, options);
  }
  fmt::print(stderr, "{}: {} tensors, {} bytes of weights; the graph is stored as {}{}\n", arguments.output,
             report.tensors, report.weight_bytes, report.graph_form == "graph" ? "Graph IR" : "MIR",
             report.reason.empty() ? "" : ": " + report.reason);
  if (!report.quantized.empty()) fmt::print(stderr, "{}", quantize_summary(report.quantized));
  return 0;
}

}  // namespace weft::cli
