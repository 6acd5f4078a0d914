// Attention inside windows of consecutive tokens.
#include <cmath>
#include <limits>
#include <vector>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ops/attention.h"
#include "weft/ops/element.h"
#include "weft/ops/window_segments.h"

namespace weft::ops {
namespace {

enum WindowOperand : std::size_t { query, key, value, bias };

void infer_window_attention(InferContext& context) {
  const Node& node = context.node();
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();  // keeps products of sizes within 64 bits
  for (const char* count : {"num_heads", "head_dim", "window_size"})
    if (node.integer(count) < 1 || node.integer(count) > most)
      context.fail_attribute(count, fmt::format("it is {}, expected 1 to {}", node.integer(count), most));
  if (node.integer("shift") < 0) context.fail_attribute("shift", "expected 0 or more");
  if (const auto scale = node.optional_real("scale"); scale && !std::isfinite(*scale))
    context.fail_attribute("scale", "expected a finite number");
  const std::int64_t heads = node.integer("num_heads"), head_dim = node.integer("head_dim"),
                     window = node.integer("window_size");
  for (const std::size_t operand : {query, key, value}) {
    context.require_float(operand);
    context.require_same_dtype(query, operand);
  }
  const HeadDims q = resolve_layout(context, query, "layout", heads, head_dim, "");
  const HeadDims k = resolve_layout(context, key, "k_layout", heads, head_dim, node.text("layout"));
  const HeadDims v = resolve_layout(context, value, "v_layout", heads, head_dim, node.text("k_layout"));
  for (const HeadDims* side : {&k, &v}) {
    context.require_equal(q.tokens, side->tokens, side == &k ? "the tokens of q and k" : "the tokens of q and v");
    if (side->batch != Dim(1))
      context.require_equal(side->batch, q.batch, side == &k ? "the batches of k and q" : "the batches of v and q");
  }
  if (context.has(bias)) {
    context.require_float(bias);
    context.require_rank(bias, 3, 4);
    const Shape& shape = context.shape(bias);
    const std::size_t first = shape.rank() - 3;
    context.require_equal(shape[first], Dim(heads), "the heads of bias and num_heads");
    context.require_equal(shape[first + 1], Dim(window), "the rows of bias and window_size");
    context.require_equal(shape[first + 2], Dim(window), "the columns of bias and window_size");
    if (first == 1)
      context.require_equal(shape[0], ceil_div(q.tokens, window), "the windows of bias and those of the tokens");
  }
  context.output(context.shape(query), context.dtype(query));
}

class WindowedAttention {
 public:
  explicit WindowedAttention(const KernelContext& context)
      : context_(context),
        q_(context.input(query).dims(), context.node().text("layout"), context.node().integer("num_heads")),
        k_(context.input(key).dims(), context.node().text("k_layout"), q_.heads),
        v_(context.input(value).dims(), context.node().text("v_layout"), q_.heads),
        window_(context.node().integer("window_size")),
        scale_(context.node().optional_real("scale").value_or(1 / std::sqrt(static_cast<double>(q_.width)))) {
    each_window_segment(q_.tokens, window_, context.node().integer("shift"),
                        [&](const WindowSegment& segment) { segments_.push_back(segment); });
    if (context.has(bias)) bias_ = load_f64(context.input(bias));
    by_window_ = context.has(bias) && context.input(bias).rank() == 4;
  }

  void run() const {
    const auto count = static_cast<std::int64_t>(segments_.size());
    context_.pool().parallel_for(q_.batch * q_.heads * count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t item = begin; item < end; ++item)
        attend(segments_[static_cast<std::size_t>(item % count)], item / count / q_.heads, item / count % q_.heads);
    });
  }

 private:
  // Rows [first, first + count) of one head, one after the other.
  std::vector<double> rows(std::size_t operand, const HeadSteps& steps, const WindowSegment& segment, std::int64_t b,
                           std::int64_t h) const {
    std::vector<double> values(static_cast<std::size_t>(segment.count * steps.width));
    for (std::int64_t i = 0; i < segment.count; ++i)
      load_f64(
          context_.input(operand), steps.at(b, h, segment.first + i),
          std::span(values).subspan(static_cast<std::size_t>(i * steps.width), static_cast<std::size_t>(steps.width)));
    return values;
  }

