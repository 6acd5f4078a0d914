// Attention, its cache, positions, embeddings and sampling as MIR.
#include <algorithm>
#include <cctype>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/head_layout.h"
#include "weft/formats/graph_ir/kv_rows.h"
#include "weft/formats/graph_ir/lower.h"

namespace weft::graph_ir {
namespace {

std::string operand_layout(const LowerContext& c, std::size_t input, Dim heads, Dim head_dim) {
  const weft::Shape& shape = c.shape(c.raw(input));
  const auto layouts = head_layouts(plain_shape(shape), heads, head_dim);
  if (const auto settled = settled_layout(layouts)) return std::string(layout_name(settled->layout));
  std::vector<std::string> names;
  for (const HeadSizes& one : layouts) names.emplace_back(layout_name(one.layout));
  fail(
      ErrorKind::shape_mismatch, "AmbiguousLayout", c.place(),
      "\"{}\" of shape {} could hold {} heads of {} as {}; only the sizes of a run would tell, so declare more of them",
      c.node.inputs[input], shape.text(), heads, head_dim, fmt::join(names, " or "));
}

void add_scale(const LowerContext& c, Attributes& attributes) {
  if (const auto scale = c.node.attrs.find("scale"); scale != c.node.attrs.end())
    attributes.emplace_back("scale", double{std::get<float>(scale->second)});
}

// Attributes that Sdpa and FlashAttention share.
void add_score_attributes(const LowerContext& c, Attributes& attributes) {
  add_scale(c, attributes);
  if (c.node.op.tag == Tag::sdpa_cross) return;
  if (const auto window = attr_or_default<std::int64_t>(c.node, "window"); window > 0)
    attributes.emplace_back("window_keys", window);
  if (const auto softcap = attr_or_default<float>(c.node, "softcap"); softcap > 0)
    attributes.emplace_back("softcap", double{softcap});
}

// One new operand of a KvCache as [rows, width].
Value cache_rows(LowerContext& c, std::size_t input, const KvRows& rows) {
  Value value = c.raw(input);
  const weft::Shape shape = c.shape(value);
  if (shape.rank() == 2 && shape.back() == weft::Dim(rows.width)) return value;
  // One piece of one sequence: each run checks that there are no more.
  if (rows.batched && !shape[0].is_static())
    value = c.emit("Split", {value}, {{"axis", 0}, {"sizes", std::vector<std::int64_t>{1}}});
  Value tokens_first = value;
  if (rows.layout == HeadLayout::bhsd) tokens_first = c.transpose(value, {0, 2, 1, 3});
  if (rows.layout == HeadLayout::hsd) tokens_first = c.transpose(value, {1, 0, 2});
  return c.emit("Reshape", {tokens_first}, {{"shape", std::vector<std::int64_t>{-1, rows.width}}});
}

KvRows required_rows(LowerContext& c, const RuleContext& rules, std::size_t input) {
  const KvRows rows = kv_rows(rules, input);
  if (!known(rows.width)) c.unsupported("the width of a cached row must be known before a run");
  if (rows.read_as_heads && !rows.layout)
    fail(ErrorKind::shape_mismatch, "AmbiguousLayout", c.place(),
         "\"{}\" of shape {} could hold its heads before or after its tokens; only the sizes of a run would tell, so "
         "declare more of them",
         c.node.inputs[input], c.shape(c.raw(input)).text());
  return rows;
}

// "past" counts the tokens of earlier runs. A cache that takes as many rows a run as there are positions holds that
// many; any other has a count of its own.
weft::Dim cache_length(const LowerContext& c, const weft::Dim& rows, const weft::Dim& tokens) {
  if (rows == tokens) return weft::Dim::symbol("past");
  std::string name = "past.";
  for (const char ch : c.node.outputs[0])
    name += std::isalnum(static_cast<unsigned char>(ch)) != 0 && ch > 0 ? ch : '_';
  return weft::Dim::symbol(fmt::format("{}.{}", name, c.node.id));
}

}  // namespace

void lower_attention(LowerContext& c) {
  const Tag tag = c.node.op.tag;
  const std::int64_t heads = c.word("num_heads"), head_dim = c.word("head_dim");
  const std::int64_t kv_heads = tag == Tag::sdpa_cross ? heads : c.word("kv_heads");
  const bool causal = tag == Tag::sdpa              ? c.node.op.get<bool>("causal")
                      : tag == Tag::flash_attention ? attr_or_default<bool>(c.node, "causal")
                                                    : false;
  Attributes attributes{{"num_heads", heads},
                        {"num_kv_heads", kv_heads},
                        {"head_dim", head_dim},
                        {"causal", causal},
                        {"strict", true},
                        {"layout", operand_layout(c, 0, heads, head_dim)},
                        {"k_layout", operand_layout(c, 1, kv_heads, head_dim)},
                        {"v_layout", operand_layout(c, 2, kv_heads, head_dim)},
                        {"mask_axes", "right"}};
  add_score_attributes(c, attributes);
  // Keys and values stay in the type that they are cached in. A mask of numbers is added to the scores.
  const auto cached_or_real = [&](std::size_t input) {
    const Value value = c.raw(input);
    return c.mir().node(value.node).schema->effects.slots.empty() ? c.real(input) : value;
  };
  const Value q = c.real(0), k = cached_or_real(1), v = cached_or_real(2);
  std::vector<Value> inputs{q, k, v};
  if (c.input_count() > 3) {
    const Value mask = c.raw(3);
    if (c.dtype(mask) == DType::boolean)
      inputs.push_back(mask);
    else
      inputs.insert(inputs.end(), {Value(), c.real(3)});
  }
  c.result(0, c.emit("Attention", std::move(inputs), attributes));
}

void lower_window_attention(LowerContext& c) {
  const std::int64_t heads = c.word("num_heads"), head_dim = c.word("head_dim");
  Attributes attributes{{"num_heads", heads},
                        {"head_dim", head_dim},
                        {"window_size", c.word("window_size")},
                        {"shift", attr_or_default<std::int64_t>(c.node, "shift")},
                        {"layout", operand_layout(c, 0, heads, head_dim)},
                        {"k_layout", operand_layout(c, 1, heads, head_dim)},
                        {"v_layout", operand_layout(c, 2, heads, head_dim)}};
  add_scale(c, attributes);
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < c.input_count(); ++i) inputs.push_back(c.real(i));
  c.result(0, c.emit("WindowAttention", std::move(inputs), attributes));
}

