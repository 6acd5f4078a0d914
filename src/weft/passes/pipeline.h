// The passes that every compiled graph goes through, in one list: each maps a graph to a graph of the same outputs, is
// verified after it ran, can be left out, and says what it matched and what it passed over and why.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"
#include "weft/ir/graph.h"

namespace weft {

// A place where a pass nearly matched.
struct PassMiss {
  std::string reason;  // MultiConsumer, BiasRankTooHigh, HintsDiffer, TypeChanges, NotClaimed, ...
  std::string where;   // `[MatMul] node %7 "layers.0.q"`
};

struct PassReport {
  std::string name;
  bool ran = false;
  std::size_t matches = 0;
  std::vector<PassMiss> misses;
  std::size_t nodes_before = 0, nodes_after = 0;
  double seconds = 0;  // the verification is not counted
};

struct Pass {
  const char* name;        // what --after and --without take
  const char* doc;         // one line
  const char* makes = "";  // the fused op that it makes; where nobody claims that, the pass does not run
  Graph (*run)(Graph graph, PassReport& report);
};

struct PipelineOptions {
  std::vector<std::string> without = {};  // passes to leave out
  std::vector<std::string> only = {};     // when not empty: all others are left out
  std::string after = {};                 // stop when this pass had its turn; empty or "all": at the end
  // Whether a backend takes a fused op; absent: all are made.
  std::function<bool(std::string_view op)> claims = {};
};

using PipelineReport = std::vector<PassReport>;

// In the order in which they run.
WEFT_API std::span<const Pass> pipeline();

// Runs the list; the graph is verified first. UnknownPass names the passes there are when an option names another one.
// Outputs keep their names, types and, run by the reference kernels, their bits, but for two passes: flash-attention
// rounds less often, and simplify takes x + 0 for x, which differ in the sign of a zero.
WEFT_API Graph run_pipeline(Graph graph, const PipelineOptions& options = {}, PipelineReport* report = nullptr);

// Every fused op taken apart into the ops that it stands for, or those that `chosen` picks.
WEFT_API Graph unfuse(const Graph& graph, const std::function<bool(const Node&)>& chosen = {});

}  // namespace weft
