// Ops that move elements, as MIR.
#include <algorithm>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/lower.h"

namespace weft::graph_ir {
namespace {

using Words = std::vector<std::uint32_t>;

}  // namespace

void lower_permute(LowerContext& c) {
  const auto& axes = std::get<Words>(c.node.op.params[0]);
  c.result(0, c.transpose(c.kept(0), {axes.begin(), axes.end()}));
}

void lower_reshape(LowerContext& c) {
  c.result(0, c.emit("Reshape", {c.kept(0)}, {{"shape", c.node.op.get<std::vector<std::int64_t>>("shape")}}));
}

void lower_concat(LowerContext& c) {
  std::vector<Value> parts;
  for (std::size_t i = 0; i < c.input_count(); ++i) parts.push_back(c.kept(i));
  c.result(0, c.emit("Concat", std::move(parts), {{"axis", c.word("axis")}}));
}

void lower_split(LowerContext& c) {
  const auto& sizes = c.node.op.get<Words>("sizes");
  const std::int32_t node =
      c.emit_node("Split", {c.kept(0)},
                  {{"axis", c.word("axis")}, {"sizes", std::vector<std::int64_t>(sizes.begin(), sizes.end())}});
  for (std::size_t i = 0; i < c.node.outputs.size(); ++i) c.result(i, {node, static_cast<std::int32_t>(i)});
}

void lower_chunk(LowerContext& c) {
  const std::int32_t node = c.equal_pieces(c.kept(0), c.word("axis"), c.word("chunks"));
  for (std::size_t i = 0; i < c.node.outputs.size(); ++i) c.result(i, {node, static_cast<std::int32_t>(i)});
}

}  // namespace weft::graph_ir
