// weft cpu: what the processor has, which kernels follow, and how fast it is at best.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "weft/cli/cpu_report.h"
#include "weft/cli/json_output.h"
#include "weft/cli/program.h"

namespace weft::cli {
namespace {

std::string size_text(std::int64_t bytes) {
  if (bytes == 0) return "unknown";
  return bytes < 1 << 20 ? fmt::format("{} KiB", bytes >> 10)
                         : fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string rate_text(double rate) { return rate == 0 ? "-" : fmt::format("{:.1f}", rate / 1e9); }

}  // namespace

int cpu(const CpuArguments& arguments) {
  const CpuReport report = report_cpu(arguments.threads, arguments.measure);
  if (arguments.json) {
    fmt::print("{}\n", cpu_json(report));
    return 0;
  }
  const CpuInfo& info = report.info;
  std::string supported, lacking;
  for (const auto& [level, missing] : report.levels)
    if (missing.empty())
      supported += fmt::format("{}{}", supported.empty() ? "" : ", ", to_string(level));
    else
      lacking += fmt::format("           not {}, which needs {}\n", to_string(level), missing);
  fmt::print("model      {}\n", info.model);
  fmt::print("features   {}\n", info.features.empty() ? "none that weft has kernels for"
                                                      : fmt::format("{}", fmt::join(info.features, ", ")));
  fmt::print("levels     {}\n{}", supported, lacking);
  fmt::print("level      {}: {}\n", to_string(report.selected), report.reason);
  fmt::print("caches     L1d {}, L2 {}, L3 {}\n", size_text(info.l1d_bytes), size_text(info.l2_bytes),
             size_text(info.l3_bytes));
  fmt::print("CPUs       {}, {} usable by this process\n", info.logical_cpus, info.usable_cpus);
  fmt::print("threads    {}\n", report.threads);
  if (report.bandwidth) fmt::print("bandwidth  {:.1f} GB/s, reading\n", *report.bandwidth / 1e9);
  if (!report.rates) return 0;
  fmt::print("\n{:<12} {:>14} {:>14} {:>14}\n", "level", "f32 GFLOP/s", "bf16 GFLOP/s", "int8 GOP/s");
  for (const cpu::LevelRates& rates : report.rates->levels)
    fmt::print("{:<12} {:>14} {:>14} {:>14}\n", to_string(rates.level), rate_text(rates.f32), rate_text(rates.bf16),
               rate_text(rates.int8));
  return 0;
}

}  // namespace weft::cli
