// A `.model` as a checkpoint. Runs the graph that the file stores: the Graph IR section, else the MIR section; a file
// with neither runs by the builder of its architecture. A stored graph that is damaged is an error, never replaced.
#pragma once

#include "weft/formats/model_file.h"
#include "weft/models/checkpoint.h"

namespace weft {

class ModelCheckpoint final : public Checkpoint {
 public:
  explicit ModelCheckpoint(ModelFile file);

  Tensor find(const std::string& name) const override;
  Vocabulary vocabulary() const override { return file_.vocabulary(); }
  void finish_verification() const override { file_.finish_verification(); }
  Graph graph() const override;

 private:
  ModelFile file_;
};

}  // namespace weft
