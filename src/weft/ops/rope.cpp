// Rotary position embeddings.
#include <cmath>
#include <vector>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"
#include "weft/ops/element.h"
#include "weft/ops/rope_angles.h"

namespace weft::ops {
namespace {

std::int64_t rotary_dim(const Node& node) {
  return node.optional_integer("rotary_dim").value_or(node.integer("head_dim"));
}

// --- inference --------------------------------------------------------------------------------------------------

// x as vectors of head_dim: which axes count tokens, and how long one sequence is.
struct Tokens {
  Dim count;     // all tokens
  Dim sequence;  // tokens of one sequence
};

Tokens tokens_of(const Shape& x, const std::string& heads) {
  const auto product = [&](std::size_t axes) {
    Dim count(1);
    for (std::size_t i = 0; i < axes; ++i) count = count * x[i];
    return count;
  };
  const std::size_t rank = x.rank();
  if (rank == 1) return {Dim(1), Dim(1)};
  if (heads == "packed" || rank == 2) return {product(rank - 1), x[rank - 2]};
  if (heads == "token_major") return {product(rank - 2), x[rank - 3]};
  return {product(rank - 3) * x[rank - 2], x[rank - 2]};
}

void check_attributes(const InferContext& context) {
  const Node& node = context.node();
  const std::int64_t head_dim = node.integer("head_dim"), rotary = rotary_dim(node);
  if (head_dim < 2) context.fail_attribute("head_dim", fmt::format("it is {}, expected 2 or more", head_dim));
  if (rotary < 2 || rotary > head_dim || rotary % 2 != 0)
    context.fail_attribute("rotary_dim",
                           fmt::format("it is {}, expected an even size of 2 to head_dim = {}", rotary, head_dim));
  if (node.text("layout") == "proportional" && head_dim % 2 != 0)
    context.fail_attribute("head_dim", fmt::format("it is {}: the proportional layout pairs halves", head_dim));
  const double theta = node.real("theta"), scale = node.real("position_scale");
  if (!(theta > 0) || std::isinf(theta)) context.fail_attribute("theta", "expected a finite number above 0");
  if (!std::isfinite(scale)) context.fail_attribute("position_scale", "expected a finite number");
}

// Where the heads are. Only a rank-3 x whose last axis is one head leaves a choice: [S, H, D] or [B, S, 1*D].
std::string resolve_heads(const InferContext& context, const Dim& positions) {
  const std::string& given = context.node().text("heads");
  const Shape& x = context.shape(0);
  const std::int64_t head_dim = context.node().integer("head_dim");
  const auto last = x.back().value();
  if (!last || *last == 0 || *last % head_dim != 0)
    context.fail_shape(
        fmt::format("the last axis of {} must be head_dim = {} or a multiple of it", x.text(), head_dim));
  const bool one_head = *last == head_dim;
  if (!one_head && given != "auto" && given != "packed")
    context.fail_attribute("heads", fmt::format("{} does not fit {}: its last axis holds several heads of {}, which is "
                                                "heads = packed",
                                                given, x.text(), head_dim));
  if (given != "auto") return given;
  if (!one_head) return "packed";
  if (x.rank() != 3 || positions == Dim(1)) return "token_major";
  const auto fits = [&](const std::string& heads) {
    const Tokens tokens = tokens_of(x, heads);
    return positions == tokens.count || positions == tokens.sequence;
  };
  const bool token_major = fits("token_major"), packed = fits("packed");
  // One token a sequence, or none at all: both readings give each token its own position.
  const bool alike = x[1] == Dim(1) || x[0] == Dim(0);
  if (alike && (token_major || !context.node().boolean("tables"))) return "token_major";
  if (token_major == packed)
    context.fail_attribute("heads",
                           fmt::format("with {} positions {} could be [tokens, heads, {}] (token_major), [heads, "
                                       "tokens, {}] (head_major) or [batch, tokens, {}] (packed): name one",
                                       positions.text(), x.text(), head_dim, head_dim, head_dim));
  return token_major ? "token_major" : "packed";
}

std::string resolve_rows(const InferContext& context, const Tokens& tokens, const Dim& rows, bool tables) {
  const std::string& given = context.node().text("rows");
  if (given != "auto") return given;
  if (tokens.count == tokens.sequence || rows == tokens.sequence) return "position";
  if (rows == tokens.count) return "per_token";
  const bool known = rows.is_static() && tokens.count.is_static();
  if (tables && !known)
    context.fail_attribute("rows",
                           fmt::format("{} rows of cos for {} tokens in sequences of {} could be one row a place "
                                       "in the sequence (position) or one a token (per_token): name one",
                                       rows.text(), tokens.count.text(), tokens.sequence.text()));
  return "position";
}

// [rows, width] of a table after leading axes of 1.
Shape table_shape(const InferContext& context, std::size_t input) {
  const Shape& shape = context.shape(input);
  for (std::size_t i = 0; i + 2 < shape.rank(); ++i)
    if (shape[i] != Dim(1))
      context.fail_shape(fmt::format("table {} must be [rows, width], axes of 1 in front aside", shape.text()));
  if (shape.rank() < 2) context.fail_shape(fmt::format("table {} must be [rows, width]", shape.text()));
  return {shape[shape.rank() - 2], shape.back()};
}

void infer_tables(InferContext& context) {
  if (!context.has(2)) context.fail_shape("with tables = true the inputs are x, cos and sin");
  context.require_float(1);
  context.require_float(2);
  const Shape cos = table_shape(context, 1), sin = table_shape(context, 2);
  context.require_equal(cos[0], sin[0], "the rows of cos and sin");
  context.require_equal(cos[1], sin[1], "the widths of cos and sin");
  const std::int64_t pairs = rotary_dim(context.node()) / 2;
  if (!cos[1].is_static() || *cos[1].value() < pairs)
    context.fail_shape(fmt::format("tables of width {} are too narrow for {} pairs", cos[1].text(), pairs));
  const std::string heads = resolve_heads(context, cos[0]);
  const Tokens tokens = tokens_of(context.shape(0), heads);
  const std::string rows = resolve_rows(context, tokens, cos[0], true);
  if (rows == "per_token") {
    context.require_equal(cos[0], tokens.count, "the rows of cos and the tokens of x");
  } else if (const auto have = cos[0].value(), need = tokens.sequence.value(); have && need && *have < *need) {
    context.fail_shape(fmt::format("tables of {} rows are too short for sequences of {} tokens", *have, *need));
  }
  context.set_attribute("heads", heads);
  context.set_attribute("rows", rows);
}

void infer_positions(InferContext& context) {
  if (!is_float(context.dtype(1)) && !is_integer(context.dtype(1)))
    context.fail_dtype(fmt::format("positions are {}, expected numbers", to_string(context.dtype(1))));
  const std::int64_t pairs = rotary_dim(context.node()) / 2;
  if (context.has(2)) {
    context.require_float(2);
    context.require_rank(2, 1, 1);
    context.require_equal(context.shape(2)[0], Dim(pairs), "factors and rotated pairs");
  }
  const Dim positions = context.shape(1).numel();
  const std::string heads = resolve_heads(context, positions);
  const Tokens tokens = tokens_of(context.shape(0), heads);
  const std::string rows = resolve_rows(context, tokens, positions, false);
  if (rows == "per_token") context.require_equal(positions, tokens.count, "positions and the tokens of x");
  const auto have = positions.value(), need = tokens.count.value();
  if (have && need && *need != 0 && (*have == 0 || *need % *have != 0))
    context.fail_shape(
        fmt::format("{} positions do not divide the {} tokens of {}", *have, *need, context.shape(0).text()));
  context.set_attribute("heads", heads);
  context.set_attribute("rows", rows);
}

void infer_rope(InferContext& context) {
  context.require_float(0);
  if (context.rank(0) == 0) context.fail_shape("a scalar has no heads");
  check_attributes(context);
  context.node().boolean("tables") ? infer_tables(context) : infer_positions(context);
  context.output(context.shape(0), context.dtype(0));
}

// --- kernel -----------------------------------------------------------------------------------------------------

// Which row of the angles a vector of head_dim takes.
class RowOfVector {
 public:
  RowOfVector(const KernelContext& context, std::int64_t rows) : rows_(rows) {
    const Node& node = context.node();
    const std::vector<std::int64_t>& x = context.input(0).dims();
    const std::size_t rank = x.size();
    const std::string& heads = node.text("heads");
    vectors_ = context.input(0).numel() / node.integer("head_dim");
    tables_ = node.boolean("tables");
    per_token_ = node.text("rows") == "per_token";
    flat_ = rank <= 2;
    if (heads == "packed")
      heads_ = x.back() / node.integer("head_dim");
    else if (rank >= 3)
      heads_ = x[rank - (heads == "token_major" ? 2 : 3)];
    head_major_ = heads == "head_major";
    tokens_ = heads_ == 0 ? 0 : vectors_ / heads_;
    const bool second_last = head_major_ || heads == "packed" || flat_;
    sequence_ = rank == 1 ? 1 : x[rank - (second_last ? 2 : 3)];
    if (vectors_ == 0) return;
    if (tables_ && (per_token_ ? rows != tokens_ : rows < sequence_))
      fail(ErrorKind::shape_mismatch, "ShapeMismatch", context.where(),
           "tables of {} rows for {} tokens in sequences of {}: expected {}", rows, tokens_, sequence_,
           per_token_ ? "one row a token" : "at least one row a place in the sequence");
    if (!tables_ && (rows == 0 || tokens_ % rows != 0))
      fail(ErrorKind::shape_mismatch, "ShapeMismatch", context.where(),
           "{} positions do not divide the {} tokens of {}", rows, tokens_, dims_text(x));
  }

