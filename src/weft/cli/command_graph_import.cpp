// weft graph import: a graph that somebody wrote, and its weights, as a .model.
#include <fmt/format.h>

#include <cstdio>

#include "weft/cli/program.h"
#include "weft/models/import_graph.h"

namespace weft::cli {

int graph_import(const GraphImportArguments& arguments) {
  const GraphImportReport report =
      import_graph({.graph = arguments.graph, .weights = arguments.weights, .output = arguments.output});
  fmt::print(stderr, "{}: {} nodes, {} tensors, {} bytes of weights\n", arguments.output, report.nodes, report.tensors,
             report.weight_bytes);
  if (!report.unread.empty())
    fmt::print(stderr, "{} has {} tensors that the graph does not read, left out: {}{}\n", arguments.weights,
               report.unread.size(),
               fmt::join(report.unread.begin(),
                         report.unread.begin() +
                             std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(report.unread.size()), 5),
                         ", "),
               report.unread.size() > 5 ? ", ..." : "");
  return 0;
}

}  // namespace weft::cli
