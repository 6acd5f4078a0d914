// A GGUF file written with its weights in other types.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "weft/base/export.h"
#include "weft/formats/gguf_file.h"
#include "weft/models/quantize_types.h"

namespace weft {

struct QuantizeOptions {
  QuantizePlan plan = {};
  int threads = 0;  // 0: one per available CPU
  // Called as weights are written, with bytes of the source done and in all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
  std::function<bool()> canceled = {};
};

struct QuantizeReport {
  std::vector<QuantizedTensor> tensors;
  std::uint64_t source_bytes = 0, bytes = 0;  // of the weights
  std::uint64_t weights = 0;
  double bits_per_weight() const {
    return weights == 0 ? 0 : 8 * static_cast<double>(bytes) / static_cast<double>(weights);
  }
};

// Writes `source` with the weights in other types. Metadata is copied, but for "general.file_type",
// "general.quantization_version" and what says that the source is in parts. SameFile when `output` is one of the
// source's files; what convert_tensor() refuses. A failure leaves no file.
WEFT_API QuantizeReport quantize_gguf(const GgufFile& source, const std::filesystem::path& output,
                                      const QuantizeOptions& options);

}  // namespace weft
