// weft passes: the passes in order, or what each did to the graph of a model.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

#include "weft/cli/program.h"
#include "weft/models/checkpoint.h"
#include "weft/passes/pipeline.h"

namespace weft::cli {
namespace {

std::size_t name_width() {
  std::size_t width = 0;
  for (const Pass& pass : pipeline()) width = std::max(width, std::string(pass.name).size());
  return width;
}

// What was passed over, by reason, with the first place of each.
std::string misses_text(const PassReport& report) {
  std::map<std::string, std::pair<std::size_t, std::string>> reasons;
  for (const PassMiss& miss : report.misses) ++reasons.try_emplace(miss.reason, 0, miss.where).first->second.first;
  std::string text;
  for (const auto& [reason, places] : reasons)
    text += fmt::format("{}{} x {}, first at {}", text.empty() ? "" : "; ", places.first, reason, places.second);
  return text;
}

}  // namespace

int passes(const PassesArguments& arguments) {
  const std::size_t width = name_width();
  if (arguments.file.empty()) {
    for (const Pass& pass : pipeline())
      fmt::print("{:<{}}  {}{}\n", pass.name, width, pass.doc,
                 *pass.makes == '\0' ? "" : fmt::format(" -> {}", pass.makes));
    return 0;
  }
  PipelineReport report;
  const Graph graph = Checkpoint::open(arguments.file)->graph();
  run_pipeline(graph, {}, &report);
  fmt::print("{:<{}}  matches  nodes      ms  passed over\n", "pass", width);
  for (const PassReport& pass : report)
    fmt::print("{:<{}}  {:>7}  {:>5}  {:>6.2f}  {}\n", pass.name, width, pass.matches, pass.nodes_after,
               1e3 * pass.seconds, misses_text(pass));
  return 0;
}

}  // namespace weft::cli
