// Movement, lookups, positions, attention, its cache and sampling of MIR in the Graph IR.
#include <algorithm>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/head_layout.h"
#include "weft/formats/graph_ir/lower.h"
#include "weft/formats/graph_ir/raise.h"

namespace weft::graph_ir {
namespace {

using Words = std::vector<std::uint32_t>;

// Whether a reader of the Graph IR would find the heads where the node says they are.
void require_layout(const RaiseContext& c, std::size_t input, const char* attribute, std::int64_t heads,
                    std::int64_t head_dim) {
  const std::string& layout = c.node.text(attribute);
  const auto settled = settled_layout(head_layouts(plain_shape(c.shape(input)), heads, head_dim));
  if (!settled || layout_name(settled->layout) != layout)
    c.refuse(fmt::format("{} {} holds {} heads of {} as {}, and the Graph IR would read it {}",
                         c.node.schema->inputs[input].name, c.shape(input).text(), heads, head_dim, layout,
                         settled ? fmt::format("as {}", layout_name(settled->layout)) : "in no one way"));
}

// Whether no run can have fewer keys than queries.
bool keys_cover_queries(const RaiseContext& c, const weft::Dim& queries, const weft::Dim& keys) {
  const auto spare = (keys - queries).bounds(c.mir.symbols());
  return spare && spare->low >= 0;
}

weft::Dim tokens_of(const weft::Shape& shape, std::string_view layout, std::int64_t heads) {
  if (layout == "bhsd") return shape[2];
  if (layout == "bshd" || layout == "hsd") return shape[1];
  if (layout == "shd") return shape[0];
  if (layout == "rows") return floor_div(shape[0], heads);
  return shape.rank() == 1 ? weft::Dim(1) : shape[shape.rank() - 2];
}

}  // namespace

void raise_reshape(RaiseContext& c) {
  c.add(make_op(Tag::reshape, {{"shape", c.node.integers("shape")}}), {c.plain(0)});
}

void raise_transpose(RaiseContext& c) {
  const Words axes = c.u32_list(c.node.integers("perm"), "perm");
  if (c.origin_op() == "Permute") return c.add(make_op(Tag::permute, {{"dims", axes}}), {c.plain(0)});
  c.add(make_op(Tag::transpose, {{"perm", axes}}), {c.plain(0)});
}

void raise_concat(RaiseContext& c) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < c.node.inputs.size(); ++i) parts.push_back(c.plain(i));
  const auto axis = static_cast<std::uint32_t>(c.axis(c.node.integer("axis"), c.shape(0).rank()));
  c.add(make_op(Tag::concat, {{"axis", axis}}), std::move(parts));
}

void raise_split(RaiseContext& c) {
  const Words sizes = c.u32_list(c.node.integers("sizes"), "sizes");
  const auto axis = static_cast<std::uint32_t>(c.axis(c.node.integer("axis"), c.shape(0).rank()));
  if (c.origin_op() == "Chunk" &&
      std::count(sizes.begin(), sizes.end(), sizes.front()) == static_cast<std::ptrdiff_t>(sizes.size()))
    return c.add(make_op(Tag::chunk, {{"axis", axis}, {"chunks", static_cast<std::uint32_t>(sizes.size())}}),
                 {c.plain(0)});
  c.add(make_op(Tag::split, {{"axis", axis}, {"sizes", sizes}}), {c.plain(0)});
}

void raise_chunk(RaiseContext& c) {
  const auto axis = static_cast<std::uint32_t>(c.axis(c.node.integer("axis"), c.shape(0).rank()));
  c.add(make_op(Tag::chunk, {{"axis", axis}, {"chunks", c.u32(c.node.integer("chunks"), "chunks")}}), {c.plain(0)});
}

// A Split of which one piece is wanted.
void raise_narrow(RaiseContext& c) {
  const std::size_t axis = c.axis(c.node.integer("axis"), c.shape(0).rank());
  const auto size = c.shape(0)[axis].value();
  if (!size) c.refuse("a part of an axis whose size is known in a run only");
  const std::int64_t start = c.node.integer("start"), length = c.node.integer("len");
  Words sizes;
  std::vector<std::string> outputs;
  const auto piece = [&](std::int64_t count, bool wanted) {
    if (count == 0 && !wanted) return;
    sizes.push_back(c.u32(count, "len"));
    outputs.push_back(wanted ? c.output() : c.exporter.names().fresh(c.output() + "~"));
  };
  piece(start, false);
  piece(length, true);
  piece(*size - start - length, false);
  c.exporter.append(c.node, make_op(Tag::split, {{"axis", static_cast<std::uint32_t>(axis)}, {"sizes", sizes}}),
                    {c.plain(0)}, std::move(outputs), {});
}

void raise_gather(RaiseContext& c) {
  if (c.axis(c.node.integer("axis"), c.shape(0).rank()) != 0 || c.shape(0).rank() != 2)
    c.refuse(fmt::format("the Graph IR looks up rows of a matrix, not axis {} of {}", c.node.integer("axis"),
                         c.shape(0).text()));
  if (c.node.text("negative") != "error") c.refuse("the Graph IR has no negative indices");
  std::string ids = c.ids(1);
  const bool positions = c.origin_op() == "PosEmbed";
  c.add(make_op(positions ? Tag::pos_embed : Tag::token_embed),
        {std::move(ids), c.exporter.operand(c.node.inputs[0], Role::packed, true)});
}

