// Storing a model's weights in another type: which type each tensor gets, and a GGUF file written with them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/base/export.h"
#include "weft/base/tensor.h"
#include "weft/formats/gguf_file.h"

namespace weft {

// The types that weights can be stored as, "f32" to "q6_k", for messages and command lines.
WEFT_API std::vector<std::string> quantize_type_names();
// UnknownType for a name that is none of them.
WEFT_API DType quantize_type(std::string_view name);

struct QuantizeRule {
  std::string pattern;  // a glob over tensor names: "blk.*.ffn_down.weight"
  DType dtype = DType::f32;
};

struct QuantizePlan {
  DType dtype = DType::q8_0;
  std::vector<QuantizeRule> rules = {};  // the last one that matches a tensor takes the place of `dtype`
};

struct QuantizedTensor {
  std::string name;
  std::vector<std::int64_t> dims;
  DType source = DType::f32, wanted = DType::f32, dtype = DType::f32;
};

// The type of each tensor. Tensors of one dimension, norms and biases, become f32; integers stay as they are. Where a
// row is no whole number of blocks, the nearest type of smaller blocks that does not lose precision stands in, in the
// end f16. NoTensorMatches for a rule whose pattern fits no tensor.
class WEFT_API QuantizeTypes {
 public:
  explicit QuantizeTypes(QuantizePlan plan);
  QuantizedTensor choose(std::string_view name, const std::vector<std::int64_t>& dims, DType source);
  void expect_all_rules_used() const;

 private:
  QuantizePlan plan_;
  std::vector<bool> used_;
};

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
