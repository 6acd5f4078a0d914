// How the room reports problems: one by one, or those of a load stage collected and thrown together. Internal to the
// room.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/fail.h"
#include "weft/formats/graph_ir/model.h"

namespace weft::graph_ir {

// For what a graph holds and its target has no form for.
template <class... Args>
[[noreturn]] void not_representable(std::string where, fmt::format_string<Args...> message, Args&&... args) {
  fail(ErrorKind::not_representable, "NotRepresentable", std::move(where), message, std::forward<Args>(args)...);
}

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
