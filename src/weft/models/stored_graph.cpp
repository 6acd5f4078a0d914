#include "weft/models/stored_graph.h"

#include <utility>

#include "weft/base/log.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/toml_form.h"

namespace weft {
namespace {

graph_ir::WeightMap weights_of(const ModelFile& file) {
  graph_ir::WeightMap weights;
  for (const ModelTensor& tensor : file.tensors()) {
    const DType dtype = tensor.flat ? DType::f32 : tensor.dtype;
    weights.emplace(tensor.name, graph_ir::TensorSpec{tensor.dims, dtype, tensor.offset, tensor.bytes});
  }
  return weights;
}

}  // namespace

std::optional<graph_ir::Graph> stored_graph_ir(const ModelFile& file, std::vector<Warning>* warnings) {
  const auto section = file.graph();
  if (!section) return std::nullopt;
  graph_ir::WeightMap weights = weights_of(file);
  if (section->format == ModelGraphSection::Format::toml) {
    graph_ir::Graph graph = graph_ir::parse_toml(section->text, section->where);
    graph.weights = std::move(weights);
    return graph;
  }
  graph_ir::DecodeOptions options;
  options.weights = &weights;
  options.source = section->where;
  graph_ir::Decoded decoded = graph_ir::decode(section->bytes, options);
  if (warnings != nullptr) {
    *warnings = std::move(decoded.warnings);
  } else {
    for (const Warning& warning : decoded.warnings) log().warn("{}: {}", warning.where, warning.message);
  }
  return std::move(decoded.graph);
}

}  // namespace weft
