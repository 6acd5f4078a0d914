// What positions give a model, other than rotations: SinusoidalEmbed, RelativePositionBias, and InterpolateTable for
// schedules over time.
#include "weft/ops/position.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ir/op_schema.h"
#include "weft/ops/element.h"

namespace weft::ops {

RelativeBuckets::RelativeBuckets(const Node& node)
    : count(node.integer("num_buckets")),
      max_distance(node.integer("max_distance")),
      bidirectional(node.boolean("bidirectional")) {}

std::int64_t RelativeBuckets::at(std::int64_t offset) const {
  const std::int64_t n = bidirectional ? count / 2 : count, exact = n / 2;
  const std::int64_t start = bidirectional && offset > 0 ? n : 0;
  const std::int64_t distance = bidirectional ? std::abs(offset) : std::max<std::int64_t>(-offset, 0);
  if (distance < exact) return start + distance;
  if (exact == 0 || max_distance <= exact) return start + n - 1;
  const float ratio = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
  const float further = ratio * static_cast<float>(n - exact);
  if (!(further < static_cast<float>(n - 1 - exact))) return start + n - 1;
  return start + exact + static_cast<std::int64_t>(further);
}

std::vector<double> sinusoid_frequencies(std::int64_t half) {
  std::vector<double> frequencies;
  for (std::int64_t j = 0; j < half; ++j)
    frequencies.push_back(std::exp(-static_cast<double>(j) * std::log(10000.0) / static_cast<double>(half)));
  return frequencies;
}

namespace {

// --- SinusoidalEmbed ----------------------------------------------------------------------------------------------

void infer_sinusoid(InferContext& context) {
  context.require_float(0);
  const std::int64_t dim = context.node().integer("dim");
  if (dim < 1) context.fail_attribute("dim", fmt::format("it is {}, expected at least 1", dim));
  Shape shape = context.shape(0);
  if (shape.rank() == 0) shape.push_back(Dim(1));
  shape.push_back(Dim(dim));
  context.output(std::move(shape), context.dtype(0));
}

void run_sinusoid(const KernelContext& context) {
  const std::int64_t dim = context.node().integer("dim"), half = dim / 2;
  const std::string& layout = context.node().text("layout");
  // Where sine j stands, and its cosine.
  const std::int64_t step = layout == "interleaved" ? 2 : 1;
  const std::int64_t sine = layout == "cos_sin" ? half : 0;
  const std::int64_t cosine = layout == "interleaved" ? 1 : layout == "cos_sin" ? 0 : half;
  const std::vector<double> frequencies = sinusoid_frequencies(half);
  context.pool().parallel_for(context.input(0).numel(), std::max<std::int64_t>(1, 512 / dim),
                              [&](std::int64_t begin, std::int64_t end) {
                                std::vector<double> row(static_cast<std::size_t>(dim), 0.0);
                                for (std::int64_t i = begin; i < end; ++i) {
                                  double t = 0;
                                  load_f64(context.input(0), i, {&t, 1});
                                  for (std::int64_t j = 0; j < half; ++j) {
                                    const double angle = t * frequencies[static_cast<std::size_t>(j)];
                                    row[static_cast<std::size_t>(sine + j * step)] = std::sin(angle);
                                    row[static_cast<std::size_t>(cosine + j * step)] = std::cos(angle);
                                  }
                                  store_f64(context.output(0), i * dim, row);
                                }
                              });
}

// --- RelativePositionBias -----------------------------------------------------------------------------------------

enum Operand : std::size_t { table, scores, query_positions, key_positions };

void infer_relative_bias(InferContext& context) {
  const RelativeBuckets buckets(context.node());
  if (buckets.count < 2 || (buckets.bidirectional && buckets.count % 2 != 0))
    context.fail_attribute("num_buckets", fmt::format("it is {}, expected at least 2{}", buckets.count,
                                                      buckets.bidirectional ? " and an even number" : ""));
  if (buckets.max_distance < 1)
    context.fail_attribute("max_distance", fmt::format("it is {}, expected at least 1", buckets.max_distance));
  context.require_float(table);
  context.require_rank(table, 2, 2);
  context.require_equal(context.shape(table)[0], Dim(buckets.count), "the rows of table and num_buckets");
  const Dim heads = context.shape(table)[1];
  if (context.has(scores)) {
    if (context.has(query_positions) || context.has(key_positions))
      context.fail_shape("scores tell the positions themselves: give either scores or positions");
    context.require_same_dtype(table, scores);
    context.require_rank(scores, 3, std::numeric_limits<std::size_t>::max());
    const Shape& shape = context.shape(scores);
    context.require_equal(shape[shape.rank() - 3], heads, "the heads of scores and the columns of table");
    return context.output(shape, context.dtype(scores));
  }
  if (!context.has(query_positions) || !context.has(key_positions))
    context.fail_shape("neither scores nor the positions of queries and keys are given");
  for (const std::size_t operand : {query_positions, key_positions}) {
    context.require_integer(operand);
    context.require_rank(operand, 1, 1);
  }
  context.output({Dim(1), heads, context.shape(query_positions)[0], context.shape(key_positions)[0]},
                 context.dtype(table));
}

void run_relative_bias(const KernelContext& context) {
  const RelativeBuckets buckets(context.node());
  const std::vector<double> bias = load_f64(context.input(table));
  Tensor& y = context.output(0);
  if (y.numel() == 0) return;
  const std::size_t rank = y.rank();
  const std::int64_t heads = y.dim(rank - 3), queries = y.dim(rank - 2), keys = y.dim(rank - 1);
  std::vector<std::int64_t> q_positions, k_positions;
  if (!context.has(scores)) {
    q_positions = load_i64(context.input(query_positions));
    k_positions = load_i64(context.input(key_positions));
  }
  context.pool().parallel_for(
      queries, std::max<std::int64_t>(1, 4096 / (keys * heads)), [&](std::int64_t begin, std::int64_t end) {
        std::vector<std::size_t> found(static_cast<std::size_t>(keys));
        std::vector<double> row(static_cast<std::size_t>(keys));
        for (std::int64_t i = begin; i < end; ++i) {
          for (std::size_t j = 0; j < found.size(); ++j) {
            const std::int64_t offset = q_positions.empty() ? static_cast<std::int64_t>(j) - (i + keys - queries)
                                                            : k_positions[j] - q_positions[static_cast<std::size_t>(i)];
            found[j] = static_cast<std::size_t>(buckets.at(offset));
          }
          for (std::int64_t plane = 0; plane < y.numel() / (queries * keys); ++plane) {
            const std::int64_t at = (plane * queries + i) * keys;
            if (context.has(scores))
              load_f64(context.input(scores), at, row);
            else
              std::fill(row.begin(), row.end(), 0.0);
            for (std::size_t j = 0; j < row.size(); ++j)
              row[j] += bias[found[j] * static_cast<std::size_t>(heads) + static_cast<std::size_t>(plane % heads)];
            store_f64(y, at, row);
          }
        }
      });
}

// --- InterpolateTable ---------------------------------------------------------------------------------------------

void infer_interpolate_table(InferContext& context) {
  context.require_float(0);
  context.require_same_dtype(0, 1);
  context.require_rank(1, 1, 1);
  context.output(context.shape(0), context.dtype(0));
}

void run_interpolate_table(const KernelContext& context) {
  const std::vector<double> values = load_f64(context.input(1));
  std::vector<double> t = load_f64(context.input(0));
  if (values.empty() && !t.empty())
    fail(ErrorKind::shape_mismatch, "EmptyReduction", context.where(), "the table has no entries to interpolate");
  for (double& x : t) {
    if (std::isnan(x)) continue;
    const double at = std::clamp(x, 0.0, static_cast<double>(values.size() - 1));
    const auto low = static_cast<std::size_t>(at);
    const double weight = at - std::floor(at);
    x = weight == 0 ? values[low] : values[low] + weight * (values[low + 1] - values[low]);
  }
  store_f64(context.output(0), t);
}

const OpRegistration sinusoidal_embed{{
    .name = "SinusoidalEmbed",
    .tag = 122,
    .family = "position",
    .maths = "With h = floor(dim / 2) and f_j = 10000^(-j / h): sines and cosines of t f_j, interleaved as "
             "y[2j] = sin, y[2j + 1] = cos, or all of one kind before the other. An odd last element is 0. The angle "
             "is f64, each result is rounded once. A scalar t counts as [1].",
    .attributes = {{.name = "dim", .type = AttributeType::integer, .required = true, .doc = "the new last axis"},
                   {.name = "layout",
                    .type = AttributeType::choice,
                    .default_value = std::string("interleaved"),
                    .doc = "order of sines and cosines",
                    .choices = {"interleaved", "sin_cos", "cos_sin"}}},
    .inputs = {{"t"}},
    .op_class = OpClass::compute,
    .infer = infer_sinusoid,
    .reference = run_sinusoid,
    .flops = [](const InferContext& context) { return context.shape(0).numel() * Dim(context.node().integer("dim")); },
}};

const OpRegistration relative_position_bias{{
    .name = "RelativePositionBias",
    .tag = 123,
    .family = "position",
    .maths =
        "For a key at d = k_pos - q_pos: table[bucket(d), h], [1, H, Sq, Sk], or added to scores [..., H, Sq, Sk], "
        "where query i stands at i + Sk - Sq and key j at j. Buckets are T5's. Bidirectional: n = num_buckets / 2, "
        "start n if d > 0 else 0, m = |d|; else n = num_buckets, start 0, m = max(-d, 0). With e = floor(n / 2): m < e "
        "is bucket start + m, a greater m start + min(n - 1, e + floor(ln(m / e) / ln(max_distance / e) (n - e))) with "
        "the logarithm and product in f32, and start + n - 1 where max_distance <= e.",
    .attributes = {{.name = "num_buckets", .type = AttributeType::integer, .required = true, .doc = "rows of table"},
                   {.name = "bidirectional",
                    .type = AttributeType::boolean,
                    .default_value = true,
                    .doc = "whether later keys have buckets of their own"},
                   {.name = "max_distance",
                    .type = AttributeType::integer,
                    .default_value = std::int64_t{128},
                    .doc = "from which distance on all share the last bucket"}},
    .inputs = {{.name = "table", .doc = "[num_buckets, H]"},
               {.name = "scores", .presence = Presence::optional},
               {.name = "q_pos", .presence = Presence::optional, .doc = "[Sq] integers, without scores"},
               {.name = "k_pos", .presence = Presence::optional, .doc = "[Sk] integers, without scores"}},
    .op_class = OpClass::compute,
    .infer = infer_relative_bias,
    .reference = run_relative_bias,
}};

const OpRegistration interpolate_table{{
    .name = "InterpolateTable",
    .tag = 124,
    .family = "position",
    .maths = "The table's value at t, linear between entries: with u = t clamped to 0 .. T - 1 and i = floor(u), "
             "y = table[i] + (u - i) (table[i + 1] - table[i]) in f64, rounded once. NaN stays NaN.",
    .inputs = {{"t"}, {.name = "table", .doc = "[T]"}},
    .op_class = OpClass::compute,
    .infer = infer_interpolate_table,
    .reference = run_interpolate_table,
    .flops = [](const InferContext& context) { return Dim(4) * context.shape(0).numel(); },
}};

}  // namespace
}  // namespace weft::ops
