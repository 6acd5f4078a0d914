// Where an executor gets the weights that a graph's Param nodes name. Read while a graph is prepared, never later.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "weft/base/export.h"
#include "weft/base/tensor.h"

namespace weft {

class WEFT_API WeightSource {
 public:
  virtual ~WeightSource() = default;
  // The tensor, as the file holds it (packed types stay packed), or an undefined one when there is none.
  virtual Tensor find(const std::string& name) const = 0;
};

class WEFT_API WeightMap final : public WeightSource {
 public:
  WeightMap() = default;
  explicit WeightMap(std::map<std::string, Tensor> tensors) : tensors_(std::move(tensors)) {}
  void set(std::string name, Tensor tensor) { tensors_.insert_or_assign(std::move(name), std::move(tensor)); }
  Tensor find(const std::string& name) const override {
    const auto it = tensors_.find(name);
    return it == tensors_.end() ? Tensor() : it->second;
  }

 private:
  std::map<std::string, Tensor> tensors_;
};

}  // namespace weft
