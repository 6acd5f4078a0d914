// Storing a model's weights in another type: which type each tensor gets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/dtype.h"
#include "weft/base/export.h"

namespace weft {

// The file that weights go to: it decides which types there are, and how they are spelled.
enum class WeightFile { gguf, model };

// The types that weights can be stored as, "f32" to "q6_k", and in a `.model` "u32" to "ternary"; for messages and
// command lines.
WEFT_API std::vector<std::string> quantize_type_names(WeightFile file = WeightFile::gguf);
// UnknownType for a name that is none of them.
WEFT_API DType quantize_type(std::string_view name, WeightFile file = WeightFile::gguf);
// What llama.cpp's "general.file_type" says of a file that holds mostly this. UnknownType for what GGUF has not.
std::uint32_t gguf_file_type(DType dtype);

struct QuantizeRule {
  std::string pattern;  // a glob over tensor names: "blk.*.ffn_down.weight"
  DType dtype = DType::f32;
};

struct QuantizePlan {
  std::optional<DType> dtype = DType::q8_0;  // nothing: each tensor's own
  std::vector<QuantizeRule> rules = {};      // the last one that matches a tensor takes the place of `dtype`
  DType vectors = DType::f32;                // of norms, biases and scales
};

// Every tensor in one of the five encodings that all readers of a `.model` know: matrices in q8, the rest in u32.
QuantizePlan canonical_profile();

struct QuantizedTensor {
  std::string name;
  std::vector<std::int64_t> dims;
  DType source = DType::f32, wanted = DType::f32, dtype = DType::f32;
};

// The type of each tensor. Tensors of one dimension, norms and biases, become `vectors`; integers, ternary weights and
// their scales stay as they are. Where a row is no whole number of blocks, the nearest type of smaller blocks that does
// not lose precision stands in, in the end f16, or u32 for the types of `.model` alone. NoTensorMatches for a rule
// whose pattern fits no tensor.
class WEFT_API QuantizeTypes {
 public:
  explicit QuantizeTypes(QuantizePlan plan);
  QuantizedTensor choose(std::string_view name, const std::vector<std::int64_t>& dims, DType source);
  void expect_all_rules_used() const;

 private:
  QuantizePlan plan_;
  std::vector<bool> used_;
};

}  // namespace weft
