// Hugging Face's .safetensors: a JSON index, then the bytes of all tensors.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "weft/base/export.h"
#include "weft/base/tensor.h"
#include "weft/formats/file_bytes.h"

namespace weft {

// Views of the file, copied only where an address does not suit its type. Errors: Truncated, LimitExceeded,
// InvalidJson, InvalidField, DuplicateTensor, TensorSizeMismatch, TensorOverlap (tensors overlap or leave gaps),
// UnsupportedSourceType.
WEFT_API std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path);
std::map<std::string, Tensor> read_safetensors(const FileBytes& file, const std::string& source);

}  // namespace weft
