// weft exec: any stored graph as a function from arrays to arrays.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/cli/interrupt.h"
#include "weft/cli/placement_table.h"
#include "weft/cli/program.h"
#include "weft/formats/npy.h"
#include "weft/models/checkpoint.h"

namespace weft::cli {
namespace {

using Files = std::map<std::string, std::string>;  // by the name of the value

Files named_files(const std::vector<std::string>& pairs, const char* option) {
  Files files;
  for (const std::string& pair : pairs) {
    const std::size_t split = pair.find('=');
    if (split == std::string::npos || split == 0 || split + 1 == pair.size())
      fail(ErrorKind::invalid_argument, "InvalidArgument", option, "expected NAME=FILE, found \"{}\"", pair);
    if (!files.emplace(pair.substr(0, split), pair.substr(split + 1)).second)
      fail(ErrorKind::invalid_argument, "InvalidArgument", option, "{} is given twice", pair.substr(0, split));
  }
  return files;
}

std::string inputs_text(const Graph& graph) {
  std::string text;
  for (const std::int32_t index : graph.inputs()) {
    const Node& node = graph.node(index);
    if (node.text("source") == "caller")
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", node.text("name"), node.outputs[0].type.text());
  }
  return text.empty() ? "none" : text;
}

void expect_inputs(const Graph& graph, const Files& files, const std::string& model) {
  for (const std::int32_t index : graph.inputs()) {
    const Node& node = graph.node(index);
    if (node.text("source") == "caller" && files.count(node.text("name")) == 0)
      fail(ErrorKind::invalid_argument, "MissingInput", model, "give --input {}=FILE; the graph's inputs are {}",
           node.text("name"), inputs_text(graph));
  }
  for (const auto& [name, file] : files) {
    const auto found = graph.find_input(name);
    if (!found || graph.node(*found).text("source") != "caller")
      fail(ErrorKind::invalid_argument, "UnexpectedInput", model,
           "the graph has no input \"{}\" to take {}; its inputs are {}", name, file, inputs_text(graph));
  }
}

void expect_outputs(const Graph& graph, const Files& files, const std::string& model) {
  std::string known;
  for (const GraphOutput& output : graph.outputs())
    known += fmt::format("{}{} {}", known.empty() ? "" : ", ", output.name, graph.type(output.value).text());
  for (const auto& [name, file] : files)
    if (std::none_of(graph.outputs().begin(), graph.outputs().end(),
                     [&, &wanted = name](const GraphOutput& output) { return output.name == wanted; }))
      fail(ErrorKind::invalid_argument, "UnknownOutput", model,
           "the graph has no output \"{}\" to write to {}; its outputs are {}", name, file, known);
}

}  // namespace

int exec(const ExecArguments& arguments) {
  const InterruptGuard guard;
  const Files inputs = named_files(arguments.inputs, "--input"), outputs = named_files(arguments.outputs, "--output");
  const auto checkpoint = Checkpoint::open(arguments.model);
  Graph graph = checkpoint->graph();
  expect_inputs(graph, inputs, arguments.model);
  expect_outputs(graph, outputs, arguments.model);
  NamedTensors values;
  for (const auto& [name, file] : inputs) values.emplace(name, read_npy(file));
  try {
    GraphExecutor executor = GraphExecutor::prepare(std::move(graph), *checkpoint,
                                                    {.pool = std::make_shared<ThreadPool>(arguments.threads),
                                                     .backend = arguments.backend,
                                                     .check_finite = arguments.check_nan,
                                                     .canceled = InterruptGuard::interrupted});
    if (arguments.explain) fmt::print(stderr, "{}", placement_table(executor));
    const NamedTensors results = executor.run(values);
    checkpoint->finish_verification();
    for (const auto& [name, file] : outputs) {
      const Tensor& result = results.at(name);
      write_npy(file, result.dtype() == DType::bf16 ? result.to_f32() : result);
    }
    if (outputs.empty())
      for (const auto& [name, result] : results)
        fmt::print("{} {} {}\n", name, dims_text(result.dims()), to_string(result.dtype()));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::canceled) throw;
    return interrupted_status;
  }
  return 0;
}

}  // namespace weft::cli
