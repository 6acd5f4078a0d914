// weft graph: the graph that a model runs, in one of its forms, before the passes or after any of them.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/atomic_file.h"
#include "weft/cli/program.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/from_mir.h"
#include "weft/formats/graph_ir/json_form.h"
#include "weft/formats/graph_ir/toml_form.h"
#include "weft/ir/dot.h"
#include "weft/ir/text.h"
#include "weft/models/checkpoint.h"
#include "weft/passes/pipeline.h"

namespace weft::cli {
namespace {

std::string graph_text(const Graph& graph, GraphFormat format) {
  switch (format) {
    case GraphFormat::text: return to_text(graph);
    case GraphFormat::dot: return to_dot(graph);
    case GraphFormat::toml: return graph_ir::to_toml(graph_ir::from_mir(graph).graph);
    case GraphFormat::json: return graph_ir::to_json(graph_ir::from_mir(graph).graph);
    case GraphFormat::binary: {
      const std::vector<std::byte> blob = graph_ir::encode(graph_ir::from_mir(graph).graph);
      return {reinterpret_cast<const char*>(blob.data()), blob.size()};
    }
  }
  return "";
}

}  // namespace

int graph(const GraphArguments& arguments) {
  Graph graph = Checkpoint::open(arguments.file)->graph();
  if (!arguments.after.empty() || !arguments.without.empty()) {
    PipelineOptions options;
    options.after = arguments.after;
    options.without = arguments.without;
    graph = run_pipeline(std::move(graph), options);
  }
  std::string text = graph_text(graph, arguments.format);
  if (arguments.format != GraphFormat::binary && !text.ends_with('\n')) text += '\n';
  if (arguments.output.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    AtomicFile file(arguments.output);
    file.write(text);
    file.commit();
  }
  return 0;
}

}  // namespace weft::cli
