// The tensors section of a `.model` file: where each weight lies in the blob, read with all its checks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/dtype.h"
#include "weft/formats/model_limits.h"
#include "weft/formats/toml_reader.h"

namespace weft {

struct ModelTensor {
  std::string name;  // canonical: aliases are resolved
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  std::uint64_t offset = 0;  // within the weights
  std::uint64_t bytes = 0;
  // Blocks that run across the ends of rows (older importers wrote such tensors). Decoded to f32 when handed out.
  bool flat = false;
  bool legacy_ternary = false;
};

struct TensorIndexOptions {
  std::int64_t version = 2;
  bool canonical_only = false;
  std::uint64_t weights_bytes = 0;
};

// In the order of the text. Errors: Toml, LimitExceeded, MissingField, InvalidField, DuplicateTensor, BadTensorShape,
// UnknownEncoding, NonCanonicalEncoding, TensorSizeMismatch, BlockMisaligned, SizeOverflow, TensorOutOfRange,
// TensorOverlap, MissingScale.
std::vector<ModelTensor> read_tensor_index(std::string_view text, TomlSource source, const TensorIndexOptions& options,
                                           const ModelLimits& limits, std::vector<std::string>& warnings);

// "model.lm_head.weight" and "model.language_model." are other names for what weft calls "lm_head.weight" and "model.".
std::string canonical_tensor_name(std::string_view name);

// One entry of the section, as the reader wants it.
std::string tensor_index_entry(const ModelTensor& tensor);

}  // namespace weft