void raise_rope(RaiseContext& c) {
  if (c.node.boolean("tables")) c.refuse("Rope takes positions in the Graph IR, not tables");
  if (c.has(2)) c.refuse("Rope has no frequency factors in the Graph IR");
  if (c.node.real("position_scale") != 1.0) c.refuse("Rope does not scale positions in the Graph IR");
  const std::int64_t head_dim = c.node.integer("head_dim");
  if (head_dim % 2 != 0)
    c.refuse(fmt::format("a head of {} is odd, and Rope needs an even one in the Graph IR", head_dim));
  const weft::Shape& shape = c.shape(0);
  const std::string& heads = c.node.text("heads");
  bool head_major = heads == "head_major";
  if (heads == "packed") {
    const weft::Dim count = c.shape(1).numel();
    if (shape.back() == weft::Dim(head_dim)) {
      // One head: [B, S, D] is [heads, tokens, D] just as well, if each sequence has the same positions.
      head_major = shape.rank() >= 3;
      if (head_major && count != weft::Dim(1) && count != shape[shape.rank() - 2])
        c.refuse(fmt::format("{} positions for {} with one head a token", count.text(), shape.text()));
    } else if (shape.rank() == 2 && count != weft::Dim(1) && count != shape[0]) {
      c.refuse(fmt::format("{} positions for the {} rows of {}", count.text(), shape[0].text(), shape.text()));
    }
  }
  Attrs attrs;
  if (c.node.text("layout") == "proportional") attrs["rope_layout"] = std::string("proportional");
  if (c.node.text("style") == "interleaved") attrs["rope_interleaved"] = true;
  if (head_major) attrs["head_major"] = true;
  c.add(make_op(Tag::rope, {{"head_dim", c.u32(head_dim, "head_dim")},
                            {"rope_dim", c.u32(c.node.optional_integer("rotary_dim").value_or(head_dim), "rotary_dim")},
                            {"base", c.f32("theta")}}),
        {c.real(0), c.exporter.operand(c.node.inputs[1], Role::ids, false)}, std::move(attrs));
}

void raise_sinusoid(RaiseContext& c) {
  Attrs attrs;
  if (c.node.text("layout") != "interleaved") attrs["layout"] = c.node.text("layout");
  c.add(make_op(Tag::sinusoidal_embed, {{"dim", c.u32(c.node.integer("dim"), "dim")}}), {c.real(0)}, std::move(attrs));
}

void raise_relative_bias(RaiseContext& c) {
  std::vector<std::string> inputs{c.real(0)};
  if (c.has(1))
    inputs.push_back(c.real(1));
  else
    for (const std::size_t input : {2, 3}) inputs.push_back(c.ids(input));
  Attrs attrs;
  if (!c.node.boolean("bidirectional")) attrs["bidirectional"] = false;
  if (const std::int64_t distance = c.node.integer("max_distance"); distance != 128) attrs["max_distance"] = distance;
  c.add(make_op(Tag::relative_pos_embedding, {{"num_buckets", c.u32(c.node.integer("num_buckets"), "num_buckets")}}),
        std::move(inputs), std::move(attrs));
}

void raise_attention(RaiseContext& c) {
  const std::int64_t heads = c.node.integer("num_heads"), head_dim = c.node.integer("head_dim");
  const std::int64_t kv_heads = *c.node.optional_integer("num_kv_heads");
  const bool causal = c.node.boolean("causal");
  require_layout(c, 0, "layout", heads, head_dim);
  require_layout(c, 1, "k_layout", kv_heads, head_dim);
  require_layout(c, 2, "v_layout", kv_heads, head_dim);
  if (causal && !c.node.boolean("strict") &&
      !keys_cover_queries(c, tokens_of(c.shape(0), c.node.text("layout"), heads),
                          tokens_of(c.shape(1), c.node.text("k_layout"), kv_heads)))
    c.refuse("causal attention with fewer keys than queries is an error in the Graph IR; set strict");
  if (c.has(5)) c.refuse("attention has no sink in the Graph IR");
  if (c.has(3) && c.has(4)) c.refuse("attention has one mask in the Graph IR, not a mask and a bias");
  std::vector<std::string> inputs{c.real(0)};
  for (const std::size_t input : {1, 2}) inputs.push_back(c.real(input));
  if (c.has(3)) {
    if (c.dtype(3) != DType::boolean)
      c.refuse("a mask of numbers is added to the scores in the Graph IR; make it bool");
    if (c.node.text("mask_axes") != "right")
      c.refuse("a mask broadcasts to [B, H, Sq, Sk] from the right in the Graph IR");
  }
  for (const std::size_t input : {3, 4})
    if (c.has(input)) inputs.push_back(c.exporter.operand(c.node.inputs[input], Role::mask, false));
  Attrs attrs;
  if (const auto scale = c.node.optional_real("scale")) attrs["scale"] = c.f32_of(*scale, "scale");
  const auto window = c.node.optional_integer("window_keys");
  const auto softcap = c.node.optional_real("softcap");
  if (c.origin_op() == "SdpaCross" && !causal && !window && !softcap && heads == kv_heads)
    return c.add(
        make_op(Tag::sdpa_cross, {{"num_heads", c.u32(heads, "num_heads")}, {"head_dim", c.u32(head_dim, "head_dim")}}),
        std::move(inputs), std::move(attrs));
  if (window) attrs["window"] = *window;
  if (softcap) attrs["softcap"] = c.f32_of(*softcap, "softcap");
  if (c.origin_op() == "FlashAttention") {
    if (causal) attrs["causal"] = true;
    return c.add(make_op(Tag::flash_attention, {{"num_heads", c.u32(heads, "num_heads")},
                                                {"kv_heads", c.u32(kv_heads, "num_kv_heads")},
                                                {"head_dim", c.u32(head_dim, "head_dim")}}),
                 std::move(inputs), std::move(attrs));
  }
  c.add(make_op(Tag::sdpa, {{"num_heads", c.u32(heads, "num_heads")},
                            {"kv_heads", c.u32(kv_heads, "num_kv_heads")},
                            {"head_dim", c.u32(head_dim, "head_dim")},
                            {"causal", causal}}),
        std::move(inputs), std::move(attrs));
}

