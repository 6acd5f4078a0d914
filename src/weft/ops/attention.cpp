// Scaled dot-product attention: schema and inference.
#include "weft/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/fail.h"
#include "weft/ir/infer.h"
#include "weft/ops/attention_layout.h"

namespace weft::ops {
namespace {

enum Operand : std::size_t { query, key, value, mask, bias, sink };

void check_attributes(const InferContext& context) {
  const Node& node = context.node();
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();  // keeps products of sizes within 64 bits
  for (const char* count : {"num_heads", "head_dim"})
    if (node.integer(count) < 1 || node.integer(count) > most)
      context.fail_attribute(count, fmt::format("it is {}, expected 1 to {}", node.integer(count), most));
  if (const auto window = node.optional_integer("window_keys"); window && *window < 1)
    context.fail_attribute("window_keys",
                           fmt::format("it is {}; the query's own key counts, so 1 is the least", *window));
  if (const auto cap = node.optional_real("softcap"); cap && !(*cap > 0 && std::isfinite(*cap)))
    context.fail_attribute("softcap", "expected a finite number above 0, or none");
  if (const auto scale = node.optional_real("scale"); scale && !std::isfinite(*scale))
    context.fail_attribute("scale", "expected a finite number");
}

// num_kv_heads as given, else from the shape of k under its own layout or that of q.
std::int64_t resolve_kv_heads(InferContext& context, const std::string& q_layout) {
  const Node& node = context.node();
  const std::int64_t heads = node.integer("num_heads"), head_dim = node.integer("head_dim");
  if (const auto given = node.optional_integer("num_kv_heads")) {
    if (*given < 1 || heads % *given != 0)
      context.fail_attribute("num_kv_heads", fmt::format("{} does not divide num_heads = {}", *given, heads));
    return *given;
  }
  const Shape& k = context.shape(key);
  const std::string& k_layout = node.text("k_layout");
  const std::vector<std::string> possible = layouts_of_rank(k.rank());
  const auto has = [&](const std::string& layout) {
    return std::find(possible.begin(), possible.end(), layout) != possible.end();
  };
  const auto last = k.back().value();
  const bool several = last && *last > head_dim && *last % head_dim == 0;
  const std::string layout = k_layout != "auto"         ? k_layout
                             : several && has("packed") ? "packed"
                             : has(q_layout)            ? q_layout
                             : has("packed")            ? "packed"
                                                        : "";
  std::optional<std::int64_t> found;
  if (layout == "packed" && last && *last % head_dim == 0) found = *last / head_dim;
  if (layout != "packed" && layout != "rows" && has(layout)) found = head_dims(k, layout, 1)->heads.value();
  if (!found || *found < 1 || heads % *found != 0)
    context.fail_attribute(
        "num_kv_heads",
        fmt::format("k of {} does not show a count that divides num_heads = {}: give it", k.text(), heads));
  context.set_attribute("num_kv_heads", *found);
  return *found;
}

// Whether the mask is aligned from the right with [B, H, Sq, Sk], or is [B, Sk] or [B, Sq, Sk].
std::string resolve_mask_axes(InferContext& context, const HeadDims& q) {
  const Shape& shape = context.shape(mask);
  const std::string given = context.node().text("mask_axes");
  if (given == "batch" && shape.rank() != 2 && shape.rank() != 3)
    context.fail_attribute("mask_axes",
                           fmt::format("batch expects [B, Sk] or [B, Sq, Sk], the mask is {}", shape.text()));
  if (given != "auto") return given;
  if (shape.rank() < 2 || shape.rank() == 4 || q.batch == Dim(1) || shape[0] == Dim(1)) return "right";
  const bool right = shape[0] == (shape.rank() == 2 ? q.tokens : q.heads), batch = shape[0] == q.batch;
  if (right != batch) return right ? "right" : "batch";
  context.fail_attribute("mask_axes", fmt::format("the first axis of mask {} could be the {} (right) or the batch "
                                                  "(batch) of [{}, {}, {}, keys]: name one",
                                                  shape.text(), shape.rank() == 2 ? "queries" : "heads", q.batch.text(),
                                                  q.heads.text(), q.tokens.text()));
}

void check_broadcast(InferContext& context, std::size_t input, const std::vector<Dim>& target, bool batch_first) {
  const Shape& shape = context.shape(input);
  const std::string name(context.node().schema->inputs[input].name);
  if (shape.rank() > 4) context.fail_shape(fmt::format("{} is {}, expected rank 4 or less", name, shape.text()));
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] == Dim(1)) continue;
    const std::size_t axis = batch_first && i == 0 ? 0 : 4 - shape.rank() + i;
    context.require_equal(shape[i], target[axis],
                          fmt::format("axis {} of {} {} against [{}, {}, {}, {}]", i, name, shape.text(),
                                      target[0].text(), target[1].text(), target[2].text(), target[3].text()));
  }
}

