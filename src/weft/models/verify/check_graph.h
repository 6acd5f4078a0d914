// The graphs of a model: the one that a file stores, and the one that its config and weights call for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/formats/model_file.h"
#include "weft/ir/graph.h"
#include "weft/models/checkpoint.h"
#include "weft/models/model_config.h"
#include "weft/models/verify/findings.h"

namespace weft {

using TensorTypes = std::function<std::optional<TensorType>(const std::string& name)>;

// The graph of the config's architecture. MissingTensor and ShapeMismatch for each weight that contradicts the config.
// Nothing when it cannot be built.
std::optional<Graph> check_family_graph(const ModelConfig& config, const TensorTypes& types, std::size_t tensors,
                                        Findings& findings);

// UnexpectedTensor for weights of layers that the config does not have; UnusedTensor for others that no graph reads.
void check_unused(const std::vector<CheckpointTensor>& tensors, const std::vector<const Graph*>& graphs,
                  std::int64_t layers, const std::string& where, Findings& findings);

// The section graph, else mir, as MIR: decoded, validated and, with its weights' types, verified. Nothing when there is
// none, or none that can be used.
std::optional<Graph> check_stored_graph(const ModelFile& file, const TensorTypes& types, Findings& findings);

// GraphDiffers: `stored` is another graph than `family`, and gives other logits for a few tokens. GraphForm, a warning:
// other nodes, the same logits.
void check_same_results(const Graph& stored, const Graph& family, bool in_graph_ir, const Checkpoint& weights,
                        int threads, Findings& findings);

}  // namespace weft
