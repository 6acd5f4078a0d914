// weft verify: all that is wrong with a file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "weft/base/error.h"
#include "weft/cli/interrupt.h"
#include "weft/cli/json_output.h"
#include "weft/cli/program.h"
#include "weft/cli/progress.h"
#include "weft/models/verify/verify_file.h"

namespace weft::cli {
namespace {

// Text from a file may hold anything; a finding stays one line.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

void print(const VerifyReport& report) {
  const Findings& findings = report.findings;
  fmt::print("{}: {}\n", report.file, report.format.empty() ? "no model file" : report.format);
  for (const CheckResult& check : findings.checks()) {
    const auto count = std::count_if(findings.all().begin(), findings.all().end(),
                                     [&](const Finding& finding) { return finding.check == check.name; });
    const std::string state = count > 0 ? fmt::format("{} found", count) : check.done ? "ok" : "skipped";
    fmt::print("  {:<10} {:<9} {}\n", check.name, state, one_line(check.note));
  }
  for (const Finding& finding : findings.all())
    fmt::print("{} {}: {}{}{}\n", to_string(finding.severity), finding.code, one_line(finding.where),
               finding.where.empty() ? "" : ": ", one_line(finding.message));
  fmt::print("{} errors, {} warnings\n", findings.errors(), findings.warnings());
}

}  // namespace

int verify(const VerifyArguments& arguments) {
  const InterruptGuard guard;
  VerifyOptions options{.legacy = arguments.legacy, .eval = arguments.eval, .threads = arguments.threads};
  options.canceled = InterruptGuard::interrupted;
  try {
    VerifyReport report;
    {
      ProgressBar bar("checking");
      options.progress = [&](std::uint64_t done, std::uint64_t total) { bar.update(done, total); };
      report = verify_file(arguments.file, options);
    }
    if (arguments.json)
      fmt::print("{}\n", verify_json(report));
    else
      print(report);
    return report.ok() ? 0 : 1;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::canceled) throw;
    return interrupted_status;
  }
}

}  // namespace weft::cli
