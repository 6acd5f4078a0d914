#include "weft/models/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/mapped_file.h"
#include "weft/formats/gguf_vocabulary.h"
#include "weft/models/gguf_checkpoint.h"

namespace weft {

std::shared_ptr<const Checkpoint> Checkpoint::open(const std::filesystem::path& path) {
  return std::make_shared<GgufCheckpoint>(GgufFile::open(path));
}

Vocabulary Checkpoint::open_vocabulary(const std::filesystem::path& path) {
  return read_gguf_vocabulary(GgufFile::open(path));
}

std::optional<TensorType> Checkpoint::tensor_type(const std::string& name) const {
  const auto it = by_name_.find(name);
  if (it == by_name_.end()) return std::nullopt;
  return tensors_[it->second].type;
}

void Checkpoint::add_tensor(std::string name, TensorType type) {
  by_name_.emplace(name, tensors_.size());
  tensors_.push_back({std::move(name), std::move(type)});
}

}  // namespace weft
