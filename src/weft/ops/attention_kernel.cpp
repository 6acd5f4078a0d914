// The reference kernel of Attention: blocks of queries, sixteen keys or value columns side by side. How queries are
// blocked never shows in the result: each score and each output element is one sum in ascending order.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "weft/base/fail.h"
#include "weft/ops/attention.h"
#include "weft/ops/attention_layout.h"
#include "weft/ops/element.h"
#include "weft/ops/float_rows.h"
#include "weft/ops/panel_dot.h"

namespace weft::ops {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr std::int64_t most_rows = 32;                       // queries of a block times the heads that share their keys
constexpr std::int64_t most_scores = std::int64_t{1} << 22;  // of a block
constexpr std::int64_t worthwhile_products = 1 << 16;

// Sizes and steps, in elements, of one operand.
struct Heads {
  std::int64_t batch = 1, heads = 1, tokens = 1, width = 1;
  std::int64_t batch_step = 0, head_step = 0, token_step = 0;

  Heads(const std::vector<std::int64_t>& dims, const std::string& layout, std::int64_t head_count) : heads(head_count) {
    const auto sizes = head_dims(Shape(dims), layout, head_count);
    batch = *sizes->batch.value();
    tokens = *sizes->tokens.value();
    width = *sizes->width.value();
    const bool head_major = is_head_major(layout);
    head_step = head_major ? tokens * width : width;
    token_step = head_major ? width : heads * width;
    batch_step = batch == 1 ? 0 : heads * tokens * width;
  }
  std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t s) const {
    return b * batch_step + h * head_step + s * token_step;
  }
};

// Values that broadcast to [B, H, Sq, Sk].
struct ScoreOperand {
  std::vector<double> values;
  std::array<std::int64_t, 4> steps{};

  ScoreOperand() = default;
  ScoreOperand(const Tensor& tensor, bool batch_first) : values(load_f64(tensor)) {
    const auto own = strides_of(tensor.dims());
    for (std::size_t i = 0; i < own.size(); ++i)
      if (tensor.dim(i) != 1) steps[batch_first && i == 0 ? 0 : 4 - own.size() + i] = own[i];
  }
  bool present() const { return !values.empty(); }
  const double* row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return values.data() + b * steps[0] + h * steps[1] + i * steps[2];
  }
};

struct KeyRange {
  std::int64_t begin = 0, end = 0;
};

struct Problem {
  Heads q, k, v, y;
  bool causal = false;
  std::optional<std::int64_t> window;
  double scale = 1;
  std::optional<double> softcap;
  ScoreOperand mask, bias;
  std::vector<double> sink;

  explicit Problem(const KernelContext& context)
      : q(context.input(0).dims(), context.node().text("layout"), context.node().integer("num_heads")),
        k(context.input(1).dims(), context.node().text("k_layout"), *context.node().optional_integer("num_kv_heads")),
        v(context.input(2).dims(), context.node().text("v_layout"), *context.node().optional_integer("num_kv_heads")),
        y(context.output(0).dims(), context.node().text("layout"), context.node().integer("num_heads")) {
    const Node& node = context.node();
    causal = node.boolean("causal");
    window = node.optional_integer("window_keys");
    scale = node.optional_real("scale").value_or(1 / std::sqrt(static_cast<double>(node.integer("head_dim"))));
    softcap = node.optional_real("softcap");
    if (context.has(3)) mask = ScoreOperand(context.input(3), node.text("mask_axes") == "batch");
    if (context.has(4)) bias = ScoreOperand(context.input(4), false);
    if (context.has(5)) sink = load_f64(context.input(5));
  }

  std::int64_t group() const { return q.heads / k.heads; }

  // Keys that query i may see, masks aside.
  KeyRange visible(std::int64_t i) const {
    const std::int64_t own = k.tokens - q.tokens + i;
    KeyRange range{0, k.tokens};
    if (window) {
      range.begin = std::max<std::int64_t>(0, own - std::min(*window, k.tokens + q.tokens) + 1);
      range.end = std::min(k.tokens, own + std::min(*window, k.tokens + q.tokens));
    }
    if (causal) range.end = std::min(k.tokens, own + 1);
    range.end = std::max(range.end, std::int64_t{0});
    range.begin = std::min(range.begin, range.end);
    return range;
  }
};

