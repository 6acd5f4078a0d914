// A checkpoint whose weights appear in another type, encoded each time one is asked for: for writers, not for running.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/models/checkpoint.h"
#include "weft/models/quantize_types.h"

namespace weft {

class ThreadPool;

class QuantizedCheckpoint final : public Checkpoint {
 public:
  // The source and the pool must outlive the checkpoint. Weights that become ternary get a scale a row beside them.
  QuantizedCheckpoint(const Checkpoint& source, const QuantizePlan& plan, ThreadPool& pool);

  const std::vector<QuantizedTensor>& chosen() const { return chosen_; }
  Tensor find(const std::string& name) const override;
  Vocabulary vocabulary() const override { return source_.vocabulary(); }
  void finish_verification() const override { source_.finish_verification(); }
  Graph graph() const override;

 private:
  const Checkpoint& source_;
  ThreadPool& pool_;
  std::vector<QuantizedTensor> chosen_;
  DType vectors_;
  std::map<std::string, DType> dtypes_;
  std::map<std::string, std::string> scale_of_;  // a scale's name, and that of its weight
};

}  // namespace weft
