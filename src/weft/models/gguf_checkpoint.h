// A GGUF file as a checkpoint: names and row orders made canonical, everything else left where it is mapped.
#pragma once

#include <memory>
#include <unordered_map>

#include "weft/formats/gguf_file.h"
#include "weft/models/checkpoint.h"
#include "weft/models/tensor_names.h"

namespace weft {

class GgufCheckpoint final : public Checkpoint {
 public:
  // UnmappedTensor for a name that no rule makes canonical, and what config_from_gguf() refuses.
  explicit GgufCheckpoint(GgufFile file);

  Tensor find(const std::string& name) const override;
  Vocabulary vocabulary() const override;
  Graph graph() const override;

 private:
  struct Source {
    const GgufTensor* tensor;
    TensorTransform transform;
  };
  GgufFile file_;
  std::unordered_map<std::string, Source> sources_;
};

}  // namespace weft
