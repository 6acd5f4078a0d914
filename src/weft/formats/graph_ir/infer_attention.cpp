// Shape rules of attention, its caches, positions and embeddings.
#include <algorithm>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/head_layout.h"
#include "weft/formats/graph_ir/infer_rules.h"
#include "weft/formats/graph_ir/kv_rows.h"

namespace weft::graph_ir {
namespace {

struct Extent {
  Dim batch = unknown_dim, tokens = unknown_dim;
};

// Batch and tokens of an operand, as far as its shape settles them.
Extent extent_of(const RuleContext& c, std::size_t input, Dim heads, Dim head_dim) {
  const Shape* shape = c.shape(input);
  if (shape == nullptr) return {};
  const auto layouts = head_layouts(*shape, heads, head_dim);
  if (layouts.empty())
    c.mismatch(fmt::format("{} holds no H = {} heads of D = {}; the arrangements are {}", c.operand(input), heads,
                           head_dim, head_layouts_text()));
  const auto settled = settled_layout(layouts);
  return settled ? Extent{settled->batch, settled->tokens} : Extent{};
}

struct Extents {
  Extent q, kv;
};

Extents check_operands(const RuleContext& c, Dim heads, Dim kv_heads, Dim head_dim) {
  const Extent q = extent_of(c, 0, heads, head_dim);
  const Extent k = extent_of(c, 1, kv_heads, head_dim), v = extent_of(c, 2, kv_heads, head_dim);
  for (const Extent* side : {&k, &v})
    if (side->batch != 1) c.unify(q.batch, side->batch, "the batches of Q and of K or V (unless theirs is 1)");
  const Extent kv{k.batch, c.unify(k.tokens, v.tokens, "the tokens of K and V")};
  return {q, kv};
}

bool is_causal(const Node& node) {
  if (node.op.tag == Tag::sdpa) return node.op.get<bool>("causal");
  return node.op.tag == Tag::flash_attention && attr_or_default<bool>(node, "causal");
}

}  // namespace

void infer_attention(RuleContext& c) {
  c.out[0].shape = c.in[0].shape;
  const Dim heads = c.node.op.get<std::uint32_t>("num_heads"), head_dim = c.node.op.get<std::uint32_t>("head_dim");
  const Dim kv_heads = c.node.op.tag == Tag::sdpa_cross ? heads : c.node.op.get<std::uint32_t>("kv_heads");
  const auto [q, kv] = check_operands(c, heads, kv_heads, head_dim);
  if (is_causal(c.node) && known(q.tokens) && known(kv.tokens) && kv.tokens < q.tokens)
    c.mismatch(fmt::format("causal attention needs at least as many keys as queries, found {} keys for {} queries",
                           kv.tokens, q.tokens));
  if (c.in.size() > 3) c.require_broadcasts_to(3, {q.batch, heads, q.tokens, kv.tokens}, "[B, H, Sq, Sk] =");
}

void infer_window_attention(RuleContext& c) {
  c.out[0].shape = c.in[0].shape;
  const Dim heads = c.node.op.get<std::uint32_t>("num_heads"), head_dim = c.node.op.get<std::uint32_t>("head_dim");
  const Dim window = c.node.op.get<std::uint32_t>("window_size");
  const auto [q, kv] = check_operands(c, heads, heads, head_dim);
  const Dim tokens = c.unify(q.tokens, kv.tokens, "the tokens of Q and K");
  c.require_rank(3, 3, 4);
  const Shape* bias = c.shape(3);
  if (bias == nullptr) return;
  const std::size_t rank = bias->size();
  c.unify((*bias)[rank - 3], heads, "the heads of bias and num_heads");
  c.unify((*bias)[rank - 2], window, "the rows of bias and window_size");
  c.unify((*bias)[rank - 1], window, "the columns of bias and window_size");
  if (rank == 4 && known(tokens))
    c.unify((*bias)[0], (tokens + window - 1) / window, "the windows of bias and of the tokens");
}

void infer_kv_cache(RuleContext& c) {
  Dim rows[2];
  for (std::size_t i = 0; i < 2; ++i) {
    c.out[i].dtype = c.in[i].dtype;
    const KvRows kv = kv_rows(c, i);
    c.out[i].shape = Shape{unknown_dim, kv.width};
    rows[i] = kv.rows;
  }
  c.unify(rows[0], rows[1], "the rows that K_new and V_new add");
}

void infer_kv_compress(RuleContext& c) {
  c.out[0].dtype = DType::u8;
  c.require_rank(0, 1, max_rank);
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  const Dim head_dim = c.node.op.get<std::uint32_t>("head_dim");
  Shape result = *x;
  if (known(result.back())) {
    if (result.back() == 0 || result.back() % head_dim != 0)
      c.mismatch(fmt::format("the last axis of {} must be a multiple of head_dim = {}", c.operand(0), head_dim));
    result.back() = result.back() / head_dim * packed_row_bytes(c.node.op);
  }
  c.out[0].shape = std::move(result);
}

void infer_kv_decompress(RuleContext& c) {
  c.require_rank(0, 1, max_rank);
  const Shape* packed = c.shape(0);
  if (packed == nullptr) return;
  Shape result = *packed;
  if (known(result.back())) {
    const Dim bytes = packed_row_bytes(c.node.op);
    if (result.back() == 0 || result.back() % bytes != 0)
      c.mismatch(fmt::format("the last axis of {} must be a multiple of {} bytes, those of one packed row",
                             c.operand(0), bytes));
    result.back() = times(result.back() / bytes, c.node.op.get<std::uint32_t>("head_dim"));
  }
  c.out[0].shape = std::move(result);
}

void infer_rope(RuleContext& c) {
  c.out[0].shape = c.in[0].shape;
  c.require_rank(0, 1, max_rank);
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  const Dim head_dim = c.node.op.get<std::uint32_t>("head_dim");
  Shape rows = *x;
  if (known(rows.back()) && rows.back() != head_dim) {
    if (rows.back() == 0 || rows.back() % head_dim != 0)
      c.mismatch(fmt::format("the last axis of {} must be head_dim = {} or a multiple of it", c.operand(0), head_dim));
    rows.back() /= head_dim;
    rows.push_back(head_dim);
  } else if (!known(rows.back())) {
    return;
  }
  const Shape* pos = c.shape(1);
  if (pos == nullptr) return;
  const Dim positions = numel(*pos);
  Dim tokens = unknown_dim;
  if (rows.size() <= 2)
    tokens = rows.size() == 2 ? rows[0] : 1;
  else if (attr_or_default<bool>(c.node, "head_major"))
    tokens = times(product(rows, 0, rows.size() - 3), rows[rows.size() - 2]);
  else
    tokens = product(rows, 0, rows.size() - 2);
  if (positions == 1 || !known(positions) || !known(tokens)) return;
  if (positions == 0 ? tokens != 0 : tokens % positions != 0)
    c.mismatch(fmt::format("{} gives {} positions, which do not divide the {} rows of {}", c.operand(1), positions,
                           tokens, c.operand(0)));
}

void infer_sinusoid(RuleContext& c) {
  const Shape* t = c.shape(0);
  if (t == nullptr) return;
  Shape result = t->empty() ? Shape{1} : *t;
  const auto dim = c.node.op.get<std::uint32_t>("dim");
  // Its frequencies are made as many before anything runs.
  if (dim > 1u << 20) c.bad_param("dim", fmt::format("must be at most 2^20, found {}", dim));
  result.push_back(dim);
  c.out[0].shape = std::move(result);
}

void infer_relative_pos(RuleContext& c) {
  c.require_rank(0, 2);
  const Dim buckets = c.node.op.get<std::uint32_t>("num_buckets");
  Dim heads = unknown_dim;
  if (const Shape* table = c.shape(0)) {
    if (!unified((*table)[0], buckets))
      c.bad_param("num_buckets", fmt::format("is {}, but {} has {} rows", buckets, c.operand(0), (*table)[0]));
    heads = (*table)[1];
  }
  if (c.in.size() == 2) {
    c.require_rank(1, 3, max_rank);
    const Shape* scores = c.shape(1);
    if (scores == nullptr) return;
    Shape result = *scores;
    Dim& own_heads = result[result.size() - 3];
    own_heads = c.unify(own_heads, heads, "the heads of scores and the columns of table");
    c.out[0].shape = std::move(result);
    return;
  }
  c.require_rank(1, 1);
  c.require_rank(2, 1);
  const Shape *q = c.shape(1), *k = c.shape(2);
  c.out[0].shape = Shape{1, heads, q == nullptr ? unknown_dim : (*q)[0], k == nullptr ? unknown_dim : (*k)[0]};
}

void infer_embed(RuleContext& c) {
  c.require_rank(1, 2);
  const Shape *ids = c.shape(0), *table = c.shape(1);
  if (ids == nullptr) return;
  Shape result = *ids;
  result.push_back(table == nullptr ? unknown_dim : (*table)[1]);
  c.out[0].shape = std::move(result);
}

}  // namespace weft::graph_ir
