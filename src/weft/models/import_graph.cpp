#include "weft/models/import_graph.h"

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/log.h"
#include "weft/base/mapped_file.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/json_form.h"
#include "weft/formats/graph_ir/to_mir.h"
#include "weft/formats/graph_ir/toml_form.h"
#include "weft/formats/model_tensors.h"
#include "weft/formats/model_writer.h"
#include "weft/formats/npz.h"
#include "weft/formats/safetensors.h"
#include "weft/ir/verify.h"

namespace weft {
namespace {

using Weights = std::map<std::string, Tensor>;

Weights read_weights(const std::filesystem::path& path) {
  if (path.empty()) return {};
  if (path.extension() == ".safetensors") return read_safetensors(path);
  if (path.extension() == ".npz") return read_npz(path);
  fail(ErrorKind::bad_file, "UnknownFormat", path.string(), "weights are read from .safetensors and .npz files");
}

graph_ir::Graph read_graph(const std::filesystem::path& path, const graph_ir::WeightMap& weights) {
  const std::string source = path.string();
  const auto file = MappedFile::open(path);
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  if (path.extension() == ".toml") return graph_ir::parse_toml(text, source);
  if (path.extension() == ".json") return graph_ir::parse_json(text, source);
  if (path.extension() != ".bin")
    fail(ErrorKind::bad_file, "UnknownFormat", source, "a graph is read from .toml, .json and .bin (binary) files");
  graph_ir::Decoded decoded = graph_ir::decode(file->bytes(), {.weights = &weights, .source = source});
  for (const Warning& warning : decoded.warnings) log().warn("{}: {}", warning.where, warning.message);
  return std::move(decoded.graph);
}

std::string spec_text(const graph_ir::TensorSpec& spec) {
  return fmt::format("{} {}", dims_text(spec.shape), to_string(spec.dtype));
}

}  // namespace

GraphImportReport import_graph(const GraphImport& source) {
  const Weights weights = read_weights(source.weights);
  graph_ir::WeightMap index;
  for (const auto& [name, tensor] : weights)
    index.emplace(name, graph_ir::TensorSpec{tensor.dims(), tensor.dtype(), {}, {}});
  graph_ir::Graph graph = read_graph(source.graph, index);
  for (const auto& [name, listed] : graph.weights) {
    const auto found = index.find(name);
    if (found == index.end())
      fail(ErrorKind::missing_tensor, "MissingTensor", source.graph.string(), "weight \"{}\" is in no weights file",
           name);
    if (found->second.shape != listed.shape || found->second.dtype != listed.dtype)
      fail(ErrorKind::shape_mismatch, "WeightFormatMismatch", source.graph.string(),
           "weight \"{}\" is listed as {}, but {} has {}", name, spec_text(listed), source.weights.string(),
           spec_text(found->second));
  }
  graph.weights.clear();
  for (auto& [name, spec] : index) graph.weights.emplace(canonical_tensor_name(name), std::move(spec));
  for (graph_ir::Node& node : graph.nodes)
    for (std::string& input : node.inputs)
      if (weights.count(input) != 0) input = canonical_tensor_name(input);
  const std::string name = source.graph.stem().string();
  verify(graph_ir::to_mir(graph, {.name = name}));

  std::set<std::string_view> read(graph.outputs.begin(), graph.outputs.end());
  for (const graph_ir::Node& node : graph.nodes) read.insert(node.inputs.begin(), node.inputs.end());
  GraphImportReport report{.nodes = graph.nodes.size(), .tensors = 0, .weight_bytes = 0, .unread = {}};
  ModelWriter writer(name);
  writer.set_lineage("source", source.graph.filename().string());
  writer.config().set("model_type", name);
  for (const auto& [weight, tensor] : weights) {
    const std::string stored = canonical_tensor_name(weight);
    if (read.count(stored) == 0) {
      report.unread.push_back(weight);
      graph.weights.erase(stored);
      continue;
    }
    writer.add_tensor(weight, tensor);
    ++report.tensors;
    report.weight_bytes += tensor.byte_size();
  }
  writer.set_graph(graph_ir::encode(graph));
  writer.write(source.output);
  return report;
}

}  // namespace weft