void lower_kv_compress(LowerContext& c) {
  const bool packs = c.node.op.tag == Tag::kv_compress;
  c.result(0, c.emit(packs ? "KvCompress" : "KvDecompress", {packs ? c.real(0) : c.raw(0)},
                     {{"head_dim", c.word("head_dim")}, {"bits", c.word("bits")}}));
}

void lower_kv_cache(LowerContext& c) {
  const RuleContext rules = c.rule_context();
  const KvRows k = required_rows(c, rules, 0), v = required_rows(c, rules, 1);
  const Value k_rows = cache_rows(c, 0, k), v_rows = cache_rows(c, 1, v);
  const auto state = [&](std::size_t output, std::vector<std::int64_t> planes, DType dtype) {
    c.mir().add_state({.name = c.node.outputs[output],
                       .dtype = dtype,
                       .planes = std::move(planes),
                       .length = cache_length(c, c.shape(k_rows)[0], c.target().tokens),
                       .capacity = {}});
  };
  // A state holds one dtype.
  if (c.dtype(k_rows) != c.dtype(v_rows)) {
    state(0, {k.width}, c.dtype(k_rows));
    state(1, {v.width}, c.dtype(v_rows));
    c.result(0, c.emit("RowsAppend", {k_rows}, {{"slot", c.node.outputs[0]}}));
    return c.result(1, c.emit("RowsAppend", {v_rows, k_rows}, {{"slot", c.node.outputs[1]}}));
  }
  state(0, {k.width, v.width}, c.dtype(k_rows));
  const std::int32_t node = c.emit_node("KvAppend", {k_rows, v_rows}, {{"slot", c.node.outputs[0]}});
  c.result(0, {node, 0});
  c.result(1, {node, 1});
}

