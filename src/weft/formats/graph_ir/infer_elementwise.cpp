// Shape rules of ops that keep a shape, broadcast, reduce or gate.
#include "weft/base/fail.h"
#include "weft/formats/graph_ir/infer_rules.h"

namespace weft::graph_ir {
namespace {

std::size_t resolve_axis(const RuleContext& c, std::int64_t axis, const Shape& shape, bool is_param) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (axis >= -rank && axis < rank) return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  const std::string reason = fmt::format("is {}, but {} has {} axes", axis, c.operand(0), rank);
  if (is_param) c.bad_param("dim", reason);
  c.bad_attr("dim", reason);
}

Shape without_axis(const Shape& shape, std::size_t axis) {
  Shape result = shape;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis));
  return result;
}

Shape with_last(const Shape& shape, Dim last) {
  Shape result = shape;
  result.back() = last;
  return result;
}

// x [..., K] through W [N, K]
Dim rows_of(const RuleContext& c, std::size_t weight, Dim columns) {
  const Shape* dims = c.shape(weight);
  if (dims == nullptr) return unknown_dim;
  c.require_rank(weight, 2);
  c.unify((*dims)[1], columns, fmt::format("the columns of {} and what it multiplies", c.slot(weight)));
  return (*dims)[0];
}

}  // namespace

void infer_same(RuleContext& c) { c.out[0].shape = c.in[0].shape; }

void infer_broadcast(RuleContext& c) {
  const Shape *a = c.shape(0), *b = c.shape(1);
  if (a == nullptr || b == nullptr) return;
  c.out[0].shape = broadcast_shape(*a, *b);
  if (!c.out[0].shape)
    c.mismatch(fmt::format("{} and {} do not broadcast: aligned at the right, two sizes must be equal or one of them 1",
                           c.operand(0), c.operand(1)));
}

void infer_softmax(RuleContext& c) {
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  resolve_axis(c, c.node.op.get<std::int32_t>("dim"), *x, true);
  c.out[0].shape = *x;
}

void infer_p_relu(RuleContext& c) {
  const Shape *x = c.shape(0), *slope = c.shape(1);
  if (x != nullptr && slope != nullptr) {
    c.require_rank(0, 1, max_rank);
    c.require_rank(1, 1);
    const Dim channels = (*x)[x->size() == 1 ? 0 : 1];
    if (slope->front() != 1)
      c.unify(slope->front(), channels, "the length of a (unless it is 1) and the channels of x");
  }
  c.out[0].shape = c.in[0].shape;
}

void infer_quantize(RuleContext& c) {
  c.out[0].shape = c.in[0].shape;
  c.out[0].dtype = c.node.op.get<DType>("dtype");
  const DTypeInfo& info = dtype_info(*c.out[0].dtype);
  const Shape* x = c.shape(0);
  if (x == nullptr || info.block == 1) return;
  c.require_rank(0, 1, max_rank);
  if (known(x->back()) && x->back() % info.block != 0)
    fail(ErrorKind::shape_mismatch, "BlockMisaligned", "",
         "the last axis of {} must be a multiple of {}, the block of {}", c.operand(0), info.block, info.name);
}

void infer_sample(RuleContext& c) {
  const Shape* logits = c.shape(0);
  if (logits == nullptr) return;
  c.require_rank(0, 1, max_rank);
  c.out[0].shape = without_axis(*logits, logits->size() - 1);
  if (const Shape* u = c.shape(1)) c.unify(numel(*u), numel(*c.out[0].shape), "the count of u and the rows of logits");
}

void infer_argmax(RuleContext& c) {
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  c.out[0].shape = without_axis(*x, resolve_axis(c, attr_or_default<std::int64_t>(c.node, "dim"), *x, false));
}

void infer_noise_schedule(RuleContext& c) {
  c.require_rank(1, 1);
  if (const Shape* table = c.shape(1); table != nullptr && table->front() == 0)
    c.mismatch(fmt::format("{} must have at least one entry", c.operand(1)));
  c.out[0].shape = c.in[0].shape;
}

void infer_flow_step(RuleContext& c) {
  if (const Shape* x = c.shape(0))
    for (std::size_t i = 1; i < c.in.size(); ++i) c.require_broadcasts_to(i, *x, "x");
  c.out[0].shape = c.in[0].shape;
}

void infer_gated(RuleContext& c) {
  const Shape* x = c.shape(0);
  if (x == nullptr) return;
  if (c.in.size() == 1) {
    const std::int64_t dim = c.node.op.tag == Tag::glu ? attr_or_default<std::int64_t>(c.node, "dim") : -1;
    const std::size_t axis = resolve_axis(c, dim, *x, false);
    const Dim size = (*x)[axis];
    if (known(size) && size % 2 != 0)
      c.mismatch(fmt::format("axis {} of {} is cut into two halves and must be even", axis, c.operand(0)));
    c.out[0].shape = *x;
    (*c.out[0].shape)[axis] = known(size) ? size / 2 : unknown_dim;
  } else if (c.in.size() == 2) {
    if (const Shape* other = c.shape(1)) c.out[0].shape = c.unify(*x, *other, "the two operands");
  } else {
    c.require_rank(0, 1, max_rank);
    const Dim gate = rows_of(c, 1, x->back()), up = rows_of(c, 2, x->back());
    const Dim inner = c.unify(gate, up, "the rows of Wg and Wu");
    c.out[0].shape = with_last(*x, c.in.size() == 4 ? rows_of(c, 3, inner) : inner);
  }
}

}  // namespace weft::graph_ir
