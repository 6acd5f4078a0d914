#include "weft/models/verify/check_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/formats/graph_ir/from_mir.h"
#include "weft/formats/graph_ir/to_mir.h"
#include "weft/formats/graph_ir/validate.h"
#include "weft/ir/binary.h"
#include "weft/ir/verify.h"
#include "weft/models/decoder_graph.h"
#include "weft/models/language_program.h"
#include "weft/models/stored_graph.h"
#include "weft/models/verify/graph_difference.h"
#include "weft/passes/ternary_scales.h"

namespace weft {
namespace {

void add_problems(const Graph& graph, const std::string& where, Findings& findings) {
  for (const Problem& problem : find_problems(graph))
    findings.error(problem.code, where + ", " + problem.where, problem.message);
}

std::optional<std::int64_t> layer_of(std::string_view name) {
  constexpr std::string_view prefix = "model.layers.";
  if (!name.starts_with(prefix)) return std::nullopt;
  std::int64_t layer = 0;
  const char* begin = name.data() + prefix.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), layer);
  return error == std::errc() && end != begin ? std::optional(layer) : std::nullopt;
}

void check_weights(const Graph& graph, const TensorTypes& types, const std::string& where, Findings& findings) {
  for (const std::int32_t index : graph.params()) {
    const std::string& name = graph.node(index).text("name");
    const TensorType& wanted = graph.type({index, 0});
    const auto found = types(name);
    if (!found)
      findings.error("MissingTensor", where, fmt::format("the graph reads {}, which the file lacks", name));
    else if (*found != wanted)
      findings.error(found->shape != wanted.shape ? "ShapeMismatch" : "DTypeMismatch", where,
                     fmt::format("the graph reads {} as {}, the file has {}", name, wanted.text(), found->text()));
  }
}

// As the graph is when the Graph IR has stored it: it knows fewer ops, and names of its own for sizes.
Graph through_graph_ir(const Graph& graph) {
  graph_ir::FromMir stored = graph_ir::from_mir(graph, {.round_reals = true});
  return graph_ir::to_mir(stored.graph, {.name = graph.name()});
}

std::vector<float> logits_of(const Graph& graph, const std::vector<std::int32_t>& ids, const Checkpoint& weights,
                             int threads) {
  // A few tokens need little beside the weights, which may have to be decoded.
  std::uint64_t memory = std::uint64_t{64} << 20;
  for (const CheckpointTensor& tensor : weights.tensors())
    memory += 8 * byte_size(tensor.type.dtype, *tensor.type.shape.static_dims());
  auto executor = GraphExecutor::prepare(graph, weights,
                                         {.pool = std::make_shared<ThreadPool>(threads),
                                          .backend = "reference",
                                          .memory_limit = memory,
                                          .max_rows = 16,
                                          .bounds = {}});
  const Tensor given = Tensor::from(ids, {static_cast<std::int64_t>(ids.size())});
  const NamedTensors results = executor.run({{ids_input, given}});
  const auto logits = results.find(logits_output);
  if (logits == results.end())
    fail(ErrorKind::unsupported, "NotALanguageModel", weights.path().string(), "the stored graph gives no `{}`",
         logits_output);
  const auto values = logits->second.values<float>();
  return {values.begin(), values.end()};
}

double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    norm += std::pow(static_cast<double>(b[i]), 2);
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

}  // namespace

std::optional<Graph> check_family_graph(const ModelConfig& config, const TensorTypes& types, std::size_t tensors,
                                        Findings& findings) {
  if (static_cast<std::uint64_t>(config.num_hidden_layers) > tensors) {
    findings.error("MissingTensor", "config",
                   fmt::format("{} layers are more than the file has tensors, {}", config.num_hidden_layers, tensors));
    return std::nullopt;
  }
  std::optional<Graph> graph;
  findings.attempt([&] {
    std::vector<Error> problems;
    graph = with_ternary_scales(decoder_graph(config, types, &problems), types);
    for (const Error& problem : problems) findings.add(problem);
    if (!problems.empty()) graph.reset();
  });
  if (graph) add_problems(*graph, "graph of a " + config.model_type + " model", findings);
  return graph;
}

void check_unused(const std::vector<CheckpointTensor>& tensors, const std::vector<const Graph*>& graphs,
                  std::int64_t layers, const std::string& where, Findings& findings) {
  std::set<std::string> read;
  for (const Graph* graph : graphs)
    for (const std::int32_t index : graph->params()) read.insert(graph->node(index).text("name"));
  for (const CheckpointTensor& tensor : tensors) {
    if (read.contains(tensor.name)) continue;
    const auto layer = layer_of(tensor.name);
    if (layer && *layer >= layers)
      findings.error("UnexpectedTensor", where,
                     fmt::format("{} belongs to layer {}, the config has {} layers", tensor.name, *layer, layers));
    else if (!graphs.empty())
      findings.warning("UnusedTensor", where, fmt::format("no graph reads {}", tensor.name));
  }
}

std::optional<Graph> check_stored_graph(const ModelFile& file, const TensorTypes& types, Findings& findings) {
  std::optional<Graph> graph;
  const std::string path = file.path().string();
  const std::string where = path + (file.graph() ? ", section graph" : ", section mir");
  findings.attempt([&] {
    std::vector<Warning> warnings;
    if (const auto stored = stored_graph_ir(file, &warnings)) {
      for (const Warning& warning : graph_ir::validate(*stored).warnings) warnings.push_back(warning);
      // check_unused() looks at weights, over all graphs.
      for (const Warning& warning : warnings)
        if (warning.code != "UnusedWeight") findings.add(warning);
      graph = graph_ir::to_mir(*stored, {.name = file.config().find_string("model_type").value_or("main")});
    } else if (const auto mir = file.mir()) {
      graph = graph_from_binary(*mir, where);
    }
  });
  if (file.graph())
    findings.attempt([&] {
      if (const auto mir = file.mir()) graph_from_binary(*mir, path + ", section mir");
    });
  if (!graph) return graph;
  const std::uint64_t before = findings.errors();
  add_problems(*graph, where, findings);
  check_weights(*graph, types, where, findings);
  findings.attempt([&] { graph = with_ternary_scales(*graph, types); });
  if (findings.errors() > before) graph.reset();
  return graph;
}

void check_same_results(const Graph& stored, const Graph& family, bool in_graph_ir, const Checkpoint& weights,
                        int threads, Findings& findings) {
  std::optional<std::string> difference = structural_difference(stored, family);
  if (difference && in_graph_ir) try {
      difference = structural_difference(stored, through_graph_ir(family));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_representable) throw;
    }
  if (!difference) return;
  const std::string where = weights.path().string() + ", the stored graph";
  const std::int64_t vocabulary = weights.config().vocab_size;
  std::vector<std::int32_t> ids;
  for (const std::int64_t part : {1, 3, 5, 7}) ids.push_back(static_cast<std::int32_t>(vocabulary * part / 8));
  const double relative =
      relative_difference(logits_of(stored, ids, weights, threads), logits_of(family, ids, weights, threads));
  if (!(relative <= 1e-5))
    findings.error("GraphDiffers", where,
                   fmt::format("it is not that of a {} model, and its logits differ by {:.3g} of their norm: {}",
                               weights.config().model_type, relative, *difference));
  else
    findings.warning("GraphForm", where,
                     fmt::format("it has other nodes than that of a {} model, and gives the same logits: {}",
                                 weights.config().model_type, *difference));
}

}  // namespace weft