void raise_window_attention(RaiseContext& c) {
  const std::int64_t heads = c.node.integer("num_heads"), head_dim = c.node.integer("head_dim");
  require_layout(c, 0, "layout", heads, head_dim);
  require_layout(c, 1, "k_layout", heads, head_dim);
  require_layout(c, 2, "v_layout", heads, head_dim);
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < 4; ++i)
    if (c.has(i)) inputs.push_back(c.real(i));
  Attrs attrs;
  if (const auto scale = c.node.optional_real("scale")) attrs["scale"] = c.f32_of(*scale, "scale");
  if (const std::int64_t shift = c.node.integer("shift"); shift != 0) attrs["shift"] = shift;
  c.add(make_op(Tag::sdpa_window, {{"num_heads", c.u32(heads, "num_heads")},
                                   {"head_dim", c.u32(head_dim, "head_dim")},
                                   {"window_size", c.u32(c.node.integer("window_size"), "window_size")}}),
        std::move(inputs), std::move(attrs));
}

void raise_kv_compress(RaiseContext& c) {
  const bool packs = c.node.schema->name == "KvCompress";
  c.add(make_op(packs ? Tag::kv_compress : Tag::kv_decompress,
                {{"head_dim", c.u32(c.node.integer("head_dim"), "head_dim")},
                 {"bits", c.u32(c.node.integer("bits"), "bits")}}),
        {packs ? c.real(0) : c.plain(0)});
}

void raise_kv_append(RaiseContext& c) {
  const std::string& slot = c.node.text("slot");
  for (std::int32_t i = 0; i < c.mir.size(); ++i)
    if (i != c.index && c.mir.node(i).schema->attribute_index("slot") && c.mir.node(i).text("slot") == slot)
      c.refuse(fmt::format("the state @{} is used by another node too, and a KvCache has its own", slot));
  c.add(make_op(Tag::kv_cache), {c.stored(0), c.stored(1)});
}

void raise_sample(RaiseContext& c) {
  static constexpr std::string_view methods[] = {"greedy", "temperature", "top_k", "top_p", "min_p"};
  const std::string& method = c.node.text("method");
  const auto found = std::find(std::begin(methods), std::end(methods), method);
  if (found == std::end(methods)) c.refuse(fmt::format("the Graph IR has no sampling method {}", method));
  const bool greedy = method == "greedy";
  if (c.node.dtype("index_dtype") != DType::f32)
    c.refuse(fmt::format("the Graph IR gives ids as f32, not {}", to_string(c.node.dtype("index_dtype"))));
  if (!greedy && (c.node.text("rng") != "pcg32" || c.node.text("order") != "sorted"))
    c.refuse("the Graph IR draws with pcg32 from candidates in sorted order");
  if (c.node.boolean("keep_ties")) c.refuse("the Graph IR takes exactly k candidates");
  const float p = method == "top_p" ? c.f32("top_p") : method == "min_p" ? c.f32("min_p") : 0.0f;
  const std::uint32_t k = method == "top_k" ? c.u32(c.node.integer("top_k"), "top_k") : 0;
  std::vector<std::string> inputs{c.real(0)};
  if (c.has(1)) inputs.push_back(c.real(1));
  Attrs attrs;
  if (const std::int64_t seed = c.node.integer("seed"); seed != 0) attrs["seed"] = seed;
  c.add(make_op(Tag::sample, {{"method", static_cast<std::uint8_t>(found - std::begin(methods))},
                              {"temperature", greedy ? 1.0f : c.f32("temperature")},
                              {"p", p},
                              {"k", k}}),
        std::move(inputs), std::move(attrs));
}

}  // namespace weft::graph_ir
