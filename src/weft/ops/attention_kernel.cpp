// The reference kernel of Attention: blocks of queries over tiles of 512 keys, each tile's softmax against its own
// maximum, the tiles joined in order. Tiles start at fixed keys, and each score and each weighted sum of a tile is one
// sum in ascending order, so how queries are blocked never shows in the result; scratch does not grow with the keys.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "weft/base/block_codec.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ops/attention.h"
#include "weft/ops/attention_layout.h"
#include "weft/ops/element.h"
#include "weft/ops/panel_dot.h"

namespace weft::ops {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr std::int64_t tile_keys = 512;
constexpr std::int64_t block_rows = 32;  // queries of a block times the heads that share their keys, as far as possible
constexpr std::int64_t worthwhile_products = 1 << 16;

struct KeyRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

// A mask or bias that broadcasts to [B, H, Sq, Sk].
struct ScoreOperand {
  const Tensor* tensor = nullptr;
  std::array<std::int64_t, 4> steps{};

  ScoreOperand() = default;
  ScoreOperand(const Tensor& operand, bool batch_first) : tensor(&operand) {
    const auto own = strides_of(operand.dims());
    for (std::size_t i = 0; i < own.size(); ++i)
      if (operand.dim(i) != 1) steps[batch_first && i == 0 ? 0 : 4 - own.size() + i] = own[i];
  }
  void load(std::int64_t b, std::int64_t h, std::int64_t i, KeyRange keys, std::vector<double>& values) const {
    values.resize(static_cast<std::size_t>(keys.size()));
    const std::int64_t row = b * steps[0] + h * steps[1] + i * steps[2];
    if (steps[3] != 0) return load_f64(*tensor, row + keys.begin, values);
    double same = 0;
    load_f64(*tensor, row, {&same, 1});
    std::fill(values.begin(), values.end(), same);
  }
};

struct Problem {
  HeadSteps q, k, v, y;
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
      const std::int64_t reach = std::min(*window, k.tokens + q.tokens);
      range = {std::max<std::int64_t>(0, own - reach + 1), std::min(k.tokens, own + reach)};
    }
    if (causal) range.end = std::min(k.tokens, own + 1);
    range.end = std::max(range.end, std::int64_t{0});
    range.begin = std::min(range.begin, range.end);
    return range;
  }
};

// Stretches of a tensor as P without a copy where they are P already. The result lives until the next call.
template <class P>
class Stretches {
 public:
  explicit Stretches(const Tensor& tensor) : tensor_(tensor), info_(dtype_info(tensor.dtype())) {}

  const P* at(std::int64_t element, std::int64_t count) {
    if (tensor_.dtype() == (sizeof(P) == 4 ? DType::f32 : DType::f64))
      return reinterpret_cast<const P*>(tensor_.bytes().data()) + element;
    if constexpr (std::is_same_v<P, double>) {
      if (tensor_.dtype() == DType::f32) {
        wide_.resize(static_cast<std::size_t>(count));
        load_f64(tensor_, element, wide_);
        return wide_.data();
      }
      const float* values = decode(element, count);
      wide_.assign(values, values + count);
      return wide_.data();
    } else {
      return decode(element, count);
    }
  }

 private:
  // Whole blocks around the stretch.
  const float* decode(std::int64_t element, std::int64_t count) {
    const auto block = static_cast<std::int64_t>(info_.block);
    const std::int64_t first = element / block, last = (element + count + block - 1) / block;
    decoded_.resize(static_cast<std::size_t>((last - first) * block));
    const auto bytes = tensor_.bytes().subspan(static_cast<std::size_t>(first) * info_.block_bytes,
                                               static_cast<std::size_t>(last - first) * info_.block_bytes);
    decode_to_f32(tensor_.dtype(), bytes, decoded_);
    return decoded_.data() + (element - first * block);
  }

  const Tensor& tensor_;
  const DTypeInfo& info_;
  std::vector<float> decoded_;
  std::vector<double> wide_;
};

template <class P>
bool is_finite(P value) {
  using Bits = std::conditional_t<sizeof(P) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits exponent = std::bit_cast<Bits>(std::numeric_limits<P>::infinity());
  return (std::bit_cast<Bits>(value) & exponent) != exponent;
}

// A softmax so far: weights are exp(z - highest), `sum` is theirs.
struct Softmax {
  double highest = minus_infinity, sum = 0;
};

// How two partial results are scaled before they are added.
struct Joint {
  double left = 1, right = 0;
};

Joint join(Softmax& total, const Softmax& part) {
  const double highest = std::max(total.highest, part.highest);
  const Joint joint{std::exp(total.highest - highest), std::exp(part.highest - highest)};
  total = {highest, total.sum * joint.left + part.sum * joint.right};
  return joint;
}

// Queries [first, first + count) of the heads that read one key head. Scratch of one thread.
template <class P>
class Block {
 public:
  Block(const KernelContext& context, const Problem& problem)
      : context_(context), p_(problem), keys_(context.input(1)), values_(context.input(2)) {}