void infer_attention(InferContext& context) {
  check_attributes(context);
  const Node& node = context.node();
  const std::int64_t heads = node.integer("num_heads"), head_dim = node.integer("head_dim");
  context.require_float(query);
  for (const std::size_t operand : {key, value})
    if (!is_float(context.dtype(operand)) && !is_packed(context.dtype(operand)))
      context.fail_dtype(fmt::format("{} is {}, expected a floating or packed type", operand == key ? "k" : "v",
                                     to_string(context.dtype(operand))));
  const HeadDims q = resolve_layout(context, query, "layout", heads, head_dim, "");
  const std::int64_t kv_heads = resolve_kv_heads(context, node.text("layout"));
  const HeadDims k = resolve_layout(context, key, "k_layout", kv_heads, head_dim, node.text("layout"));
  const HeadDims v = resolve_layout(context, value, "v_layout", kv_heads, std::nullopt, node.text("k_layout"));
  const auto v_width = v.width.value();
  if (!v_width) context.fail_shape(fmt::format("the head width of v {} must be static", context.shape(value).text()));
  context.require_equal(k.tokens, v.tokens, "the tokens of k and v");
  for (const HeadDims* side : {&k, &v})
    if (side->batch != Dim(1))
      context.require_equal(side->batch, q.batch, side == &k ? "the batches of k and q" : "the batches of v and q");
  if (node.boolean("causal") && node.boolean("strict") && q.tokens.is_static() && k.tokens.is_static() &&
      *k.tokens.value() < *q.tokens.value())
    context.fail_shape(
        fmt::format("causal attention of {} queries over {} keys: the first queries see nothing, which "
                    "strict = true refuses",
                    q.tokens.text(), k.tokens.text()));
  const std::vector<Dim> scores = {q.batch, Dim(heads), q.tokens, k.tokens};
  if (context.has(mask)) {
    const DType dtype = context.dtype(mask);
    if (!is_float(dtype) && !is_integer(dtype) && dtype != DType::boolean)
      context.fail_dtype(fmt::format("mask is {}, expected bool or numbers", to_string(dtype)));
    const std::string axes = resolve_mask_axes(context, q);
    context.set_attribute("mask_axes", axes);
    check_broadcast(context, mask, scores, axes == "batch");
  }
  if (context.has(bias)) {
    context.require_float(bias);
    check_broadcast(context, bias, scores, false);
  }
  if (context.has(sink)) {
    context.require_float(sink);
    context.require_rank(sink, 1, 1);
    context.require_equal(context.shape(sink)[0], Dim(heads), "sink and num_heads");
  }
  Shape out = context.shape(query);
  const bool packed = node.text("layout") == "packed";
  out[out.rank() - 1] = Dim(packed ? heads * *v_width : *v_width);
  context.output(std::move(out), context.dtype(query));
}

// The two products, and about five operations a score for the softmax.
Dim attention_flops(const InferContext& context) {
  const Node& node = context.node();
  const auto q = head_dims(context.shape(query), node.text("layout"), node.integer("num_heads"));
  const std::int64_t kv_heads = *node.optional_integer("num_kv_heads");
  const auto k = head_dims(context.shape(key), node.text("k_layout"), kv_heads);
  const auto v = head_dims(context.shape(value), node.text("v_layout"), kv_heads);
  return q->batch * q->heads * q->tokens * k->tokens * (Dim(2) * (q->width + v->width) + Dim(5));
}

const OpRegistration attention{{
    .name = "Attention",
    .tag = 121,
    .family = "attention",
    .maths =
        "Query head h reads key and value head floor(h * num_kv_heads / num_heads). For query i and key j, "
        "z = scale * (q_i . k_j), then softcap * tanh(z / softcap) if there is one, then + bias; y_i = sum of p_ij v_j "
        "with p_i the softmax of z_i over the keys that i may see. Queries are the last of the keys: i stands at "
        "a = Sk - Sq + i. causal shows keys j <= a; window_keys = w only the w keys up to a (without causal, those "
        "with "
        "|j - a| < w); mask hides where it is false or below 0.5. A hidden key weighs exactly 0; a query that sees no "
        "key gives zeros. sink adds one logit per head to the softmax's denominator alone. All sums are f64 over "
        "ascending d and j, each result is rounded once to q's type.",
    .attributes =
        {{.name = "num_heads", .type = AttributeType::integer, .required = true, .doc = "heads of q"},
         {.name = "num_kv_heads",
          .type = AttributeType::integer,
          .doc = "heads of k and v, a divisor of num_heads; absent: read from k by inference"},
         {.name = "head_dim", .type = AttributeType::integer, .required = true, .doc = "width of a head of q and k"},
         {.name = "causal", .type = AttributeType::boolean, .default_value = false, .doc = "hide later keys"},
         {.name = "window_keys",
          .type = AttributeType::integer,
          .doc = "most keys that a query sees, its own included; absent: all"},
         {.name = "softcap", .type = AttributeType::real, .doc = "bound of the scores; absent: none"},
         {.name = "scale", .type = AttributeType::real, .doc = "absent: 1 / sqrt(head_dim)"},
         layout_attribute("layout", "arrangement of q and y; auto is resolved by inference"),
         layout_attribute("k_layout", "arrangement of k; auto: that of q where it fits"),
         layout_attribute("v_layout", "arrangement of v; auto: that of k where it fits"),
         {.name = "mask_axes",
          .type = AttributeType::choice,
          .default_value = std::string("auto"),
          .doc = "right: the mask broadcasts to [B, H, Sq, Sk] from the right; batch: it is [B, Sk] or "
                 "[B, Sq, Sk]; auto is resolved by inference",
          .choices = {"auto", "right", "batch"}},
         {.name = "strict",
          .type = AttributeType::boolean,
          .default_value = false,
          .doc = "causal with fewer keys than queries is an error, not rows of zeros"}},
    .inputs = {{.name = "q"},
               {.name = "k"},
               {.name = "v", .doc = "heads may have another width than those of q and k"},
               {.name = "mask", .presence = Presence::optional, .doc = "bool, or numbers: below 0.5 hides"},
               {.name = "bias", .presence = Presence::optional, .doc = "added to the scores; broadcast from the right"},
               {.name = "sink", .presence = Presence::optional, .doc = "[num_heads] logits"}},
    .op_class = OpClass::compute,
    .infer = infer_attention,
    .reference = run_attention,
    .flops = attention_flops,
}};

}  // namespace
}  // namespace weft::ops