  std::int64_t vectors() const { return vectors_; }

  std::int64_t operator()(std::int64_t vector) const {
    std::int64_t token = vector / heads_;
    if (head_major_ && !flat_) token = vector / (heads_ * sequence_) * sequence_ + vector % sequence_;
    if (tables_) return per_token_ ? token : token % sequence_;
    // Without an axis of heads, rows that follow each other share a position.
    if (flat_ && !head_major_) return token / (tokens_ / rows_);
    return token % rows_;
  }

 private:
  std::int64_t rows_, vectors_ = 0, heads_ = 1, tokens_ = 0, sequence_ = 1;
  bool tables_ = false, per_token_ = false, flat_ = false, head_major_ = false;
};

// Row-major [rows, width], of which the first `pairs` columns count.
struct Angles {
  std::int64_t rows = 0, width = 0;
  std::vector<double> cos, sin;
};

Angles load_angles(const KernelContext& context, std::int64_t pairs) {
  const Node& node = context.node();
  Angles angles;
  if (node.boolean("tables")) {
    const Tensor& cos = context.input(1);
    angles.rows = cos.dim(cos.rank() - 2);
    angles.width = cos.dim(cos.rank() - 1);
    angles.cos = load_f64(cos);
    angles.sin = load_f64(context.input(2));
    return angles;
  }
  const std::vector<double> factors = context.has(2) ? load_f64(context.input(2)) : std::vector<double>();
  const std::int64_t span = node.text("layout") == "prefix" ? 2 * pairs : node.integer("head_dim");
  const std::vector<double> positions = load_f64(context.input(1));
  const RopeTables tables =
      rope_tables(positions, node.real("position_scale"), rope_frequencies(pairs, span, node.real("theta"), factors));
  angles.rows = static_cast<std::int64_t>(positions.size());
  angles.width = pairs;
  angles.cos.assign(tables.cos.begin(), tables.cos.end());
  angles.sin.assign(tables.sin.begin(), tables.sin.end());
  return angles;
}

void run_rope(const KernelContext& context) {
  const Node& node = context.node();
  const std::int64_t head_dim = node.integer("head_dim"), pairs = rotary_dim(node) / 2;
  const Angles angles = load_angles(context, pairs);
  const RowOfVector row_of(context, angles.rows);
  const bool interleaved = node.text("style") == "interleaved";
  const std::int64_t half = node.text("layout") == "prefix" ? pairs : head_dim / 2;
  const std::int64_t step = interleaved ? 2 : 1, partner = interleaved ? 1 : half;
  constexpr std::int64_t worthwhile = 1 << 14;
  context.pool().parallel_for(row_of.vectors(), worthwhile / head_dim + 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> x(static_cast<std::size_t>(head_dim));
    for (std::int64_t vector = begin; vector < end; ++vector) {
      load_f64(context.input(0), vector * head_dim, x);
      const std::int64_t row = row_of(vector) * angles.width;
      for (std::int64_t j = 0; j < pairs; ++j) {
        const double c = angles.cos[static_cast<std::size_t>(row + j)],
                     s = angles.sin[static_cast<std::size_t>(row + j)];
        double& a = x[static_cast<std::size_t>(j * step)];
        double& b = x[static_cast<std::size_t>(j * step + partner)];
        const double turned = a * c - b * s;
        b = b * c + a * s;
        a = turned;
      }
      store_f64(context.output(0), vector * head_dim, x);
    }
  });
}

const OpRegistration rope{{
    .name = "Rope",
    .tag = 120,
    .family = "rope",
    .maths =
        "Each head vector of x is turned in planes: the pair (a, b) number j becomes (a cos t - b sin t, b cos t + a "
        "sin "
        "t). With r = rotary_dim, style neox pairs (j, j + r/2) and interleaved (2j, 2j + 1), for j < r/2; elements "
        "outside all pairs are copied. From positions, t = position * position_scale * theta^(-2j/r) / factor_j in "
        "f64, "
        "its cosine and sine rounded once to f32; with tables, column j of cos and sin is used. Layout proportional "
        "spreads over the whole head instead: pairs (j, j + head_dim/2) and exponent -2j/head_dim, the first r/2 of "
        "them "
        "turned. Token t takes position t mod P of P; where x has no axis of heads (rank 2) row i of R takes position "
        "floor(i / (R / P)).",
    .attributes =
        {{.name = "head_dim", .type = AttributeType::integer, .required = true, .doc = "width of one head"},
         {.name = "rotary_dim",
          .type = AttributeType::integer,
          .doc = "how many elements of a head turn; absent: head_dim"},
         {.name = "theta", .type = AttributeType::real, .default_value = 10000.0, .doc = "base of the frequencies"},
         {.name = "style",
          .type = AttributeType::choice,
          .default_value = std::string("neox"),
          .doc = "which elements form a pair",
          .choices = {"neox", "interleaved"}},
         {.name = "layout",
          .type = AttributeType::choice,
          .default_value = std::string("prefix"),
          .doc = "what a rotary_dim below head_dim covers",
          .choices = {"prefix", "proportional"}},
         {.name = "rows",
          .type = AttributeType::choice,
          .default_value = std::string("auto"),
          .doc = "a row of angles per place in the sequence or per token; auto is resolved by inference",
          .choices = {"auto", "position", "per_token"}},
         {.name = "heads",
          .type = AttributeType::choice,
          .default_value = std::string("auto"),
          .doc = "[.., S, H, D], [.., H, S, D] or heads within the last axis; auto is resolved by inference",
          .choices = {"auto", "token_major", "head_major", "packed"}},
         {.name = "position_scale",
          .type = AttributeType::real,
          .default_value = 1.0,
          .doc = "multiplies positions (1 / factor of linear scaling)"},
         {.name = "tables",
          .type = AttributeType::boolean,
          .default_value = false,
          .doc = "the inputs are x, cos, sin"}},
    .inputs = {{.name = "x"},
               {.name = "positions", .doc = "P numbers; with tables: cos [rows, W], W of rotary_dim / 2 or more"},
               {.name = "factors",
                .presence = Presence::optional,
                .doc = "[rotary_dim / 2] divisors of the frequencies; with tables: sin"}},
    .op_class = OpClass::movement,
    .infer = infer_rope,
    .reference = run_rope,
    .flops = [](const InferContext& context) { return Dim(3) * context.shape(0).numel(); },
}};

}  // namespace
}  // namespace weft::ops