// Turns the products q.k of one query into weights, in place; `weights[0]` belongs to key `first`. Returns their sum.
double weigh(const Problem& p, std::int64_t b, std::int64_t h, std::int64_t i, KeyRange block, double* weights) {
  const KeyRange seen = p.visible(i);
  const double* mask = p.mask.present() ? p.mask.row(b, h, i) : nullptr;
  const double* bias = p.bias.present() ? p.bias.row(b, h, i) : nullptr;
  double highest = p.sink.empty() ? minus_infinity : p.sink[static_cast<std::size_t>(h)];
  bool any = highest != minus_infinity;
  for (std::int64_t j = block.begin; j < block.end; ++j) {
    double& z = weights[j - block.begin];
    if (j < seen.begin || j >= seen.end || (mask != nullptr && !(mask[j * p.mask.steps[3]] >= 0.5))) {
      z = minus_infinity;
      continue;
    }
    z *= p.scale;
    if (p.softcap) z = *p.softcap * std::tanh(z / *p.softcap);
    if (bias != nullptr) z += bias[j * p.bias.steps[3]];
    if (z > highest) highest = z;
    any = any || z != minus_infinity;
  }
  double sum = 0;
  for (std::int64_t j = block.begin; j < block.end; ++j) {
    double& w = weights[j - block.begin];
    w = w == minus_infinity ? 0 : std::exp(w - highest);
    sum += w;
  }
  if (!p.sink.empty() && any) sum += std::exp(p.sink[static_cast<std::size_t>(h)] - highest);
  return sum;
}

template <class P>
bool is_finite(P value) {
  using Bits = std::conditional_t<sizeof(P) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits exponent = std::bit_cast<Bits>(std::numeric_limits<P>::infinity());
  return (std::bit_cast<Bits>(value) & exponent) != exponent;
}

// Queries [first, first + count) of the heads that read one key head. Scratch of one thread.
template <class P>
class Block {
 public:
  Block(const KernelContext& context, const Problem& problem, const P* keys, const P* values)
      : context_(context), p_(problem), keys_(keys), values_(values) {}

  void run(std::int64_t b, std::int64_t kv_head, std::int64_t first, std::int64_t count) {
    rows_ = p_.group() * count;
    // Both ends move on with the query.
    range_ = {p_.visible(first).begin, p_.visible(first + count - 1).end};
    range_.begin = std::min(range_.begin, range_.end);
    const std::int64_t keys = range_.end - range_.begin;
    load_queries(b, kv_head, first, count);
    weights_.resize(static_cast<std::size_t>(rows_ * keys));
    score_keys(b, kv_head);
    totals_.resize(static_cast<std::size_t>(rows_));
    for (std::int64_t row = 0; row < rows_; ++row)
      totals_[static_cast<std::size_t>(row)] =
          weigh(p_, b, kv_head * p_.group() + row / count, first + row % count, range_, weights_.data() + row * keys);
    for (std::int64_t column = 0; column < p_.v.width; column += panel_lanes) {
      const std::int64_t lanes = std::min(panel_lanes, p_.v.width - column);
      sum_values(b, kv_head, column, lanes);
      for (std::int64_t row = 0; row < rows_; ++row) {
        double* sums = sums_.data() + row * panel_lanes;
        const double total = totals_[static_cast<std::size_t>(row)];
        for (std::int64_t lane = 0; lane < lanes; ++lane) sums[lane] = total == 0 ? 0 : sums[lane] / total;
        store_row(context_.output(0), p_.y.at(b, kv_head * p_.group() + row / count, first + row % count) + column,
                  {sums, static_cast<std::size_t>(lanes)});
      }
    }
  }

 private:
  void load_queries(std::int64_t b, std::int64_t kv_head, std::int64_t first, std::int64_t count) {
    const auto width = static_cast<std::size_t>(p_.q.width);
    queries_.resize(static_cast<std::size_t>(rows_) * width);
    for (std::int64_t row = 0; row < rows_; ++row)
      load_row(context_.input(0), p_.q.at(b, kv_head * p_.group() + row / count, first + row % count),
               std::span(queries_).subspan(static_cast<std::size_t>(row) * width, width));
  }