  void attend(const WindowSegment& segment, std::int64_t b, std::int64_t h) const {
    const std::vector<double> q = rows(query, q_, segment, b, h), k = rows(key, k_, segment, b, h),
                              v = rows(value, v_, segment, b, h);
    const auto width = static_cast<std::size_t>(q_.width), count = static_cast<std::size_t>(segment.count);
    std::vector<double> weights(count), y(width);
    for (std::size_t i = 0; i < count; ++i) {
      double highest = -std::numeric_limits<double>::infinity();
      for (std::size_t j = 0; j < count; ++j) {
        double z = 0;
        for (std::size_t d = 0; d < width; ++d) z += q[i * width + d] * k[j * width + d];
        z *= scale_;
        if (!bias_.empty()) z += bias_[bias_at(segment, h, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j))];
        weights[j] = z;
        if (z > highest) highest = z;
      }
      double sum = 0;
      for (double& w : weights) {
        w = std::isinf(w) && w < 0 ? 0 : std::exp(w - highest);
        sum += w;
      }
      std::fill(y.begin(), y.end(), 0.0);
      for (std::size_t j = 0; j < count; ++j)
        if (weights[j] != 0)  // 0 * inf: a hidden key must not reach the sum
          for (std::size_t d = 0; d < width; ++d) y[d] += weights[j] * v[j * width + d];
      if (sum != 0)
        for (double& value : y) value /= sum;
      store_f64(context_.output(0), q_.at(b, h, segment.first + static_cast<std::int64_t>(i)), y);
    }
  }

  std::size_t bias_at(const WindowSegment& segment, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const std::int64_t plane = by_window_ ? segment.window * q_.heads + h : h;
    return static_cast<std::size_t>((plane * window_ + segment.at + i) * window_ + segment.at + j);
  }

  const KernelContext& context_;
  HeadSteps q_, k_, v_;
  std::int64_t window_;
  double scale_;
  std::vector<WindowSegment> segments_;
  std::vector<double> bias_;
  bool by_window_ = false;
};

// The two products over about a window of keys a query, and about five operations a score.
Dim window_flops(const InferContext& context) {
  const Node& node = context.node();
  const std::int64_t width = node.integer("head_dim");
  return context.shape(query).numel() * Dim(node.integer("window_size")) * Dim(4) +
         floor_div(context.shape(query).numel(), width) * Dim(5 * node.integer("window_size"));
}

const OpRegistration window_attention{{
    .name = "WindowAttention",
    .tag = 125,
    .family = "window_attention",
    .maths =
        "Tokens are rolled left by shift, cut into windows of window_size (the last may be shorter), attend inside "
        "their window as in Attention, and are rolled back: z = scale (q_i . k_j) + bias[h, i, j] or bias[window, h, "
        "i, j] with i and j the places in the window, y_i = sum of softmax(z_i)_j v_j. Tokens that only the roll has "
        "put beside each other do not see each other. Sums are f64 over ascending d and j, each result is rounded "
        "once to q's type.",
    .attributes =
        {{.name = "num_heads", .type = AttributeType::integer, .required = true, .doc = "heads of q, k, v"},
         {.name = "head_dim", .type = AttributeType::integer, .required = true, .doc = "width of a head"},
         {.name = "window_size", .type = AttributeType::integer, .required = true, .doc = "tokens of a window"},
         {.name = "shift",
          .type = AttributeType::integer,
          .default_value = std::int64_t{0},
          .doc = "by how much tokens are rolled left first"},
         {.name = "scale", .type = AttributeType::real, .doc = "absent: 1 / sqrt(head_dim)"},
         layout_attribute("layout", "arrangement of q and y; auto is resolved by inference"),
         layout_attribute("k_layout", "arrangement of k; auto: that of q where it fits"),
         layout_attribute("v_layout", "arrangement of v; auto: that of k where it fits")},
    .inputs = {{.name = "q"},
               {.name = "k"},
               {.name = "v"},
               {.name = "bias",
                .presence = Presence::optional,
                .doc = "[H, window_size, window_size], for each window if there is a fourth axis in front"}},
    .op_class = OpClass::compute,
    .infer = infer_window_attention,
    .reference = [](const KernelContext& context) { WindowedAttention(context).run(); },
    .flops = window_flops,
}};

}  // namespace
}  // namespace weft::ops