  void run(std::int64_t b, std::int64_t kv_head, std::int64_t first, std::int64_t count) {
    b_ = b, kv_head_ = kv_head, first_ = first, count_ = count;
    rows_ = p_.group() * count;
    const auto rows = static_cast<std::size_t>(rows_);
    load_queries();
    totals_.assign(rows, {});
    results_.assign(rows * static_cast<std::size_t>(p_.v.width), 0.0);
    sums_.resize(static_cast<std::size_t>(rows_ * panel_lanes));
    // Room for a whole tile from the start: what a query costs does not depend on how many keys there are.
    weights_.reserve(rows * tile_keys);
    const std::int64_t panels = (p_.v.width + panel_lanes - 1) / panel_lanes;
    value_panels_.reserve(static_cast<std::size_t>(panels * tile_keys * panel_lanes));
    if (p_.mask.tensor != nullptr) mask_.reserve(tile_keys);
    if (p_.bias.tensor != nullptr) bias_.reserve(tile_keys);
    // Both ends move on with the query.
    const KeyRange all{p_.visible(first).begin, p_.visible(first + count - 1).end};
    for (std::int64_t tile = all.begin / tile_keys * tile_keys; tile < all.end; tile += tile_keys)
      add_tile({std::max(tile, all.begin), std::min(tile + tile_keys, all.end)});
    for (std::int64_t row = 0; row < rows_; ++row) finish(row);
  }

 private:
  std::int64_t head(std::int64_t row) const { return kv_head_ * p_.group() + row / count_; }
  std::int64_t query(std::int64_t row) const { return first_ + row % count_; }
  double* result(std::int64_t row) { return results_.data() + row * p_.v.width; }

  void load_queries() {
    const auto width = static_cast<std::size_t>(p_.q.width);
    queries_.resize(static_cast<std::size_t>(rows_) * width);
    for (std::int64_t row = 0; row < rows_; ++row)
      load_f64(context_.input(0), p_.q.at(b_, head(row), query(row)),
               std::span(queries_).subspan(static_cast<std::size_t>(row) * width, width));
  }

  void add_tile(KeyRange keys) {
    score(keys);
    joints_.resize(static_cast<std::size_t>(rows_));
    for (std::int64_t row = 0; row < rows_; ++row) {
      const auto r = static_cast<std::size_t>(row);
      const auto part = weigh(row, keys);
      joints_[r] = part ? join(totals_[r], *part) : Joint{};
    }
    pack_values(keys);
    for (std::int64_t column = 0; column < p_.v.width; column += panel_lanes) {
      sum_values(keys, column);
      const std::int64_t lanes = std::min(panel_lanes, p_.v.width - column);
      for (std::int64_t row = 0; row < rows_; ++row) {
        const Joint& joint = joints_[static_cast<std::size_t>(row)];
        if (joint.left == 1 && joint.right == 0) continue;  // nothing of the tile is seen, or all of it underflows
        double* y = result(row) + column;
        for (std::int64_t lane = 0; lane < lanes; ++lane)
          y[lane] = y[lane] * joint.left + sums_[static_cast<std::size_t>(row * panel_lanes + lane)] * joint.right;
      }
    }
  }

