#include "weft/formats/graph_ir/problems.h"

#include <utility>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/op_table.h"

namespace weft::graph_ir {

std::string node_place(const Node& node, std::size_t index) {
  const OpDef* def = find_op(static_cast<std::uint16_t>(node.op.tag));
  return fmt::format("[{}] node {} (id {})", def == nullptr ? "?" : def->name, index, node.id);
}

void Problems::add(ErrorKind kind, std::string code, std::string where, std::string message) {
  if (!full()) errors_.emplace_back(kind, std::move(code), std::move(where), std::move(message));
}

void Problems::throw_if_any() const {
  if (errors_.empty()) return;
  std::vector<std::string> details;
  for (std::size_t i = 1; i < errors_.size(); ++i)
    details.push_back(fmt::format("{}: {}", errors_[i].code(), errors_[i].what()));
  const Error& first = errors_.front();
  throw Error(first.kind(), first.code(), first.where(), first.message(), std::move(details));
}

}  // namespace weft::graph_ir
