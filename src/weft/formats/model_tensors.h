// The tensors section of a `.model` file: where each weight lies in the blob, read with all its checks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/warning.h"
#include "weft/formats/model_limits.h"
#include "weft/formats/model_tensor.h"
#include "weft/formats/toml_reader.h"

namespace weft {

// A step whose failure leaves the rest of a file readable: an error goes to `problems`, where there is such a list.
template <class Step>
void attempt(std::vector<Error>* problems, Step step) {
  try {
    step();
  } catch (const Error& error) {
    if (problems == nullptr) throw;
    problems->push_back(error);
  }
}

struct TensorIndexOptions {
  std::int64_t version = 2;
  bool canonical_only = false;
  std::uint64_t weights_bytes = 0;
  // Where given: what is wrong with single tensors is put here, and they are left out.
  std::vector<Error>* problems = nullptr;
};

// In the order of the text. Errors: Toml, LimitExceeded, MissingField, InvalidField, DuplicateTensor, BadTensorShape,
// UnknownEncoding, NonCanonicalEncoding, TensorSizeMismatch, BlockMisaligned, SizeOverflow, TensorOutOfRange,
// TensorOverlap, MissingScale.
std::vector<ModelTensor> read_tensor_index(std::string_view text, TomlSource source, const TensorIndexOptions& options,
                                           const ModelLimits& limits, std::vector<Warning>& warnings);

// "model.lm_head.weight" and "model.language_model." are other names for what weft calls "lm_head.weight" and "model.".
std::string canonical_tensor_name(std::string_view name);

// One entry of the section, as the reader wants it.
std::string tensor_index_entry(const ModelTensor& tensor);

}  // namespace weft
