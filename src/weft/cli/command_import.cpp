// weft import: a model as a .model, with the graph that runs it.
#include <fmt/format.h>

#include <cstdio>

#include "weft/base/fail.h"
#include "weft/cli/program.h"
#include "weft/cli/progress.h"
#include "weft/cli/quantize_summary.h"
#include "weft/formats/model_encoding.h"
#include "weft/models/import_model.h"

namespace weft::cli {
namespace {

void expect_canonical(DType dtype) {
  const std::string_view name = model_encoding_name(dtype);
  if (!model_encoding(name)->canonical)
    fail(ErrorKind::invalid_argument, "NonCanonicalEncoding", std::string(name),
         "--profile canonical has the types u32, u16, q8, q4 and ternary alone");
}

// Nothing: the weights as they are.
std::optional<QuantizePlan> plan_of(const ImportArguments& arguments) {
  if (!arguments.canonical && arguments.quant.empty() && arguments.rules.empty()) return std::nullopt;
  QuantizePlan plan = arguments.canonical ? canonical_profile() : QuantizePlan{.dtype = std::nullopt};
  if (!arguments.quant.empty()) plan.dtype = quantize_type(arguments.quant, WeightFile::model);
  for (const std::string& rule : arguments.rules) plan.rules.push_back(parse_quantize_rule(rule, WeightFile::model));
  if (arguments.canonical) {
    expect_canonical(*plan.dtype);
    for (const QuantizeRule& rule : plan.rules) expect_canonical(rule.dtype);
  }
  return plan;
}

}  // namespace

int import(const ImportArguments& arguments) {
  const std::optional<QuantizePlan> plan = plan_of(arguments);
  const auto source = Checkpoint::open(arguments.source, {.legacy = arguments.legacy});
  ImportReport report;
  {
    ProgressBar bar("importing");
    ImportOptions options{.alignment = arguments.alignment, .quantize = plan, .threads = arguments.threads};
    options.progress = [&](std::uint64_t done, std::uint64_t total) { bar.update(done, total); };
    report = import_model(*source, arguments.output, options);
  }
  fmt::print(stderr, "{}: {} tensors, {} bytes of weights; the graph is stored as {}{}\n", arguments.output,
             report.tensors, report.weight_bytes, report.graph_form == "graph" ? "Graph IR" : "MIR",
             report.reason.empty() ? "" : ": " + report.reason);
  if (!report.quantized.empty()) fmt::print(stderr, "{}", quantize_summary(report.quantized, WeightFile::model));
  return 0;
}

}  // namespace weft::cli
