// The graph of a decoder-only transformer of the Llama family: RMS norms, rotary attention with grouped heads, gated
// feed-forward blocks. What varies between its members (biases, q/k norms, tied head, rope factors) is read from the
// config and from which tensors exist.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/ir/graph.h"
#include "weft/models/model_config.h"

namespace weft {

// The type of a weight by canonical name, or nothing when the model has none of that name.
using WeightTypes = std::function<std::optional<TensorType>(const std::string& name)>;

// Inputs: `input_ids` [n] i32, and `pos`, which the executor supplies. Output: `logits` [n, vocab_size] f32. States:
// one rows slot a layer, bounded by config.max_position_embeddings through the executor, not by the graph.
// MissingTensor{name, required by}, ShapeMismatch when a tensor contradicts the config. Where `problems` is given, up
// to 256 of these are put there instead, and the graph is that of the weights that the config asks for.
Graph decoder_graph(const ModelConfig& config, const WeightTypes& weights, std::vector<Error>* problems = nullptr);

}  // namespace weft
