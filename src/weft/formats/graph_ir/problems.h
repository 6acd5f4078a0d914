// Collecting the problems of one load stage, and throwing them together. Internal to the room.
#pragma once

#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/formats/graph_ir/model.h"

namespace weft::graph_ir {

// "[Rope] node 3 (id 7)"
std::string node_place(const Node& node, std::size_t index);

class Problems {
 public:
  void add(ErrorKind kind, std::string code, std::string where, std::string message);
  // As many as one error reports: further ones are not worth looking for.
  bool full() const { return errors_.size() >= 32; }
  // Throws the first problem, with the others among its details.
  void throw_if_any() const;

 private:
  std::vector<Error> errors_;
};

}  // namespace weft::graph_ir
