#include "weft/formats/graph_ir/kv_rows.h"

#include "weft/base/fail.h"

namespace weft::graph_ir {
namespace {

struct Reader {
  Dim kv_heads, head_dim;
};

// The heads of the attentions that read the cache; they must agree.
std::optional<Reader> attention_reader(const RuleContext& c, std::size_t output) {
  std::optional<Reader> reader;
  const auto uses = c.uses.find(c.node.outputs[output]);
  if (uses == c.uses.end()) return reader;
  for (const Use& use : uses->second) {
    const Node& node = c.graph.nodes[use.node];
    if ((node.op.tag != Tag::sdpa && node.op.tag != Tag::flash_attention) || (use.input != 1 && use.input != 2))
      continue;
    const Reader next{node.op.get<std::uint32_t>("kv_heads"), node.op.get<std::uint32_t>("head_dim")};
    if (reader && times(reader->kv_heads, reader->head_dim) != times(next.kv_heads, next.head_dim))
      c.mismatch(fmt::format("\"{}\" is read as rows of {} x {} and of {} x {} by two attentions",
                             c.node.outputs[output], reader->kv_heads, reader->head_dim, next.kv_heads, next.head_dim));
    reader = next;
  }
  return reader;
}

}  // namespace

KvRows kv_rows(const RuleContext& c, std::size_t input) {
  KvRows result;
  const auto reader = attention_reader(c, input);
  if (reader) result.width = times(reader->kv_heads, reader->head_dim);
  c.require_rank(input, 1, 4);
  const Shape* shape = c.shape(input);
  if (shape == nullptr) return result;
  const std::size_t rank = shape->size();
  if (!reader) result.width = rank >= 3 ? times((*shape)[rank - 2], (*shape)[rank - 1]) : shape->back();
  result.batched = rank == 4;
  if (reader && rank >= 3) {
    result.read_as_heads = true;
    const auto layouts = head_layouts(*shape, reader->kv_heads, reader->head_dim);
    if (layouts.empty())
      c.mismatch(fmt::format("{} holds no {} heads of {}, as the attention that reads the cache wants them",
                             c.operand(input), reader->kv_heads, reader->head_dim));
    if (const auto settled = settled_layout(layouts)) result.layout = settled->layout;
    result.batched |= result.layout == HeadLayout::bsf;
  }
  if (result.batched && known((*shape)[0]) && (*shape)[0] != 1)
    fail(ErrorKind::shape_mismatch, "KvBatch", "", "{} must hold one sequence, found a batch of {}", c.operand(input),
         (*shape)[0]);
  const Dim count = numel(*shape);
  if (!known(count) || !known(result.width)) return result;
  if (result.width == 0 || count % result.width != 0)
    fail(ErrorKind::shape_mismatch, "KvRowWidthChanged", "", "the {} elements of {} do not fill rows of {}", count,
         c.operand(input), result.width);
  result.rows = count / result.width;
  return result;
}

Dim packed_row_bytes(const Op& op) {
  const std::uint64_t bits = std::uint64_t{op.get<std::uint32_t>("head_dim")} * op.get<std::uint32_t>("bits");
  return static_cast<Dim>(4 + (bits + 7) / 8);
}

}  // namespace weft::graph_ir
