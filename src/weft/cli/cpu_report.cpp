#include "weft/cli/cpu_report.h"

#include <cstdlib>

#include "weft/base/thread_pool.h"

namespace weft::cli {

CpuReport report_cpu(int threads, bool measure) {
  CpuReport report;
  report.info = cpu_info();
  report.selected = selected_cpu_level();
  for (const CpuLevel level : all_cpu_levels()) report.levels.push_back({level, missing_for_cpu_level(level)});
  const char* forced = std::getenv("WEFT_CPU");
  report.reason = forced != nullptr && *forced != '\0' ? "WEFT_CPU says so" : "the highest that this machine runs";
  ThreadPool pool(threads);
  report.threads = pool.size();
  if (!measure) return report;
  report.bandwidth = cpu::read_bandwidth(pool);
  report.rates = cpu::matrix_rates(pool);
  return report;
}

}  // namespace weft::cli