void lower_rope(LowerContext& c) {
  Value x = c.real(0);
  const Value positions = c.raw(1);
  const weft::Shape shape = c.shape(x);
  const std::int64_t head_dim = c.word("head_dim");
  const std::int64_t width = c.known_size(shape.back(), "the last axis");
  const bool packed = width != head_dim, head_major = attr_or_default<bool>(c.node, "head_major");
  const weft::Dim count = c.shape(positions).numel();
  // Rows without an axis of heads share positions in runs, tokens with one repeat them; the two agree when there is one
  // position a token, or one for all. Elsewhere the heads get an axis of their own.
  const bool shared = count == weft::Dim(1) || shape.rank() != 2 || count == shape[0];
  const bool apart = packed && (head_major || !shared);
  if (apart) {
    weft::Shape heads(std::vector<weft::Dim>(shape.begin(), shape.end() - 1));
    heads.push_back(weft::Dim(width / head_dim));
    heads.push_back(weft::Dim(head_dim));
    x = c.reshape(x, heads);
  }
  const bool proportional = attr_or_default<std::string>(c.node, "rope_layout") == "proportional";
  const Value turned = c.emit("Rope", {x, positions},
                              {{"head_dim", head_dim},
                               {"rotary_dim", c.word("rope_dim")},
                               {"theta", double{c.node.op.get<float>("base")}},
                               {"style", attr_or_default<bool>(c.node, "rope_interleaved") ? "interleaved" : "neox"},
                               {"layout", proportional ? "proportional" : "prefix"},
                               {"rows", "position"},
                               {"heads", packed && !apart ? "packed"
                                         : head_major     ? "head_major"
                                                          : "token_major"}});
  c.result(0, apart ? c.reshape(turned, shape) : turned);
}

void lower_sinusoid(LowerContext& c) {
  c.result(0, c.emit("SinusoidalEmbed", {c.real(0)},
                     {{"dim", c.word("dim")}, {"layout", attr_or_default<std::string>(c.node, "layout")}}));
}

void lower_relative_pos(LowerContext& c) {
  std::vector<Value> inputs{c.real(0)};
  if (c.input_count() == 2)
    inputs.push_back(c.real(1));
  else
    inputs.insert(inputs.end(), {Value(), c.index(1), c.index(2)});
  c.result(0, c.emit("RelativePositionBias", std::move(inputs),
                     {{"num_buckets", c.word("num_buckets")},
                      {"bidirectional", attr_or_default<bool>(c.node, "bidirectional")},
                      {"max_distance", attr_or_default<std::int64_t>(c.node, "max_distance")}}));
}

void lower_embed(LowerContext& c) {
  const Value table = c.raw(1);
  const Value rows = c.emit("Gather", {table, c.index(0)});
  c.result(0, c.dtype(rows) == DType::f32 ? rows : c.emit("Decode", {rows}));
}

void lower_sample(LowerContext& c) {
  static constexpr const char* methods[] = {"greedy", "temperature", "top_k", "top_p", "min_p"};
  const auto method = c.node.op.get<std::uint8_t>("method");
  const double p = c.node.op.get<float>("p");
  Attributes attributes{{"method", methods[method]},
                        {"rng", "pcg32"},
                        {"order", "sorted"},
                        {"seed", attr_or_default<std::int64_t>(c.node, "seed")},
                        {"index_dtype", DType::f32}};
  if (method != 0) attributes.emplace_back("temperature", double{c.node.op.get<float>("temperature")});
  if (method == 2) attributes.emplace_back("top_k", c.word("k"));
  if (method == 3) attributes.emplace_back("top_p", p);
  if (method == 4) attributes.emplace_back("min_p", p);
  std::vector<Value> inputs{c.real(0)};
  if (c.input_count() > 1) inputs.push_back(c.real(1));
  c.result(0, c.emit("Sample", std::move(inputs), attributes));
}

}  // namespace weft::graph_ir
