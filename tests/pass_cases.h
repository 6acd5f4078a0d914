// One pass on a small graph, and what is left of it as text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/base/fail.h"
#include "weft/passes/pipeline.h"

namespace weft::test {

struct Passed {
  Graph graph;
  PassReport report;
};

inline Passed run_pass(const Graph& graph, const char* pass) {
  PipelineOptions options;
  options.only = {pass};
  PipelineReport reports;
  Graph after = run_pipeline(graph, options, &reports);
  for (PassReport& report : reports)
    if (report.ran) return {std::move(after), std::move(report)};
  return {std::move(after), {}};
}

// The ops that compute, in order: "MatMul Binary".
inline std::string op_line(const Graph& graph) {
  std::string line;
  for (const Node& node : graph.nodes())
    if (node.schema->op_class != OpClass::leaf) line += (line.empty() ? "" : " ") + node.schema->name;
  return line;
}

inline std::string op_line_after(const Graph& graph, const char* pass) { return op_line(run_pass(graph, pass).graph); }

inline bool unchanged(const Graph& graph, const char* pass) { return run_pass(graph, pass).graph == graph; }

// The reasons of the misses: "MultiConsumer, HintsDiffer".
inline std::string missed(const Graph& graph, const char* pass) {
  std::string reasons;
  for (const PassMiss& miss : run_pass(graph, pass).report.misses)
    reasons += (reasons.empty() ? "" : ", ") + miss.reason;
  return reasons;
}

// The one node of this op.
inline const Node& the(const Graph& graph, std::string_view op) {
  for (const Node& node : graph.nodes())
    if (node.schema->name == op) return node;
  fail(ErrorKind::invalid_argument, "Test", "", "no {}", op);
}

}  // namespace weft::test
