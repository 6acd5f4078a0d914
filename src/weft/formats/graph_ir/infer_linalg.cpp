// Shape rules of matrix products, norms and what is fused from them.
#include <algorithm>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/infer_rules.h"

namespace weft::graph_ir {
namespace {

// x [..., K] times the transpose of W [N, K]; further leading axes of W broadcast with those of x.
std::optional<Shape> matmul_shape(const RuleContext& c, std::size_t x_input, std::size_t w_input) {
  c.require_rank(x_input, 1, max_rank);
  c.require_rank(w_input, 2, max_rank);
  const Shape *x = c.shape(x_input), *w = c.shape(w_input);
  if (x == nullptr || w == nullptr) return std::nullopt;
  c.unify(x->back(), w->back(), fmt::format("the last axes of {} and {}", c.slot(x_input), c.slot(w_input)));
  const Dim rows = (*w)[w->size() - 2];
  if (w->size() == 2) {
    Shape result = *x;
    result.back() = rows;
    return result;
  }
  const Shape w_batch(w->begin(), w->end() - 2);
  if (x->size() == 1) {
    Shape result = w_batch;
    result.push_back(rows);
    return result;
  }
  auto result = broadcast_shape(Shape(x->begin(), x->end() - 2), w_batch);
  if (!result)
    c.mismatch(fmt::format("the leading axes of {} and {} do not broadcast", c.operand(x_input), c.operand(w_input)));
  result->insert(result->end(), {(*x)[x->size() - 2], rows});
  return result;
}

void require_shape(const RuleContext& c, std::size_t input, const Shape& shape, std::string_view what) {
  if (const Shape* dims = c.shape(input)) c.unify(*dims, shape, what);
}

}  // namespace

void infer_matmul(RuleContext& c) { c.out[0].shape = matmul_shape(c, 0, 1); }

void infer_norm_matmul(RuleContext& c) {
  c.require_rank(0, 1, max_rank);
  if (const Shape* x = c.shape(0)) c.require_vector(1, x->back(), "the last axis of x");
  c.out[0].shape = matmul_shape(c, 0, 2);
}

void infer_skip_norm(RuleContext& c) {
  c.require_rank(0, 1, max_rank);
  const Shape *x = c.shape(0), *skip = c.shape(1);
  if (x == nullptr || skip == nullptr) return;
  Shape sum = c.unify(*x, *skip, "x and skip");
  sum.back() = c.require_vector(2, sum.back(), "the last axis of x");
  c.out[0].shape = c.out[1].shape = std::move(sum);
}

void infer_lora(RuleContext& c) {
  const bool has_y = c.in.size() == 4;
  const std::size_t x_input = has_y ? 1 : 0, down_input = x_input + 1, up_input = x_input + 2;
  c.require_rank(x_input, 1, max_rank);
  c.require_rank(down_input, 2);
  c.require_rank(up_input, 2);
  const Shape *x = c.shape(x_input), *down = c.shape(down_input), *up = c.shape(up_input);
  const Dim rank = c.node.op.get<std::uint32_t>("rank");
  if (down != nullptr && !unified((*down)[0], rank))
    c.bad_param("rank", fmt::format("is {}, but {} has {} rows", rank, c.operand(down_input), (*down)[0]));
  if (up != nullptr && !unified((*up)[1], rank))
    c.bad_param("rank", fmt::format("is {}, but {} has {} columns", rank, c.operand(up_input), (*up)[1]));
  if (x != nullptr && down != nullptr) c.unify(x->back(), (*down)[1], "the last axis of x and the columns of down");
  c.out[0].shape = c.in[0].shape;
  if (x == nullptr || up == nullptr || c.shape(0) == nullptr) return;
  Shape result = *x;
  result.back() = (*up)[0];
  c.out[0].shape = c.unify(*c.shape(0), result, has_y ? "y and the product" : "x and the product");
}

void infer_kron(RuleContext& c) {
  const Shape *a = c.shape(0), *b = c.shape(1);
  if (a == nullptr || b == nullptr) return;
  Shape result(std::max(a->size(), b->size()), 1);
  for (std::size_t i = 0; i < a->size(); ++i) result[result.size() - a->size() + i] = (*a)[i];
  for (std::size_t i = 0; i < b->size(); ++i) {
    Dim& dim = result[result.size() - b->size() + i];
    dim = times(dim, (*b)[i]);
  }
  c.out[0].shape = std::move(result);
}

void infer_inverse(RuleContext& c) {
  c.require_rank(0, 2, max_rank);
  const Shape* a = c.shape(0);
  if (a == nullptr) return;
  Shape result = *a;
  const std::size_t last = a->size() - 1;
  result[last] = result[last - 1] = c.unify((*a)[last - 1], (*a)[last], "the last two axes of A");
  c.out[0].shape = std::move(result);
}

void infer_last_axis_norm(RuleContext& c) {
  c.require_rank(0, 1, max_rank);
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  Shape result = *x;
  for (std::size_t i = 1; i < c.in.size(); ++i)
    result.back() = c.require_vector(i, result.back(), "the last axis of x");
  c.out[0].shape = std::move(result);
}

void infer_channel_norm(RuleContext& c) {
  const bool batch = c.node.op.tag == Tag::batch_norm;
  c.require_rank(0, batch ? 1 : 2, max_rank);
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  Shape result = *x;
  Dim& channels = result[x->size() == 1 ? 0 : 1];
  for (std::size_t i = 1; i < c.in.size(); ++i) channels = c.require_vector(i, channels, "the channels of x");
  if (c.node.op.tag == Tag::group_norm) {
    const Dim groups = c.node.op.get<std::uint32_t>("num_groups");
    if (known(channels) && channels % groups != 0)
      c.mismatch(fmt::format("{} channels of {} cannot be cut into {} equal groups", channels, c.operand(0), groups));
  }
  c.out[0].shape = std::move(result);
}

void infer_ada_ln(RuleContext& c) {
  c.require_rank(0, 1, max_rank);
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  for (const std::size_t input : {1, 2}) {
    const Shape* dims = c.shape(input);
    if (dims == nullptr) continue;
    const std::string what = fmt::format("{} and x", c.slot(input));
    if (dims->size() == 1) {
      c.require_vector(input, x->back(), "the last axis of x");
    } else if (dims->size() == 2 && x->size() > 2) {
      require_shape(c, input, {x->front(), x->back()}, what + " (its first and last axis)");
    } else {
      require_shape(c, input, *x, what);
    }
  }
  c.out[0].shape = *x;
}

}  // namespace weft::graph_ir
