// Writing a checkpoint as a `.model`: its config, vocabulary, graph and weights, the weights bit for bit or in another
// type.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/export.h"
#include "weft/models/checkpoint.h"
#include "weft/models/quantize_types.h"

namespace weft {

struct ImportOptions {
  std::uint64_t alignment = 64;  // of tensors: 64 or 4096
  // Stores the weights in other types, or all in the canonical ones; nothing: bit for bit. Threads: 0 for one per CPU.
  std::optional<QuantizePlan> quantize = {};
  int threads = 0;
  // Called as weights are written, with bytes done and in all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

struct ImportReport {
  std::string graph_form;  // "graph" for the Graph IR, "mir" where that cannot say all
  std::string reason;      // why not the Graph IR; empty otherwise
  std::uint64_t tensors = 0, weight_bytes = 0;
  std::vector<QuantizedTensor> quantized;  // empty unless asked for
};

// Before anything is written the graph is built and prepared against the weights' types, ids of special tokens are
// checked against the vocabulary and a text makes the round trip through the tokenizer. A failed import leaves no file.
WEFT_API ImportReport import_model(const Checkpoint& source, const std::filesystem::path& output,
                                   const ImportOptions& options = {});

}  // namespace weft