  void score_keys(std::int64_t b, std::int64_t kv_head) {
    const std::int64_t keys = range_.end - range_.begin;
    panel_.resize(static_cast<std::size_t>(p_.k.width * panel_lanes));
    sums_.resize(static_cast<std::size_t>(rows_ * panel_lanes));
    for (std::int64_t j = range_.begin; j < range_.end; j += panel_lanes) {
      const std::int64_t lanes = std::min(panel_lanes, range_.end - j);
      const P* rows[panel_lanes] = {};
      for (std::int64_t lane = 0; lane < lanes; ++lane) rows[lane] = keys_ + p_.k.at(b, kv_head, j + lane);
      pack_panel(rows, p_.k.width, panel_.data());
      std::fill(sums_.begin(), sums_.end(), 0.0);
      panel_dot(panel_.data(), queries_.data(), p_.q.width, rows_, p_.k.width, sums_.data());
      for (std::int64_t row = 0; row < rows_; ++row)
        std::copy_n(sums_.data() + row * panel_lanes, lanes, weights_.data() + row * keys + (j - range_.begin));
    }
  }

  // Weighted sums of sixteen columns of the values, over all keys of the block.
  void sum_values(std::int64_t b, std::int64_t kv_head, std::int64_t column, std::int64_t lanes) {
    const std::int64_t keys = range_.end - range_.begin;
    panel_.resize(static_cast<std::size_t>(keys * panel_lanes));
    bool finite = true;
    for (std::int64_t j = 0; j < keys; ++j) {
      const P* from = values_ + p_.v.at(b, kv_head, range_.begin + j) + column;
      P* to = panel_.data() + j * panel_lanes;
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        to[lane] = from[lane];
        finite &= is_finite(from[lane]);
      }
      std::fill(to + lanes, to + panel_lanes, P{0});
    }
    std::fill(sums_.begin(), sums_.end(), 0.0);
    if (finite) {
      panel_dot(panel_.data(), weights_.data(), keys, rows_, keys, sums_.data());
      return;
    }
    // 0 * inf: a hidden key must not reach the sum.
    for (std::int64_t row = 0; row < rows_; ++row)
      for (std::int64_t j = 0; j < keys; ++j)
        if (const double w = weights_[static_cast<std::size_t>(row * keys + j)]; w != 0)
          for (std::int64_t lane = 0; lane < panel_lanes; ++lane)
            sums_[static_cast<std::size_t>(row * panel_lanes + lane)] +=
                w * static_cast<double>(panel_[static_cast<std::size_t>(j * panel_lanes + lane)]);
  }

  const KernelContext& context_;
  const Problem& p_;
  const P *keys_, *values_;
  std::int64_t rows_ = 0;
  KeyRange range_;
  std::vector<double> queries_, weights_, totals_, sums_;
  std::vector<P> panel_;
};

template <class P>
void run_blocks(const KernelContext& context, const Problem& p, const P* keys, const P* values) {
  const std::int64_t by_memory = most_scores / std::max<std::int64_t>(1, p.group() * p.k.tokens);
  const std::int64_t queries =
      std::clamp<std::int64_t>(std::min(most_rows / p.group(), by_memory), 1, std::max<std::int64_t>(1, p.q.tokens));
  const std::int64_t blocks = (p.q.tokens + queries - 1) / queries;
  const std::int64_t products = std::max<std::int64_t>(1, queries * p.group() * p.k.tokens * (p.k.width + p.v.width));
  context.pool().parallel_for(
      p.q.batch * p.k.heads * blocks, worthwhile_products / products + 1, [&](std::int64_t begin, std::int64_t end) {
        Block<P> block(context, p, keys, values);
        for (std::int64_t item = begin; item < end; ++item) {
          const std::int64_t first = item % blocks * queries;
          block.run(item / blocks / p.k.heads, item / blocks % p.k.heads, first, std::min(queries, p.q.tokens - first));
        }
      });
}

}  // namespace

void run_attention(KernelContext& context) {
  const Problem problem(context);
  if (problem.causal && context.node().boolean("strict") && problem.k.tokens < problem.q.tokens)
    fail(ErrorKind::shape_mismatch, "ShapeMismatch", context.where(),
         "causal attention of {} queries over {} keys: the first queries see nothing", problem.q.tokens,
         problem.k.tokens);
  const Tensor &k = context.input(1), &v = context.input(2);
  if (k.dtype() == DType::f64 || v.dtype() == DType::f64) {
    const std::vector<double> keys = load_f64(k), values = load_f64(v);
    return run_blocks<double>(context, problem, keys.data(), values.data());
  }
  const Tensor keys = k.to_f32(), values = v.to_f32();
  run_blocks<float>(context, problem, keys.values<float>().data(), values.values<float>().data());
}

}  // namespace weft::ops