  // weights_[row][key] = q . k
  void score(KeyRange keys) {
    const std::int64_t width = p_.k.width;
    weights_.resize(static_cast<std::size_t>(rows_ * keys.size()));
    panel_.resize(static_cast<std::size_t>(width * panel_lanes));
    copies_.resize(panel_.size());
    for (std::int64_t j = keys.begin; j < keys.end; j += panel_lanes) {
      const std::int64_t lanes = std::min(panel_lanes, keys.end - j);
      const P* rows[panel_lanes] = {};
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        P* copy = copies_.data() + lane * width;
        std::copy_n(keys_.at(p_.k.at(b_, kv_head_, j + lane), width), width, copy);
        rows[lane] = copy;
      }
      pack_panel(rows, width, panel_.data());
      std::fill(sums_.begin(), sums_.end(), 0.0);
      panel_dot(panel_.data(), queries_.data(), p_.q.width, rows_, width, sums_.data());
      for (std::int64_t row = 0; row < rows_; ++row)
        std::copy_n(sums_.data() + row * panel_lanes, lanes, weights_.data() + row * keys.size() + (j - keys.begin));
    }
  }

  // Turns the products of one query into weights, hidden keys into zeros. Nothing when it sees no key of the tile.
  std::optional<Softmax> weigh(std::int64_t row, KeyRange keys) {
    const std::span<double> z(weights_.data() + row * keys.size(), static_cast<std::size_t>(keys.size()));
    const KeyRange seen = p_.visible(query(row));
    if (p_.mask.tensor != nullptr) p_.mask.load(b_, head(row), query(row), keys, mask_);
    if (p_.bias.tensor != nullptr) p_.bias.load(b_, head(row), query(row), keys, bias_);
    Softmax part;
    bool any = false;
    for (std::size_t i = 0; i < z.size(); ++i) {
      const std::int64_t j = keys.begin + static_cast<std::int64_t>(i);
      if (j < seen.begin || j >= seen.end || (p_.mask.tensor != nullptr && !(mask_[i] >= 0.5))) {
        z[i] = minus_infinity;
        continue;
      }
      z[i] *= p_.scale;
      if (p_.softcap) z[i] = *p_.softcap * std::tanh(z[i] / *p_.softcap);
      if (p_.bias.tensor != nullptr) z[i] += bias_[i];
      if (z[i] > part.highest) part.highest = z[i];
      any = any || z[i] != minus_infinity;
    }
    if (!any) {
      std::fill(z.begin(), z.end(), 0.0);
      return std::nullopt;
    }
    for (double& w : z) {
      w = w == minus_infinity ? 0 : std::exp(w - part.highest);
      part.sum += w;
    }
    return part;
  }

  // Sixteen columns after the other: [column / 16][key][16].
  void pack_values(KeyRange keys) {
    const std::int64_t panels = (p_.v.width + panel_lanes - 1) / panel_lanes;
    value_panels_.assign(static_cast<std::size_t>(panels * keys.size() * panel_lanes), P{0});
    values_are_finite_ = true;
    for (std::int64_t j = 0; j < keys.size(); ++j) {
      const P* from = values_.at(p_.v.at(b_, kv_head_, keys.begin + j), p_.v.width);
      for (std::int64_t d = 0; d < p_.v.width; ++d) values_are_finite_ &= is_finite(from[d]);
      for (std::int64_t column = 0; column < p_.v.width; column += panel_lanes)
        std::copy_n(from + column, std::min(panel_lanes, p_.v.width - column),
                    value_panels_.data() + column * keys.size() + j * panel_lanes);
    }
  }

  void sum_values(KeyRange keys, std::int64_t column) {
    const P* panel = value_panels_.data() + column * keys.size();
    std::fill(sums_.begin(), sums_.end(), 0.0);
    if (values_are_finite_) {
      panel_dot(panel, weights_.data(), keys.size(), rows_, keys.size(), sums_.data());
      return;
    }
    // 0 * inf: a hidden key must not reach the sum.
    for (std::int64_t row = 0; row < rows_; ++row)
      for (std::int64_t j = 0; j < keys.size(); ++j)
        if (const double w = weights_[static_cast<std::size_t>(row * keys.size() + j)]; w != 0)
          for (std::int64_t lane = 0; lane < panel_lanes; ++lane)
            sums_[static_cast<std::size_t>(row * panel_lanes + lane)] +=
                w * static_cast<double>(panel[j * panel_lanes + lane]);
  }

  void finish(std::int64_t row) {
    Softmax& total = totals_[static_cast<std::size_t>(row)];
    const std::span<double> y(result(row), static_cast<std::size_t>(p_.v.width));
    if (!p_.sink.empty()) {
      const double sink = p_.sink[static_cast<std::size_t>(head(row))];
      if (sink != minus_infinity) {
        const Joint joint = join(total, {sink, 1});
        for (double& value : y) value *= joint.left;
      }
    }
    if (total.sum != 0)
      for (double& value : y) value /= total.sum;
    store_f64(context_.output(0), p_.y.at(b_, head(row), query(row)), y);
  }

  const KernelContext& context_;
  const Problem& p_;
  Stretches<P> keys_, values_;
  std::int64_t b_ = 0, kv_head_ = 0, first_ = 0, count_ = 0, rows_ = 0;
  std::vector<double> queries_, weights_, sums_, results_, mask_, bias_;
  std::vector<Softmax> totals_;
  std::vector<Joint> joints_;
  std::vector<P> panel_, copies_, value_panels_;
  bool values_are_finite_ = true;
};

template <class P>
void run_blocks(const KernelContext& context, const Problem& p) {
  const std::int64_t queries =
      std::clamp<std::int64_t>(block_rows / p.group(), 1, std::max<std::int64_t>(1, p.q.tokens));
  const std::int64_t blocks = (p.q.tokens + queries - 1) / queries;
  const std::int64_t products = std::max<std::int64_t>(1, queries * p.group() * p.k.tokens * (p.k.width + p.v.width));
  context.pool().parallel_for(
      p.q.batch * p.k.heads * blocks, worthwhile_products / products + 1, [&](std::int64_t begin, std::int64_t end) {
        Block<P> block(context, p);
        for (std::int64_t item = begin; item < end; ++item) {
          const std::int64_t first = item % blocks * queries;
          block.run(item / blocks / p.k.heads, item / blocks % p.k.heads, first, std::min(queries, p.q.tokens - first));
        }
      });
}

}  // namespace

void run_attention(const KernelContext& context) {
  const Problem problem(context);
  if (problem.causal && context.node().boolean("strict") && problem.k.tokens < problem.q.tokens)
    fail(ErrorKind::shape_mismatch, "ShapeMismatch", context.where(),
         "causal attention of {} queries over {} keys: the first queries see nothing", problem.q.tokens,
         problem.k.tokens);
  const bool wide = context.input(1).dtype() == DType::f64 || context.input(2).dtype() == DType::f64;
  wide ? run_blocks<double>(context, problem) : run_blocks<float>(context, problem);
}

}  // namespace weft::ops
