#include "weft/formats/graph_ir/op_table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/base/fail.h"
#include "weft/formats/graph_ir/infer_rules.h"
#include "weft/formats/graph_ir/lower.h"
#include "weft/formats/graph_ir/param_rules.h"

namespace weft::graph_ir {
namespace {

using std::string_view;

constexpr Field word(string_view name, Rule rule = Rule::any) {
  return {.name = name, .wire = Wire::u32, .rule = rule};
}
constexpr Field size(string_view name) { return word(name, Rule::at_least_1); }
constexpr Field words(string_view name, std::uint8_t count, Rule rule = Rule::any) {
  return {.name = name, .wire = Wire::words, .rule = rule, .words = count};
}
constexpr Field real(string_view name, Rule rule) { return {.name = name, .wire = Wire::f32, .rule = rule}; }
constexpr Field axes(string_view name) { return {.name = name, .wire = Wire::u32_list, .max_count = 8}; }
constexpr Field flag(string_view name) { return {.name = name, .wire = Wire::boolean}; }
constexpr Field bound(string_view name) { return {.name = name, .wire = Wire::optional_f32, .rule = Rule::not_nan}; }
constexpr Field choice(string_view name, std::span<const string_view> choices) {
  return {.name = name, .wire = Wire::choice, .choices = choices};
}
constexpr Field or_else(Field field, double fallback) {
  field.fallback = fallback;
  return field;
}
constexpr Field or_as(Field field, string_view other) {
  field.fallback_field = other;
  return field;
}

constexpr AttrDef flag_attr(string_view key, bool fallback) {
  return {.key = key, .type = AttrType::boolean, .fallback = fallback ? 1.0 : 0.0};
}
constexpr AttrDef int_attr(string_view key, double fallback, Rule rule = Rule::any) {
  return {.key = key, .type = AttrType::integer, .rule = rule, .fallback = fallback};
}
constexpr AttrDef real_attr(string_view key, double fallback, Rule rule) {
  return {.key = key, .type = AttrType::floating, .rule = rule, .fallback = fallback};
}
constexpr AttrDef pair_attr(string_view key, double fallback, Rule rule) {
  return {.key = key, .type = AttrType::ints, .rule = rule, .fallback = fallback, .count = 2};
}
constexpr AttrDef text_attr(string_view key, std::span<const string_view> choices) {
  return {.key = key, .type = AttrType::string, .choices = choices};
}
constexpr AttrDef derived_attr(string_view key, AttrType type, Rule rule, string_view derived) {
  return {.key = key, .type = type, .rule = rule, .derived = derived};
}

constexpr string_view pool_modes[] = {"max", "avg"};
constexpr string_view interpolate_modes[] = {"nearest", "bilinear", "area"};
constexpr string_view sample_methods[] = {"greedy", "temperature", "top_k", "top_p", "min_p"};
constexpr string_view rope_layouts[] = {"prefix", "proportional"};
constexpr string_view sinusoid_layouts[] = {"interleaved", "sin_cos", "cos_sin"};
constexpr string_view pad_modes[] = {"replicate", "zeros"};
constexpr string_view patch_orders[] = {"cpp", "ppc"};
constexpr string_view schedule_kinds[] = {"flow", "linear", "cosine"};

constexpr auto eps = real("eps", Rule::finite_not_negative);
constexpr auto axis = word("axis");

constexpr Field transpose_fields[] = {axes("perm")};
constexpr Field permute_fields[] = {axes("dims")};
constexpr Field reshape_fields[] = {{.name = "shape", .wire = Wire::i64_list, .max_count = 8}};
constexpr Field concat_fields[] = {axis};
constexpr Field split_fields[] = {axis, {.name = "sizes", .wire = Wire::u32_list, .max_count = 65536}};
constexpr Field chunk_fields[] = {axis, size("chunks")};
constexpr Field clamp_fields[] = {bound("min"), bound("max")};
constexpr Field nan_to_num_fields[] = {real("nan", Rule::any), real("posinf", Rule::any), real("neginf", Rule::any)};
constexpr Field sdpa_fields[] = {size("num_heads"), size("kv_heads"), size("head_dim"), flag("causal")};
constexpr Field cross_fields[] = {size("num_heads"), size("head_dim")};
constexpr Field window_fields[] = {size("num_heads"), size("head_dim"), size("window_size")};
constexpr Field flash_fields[] = {size("num_heads"), size("kv_heads"), size("head_dim")};
constexpr Field compress_fields[] = {size("head_dim"), word("bits")};
constexpr Field rope_fields[] = {word("head_dim"), or_as(word("rope_dim"), "head_dim"),
                                 real("base", Rule::finite_positive)};
constexpr Field sinusoid_fields[] = {size("dim")};
constexpr Field relative_fields[] = {word("num_buckets")};
constexpr Field eps_fields[] = {eps};
constexpr Field batch_norm_fields[] = {eps, real("momentum", Rule::finite)};
constexpr Field group_norm_fields[] = {eps, size("num_groups")};
constexpr Field gelu_fields[] = {flag("approximate")};
constexpr Field leaky_fields[] = {real("slope", Rule::finite)};
constexpr Field softmax_fields[] = {{.name = "dim", .wire = Wire::i32}};
constexpr Field conv1d_fields[] = {size("kernel"), size("stride"), word("padding"), size("dilation"), size("groups")};
constexpr Field conv2d_fields[] = {words("kernel", 2, Rule::at_least_1), words("stride", 2, Rule::at_least_1),
                                   words("padding", 2), words("dilation", 2, Rule::at_least_1), size("groups")};
constexpr Field conv3d_fields[] = {words("kernel", 3, Rule::at_least_1), words("stride", 3, Rule::at_least_1),
                                   words("padding", 3), words("dilation", 3, Rule::at_least_1), size("groups")};
constexpr Field conv_transpose_fields[] = {words("kernel", 2, Rule::at_least_1), words("stride", 2, Rule::at_least_1),
                                           words("padding", 2)};
constexpr Field causal_conv_fields[] = {size("kernel")};
constexpr Field depthwise_fields[] = {size("kernel"), size("stride")};
constexpr Field pool_fields[] = {choice("mode", pool_modes), words("kernel", 2, Rule::at_least_1), words("stride", 2),
                                 words("padding", 2)};
constexpr Field interpolate_fields[] = {choice("mode", interpolate_modes), real("scale", Rule::finite_positive)};
constexpr Field shuffle_fields[] = {size("upscale_factor")};
constexpr Field unshuffle_fields[] = {size("downscale_factor")};
constexpr Field patch_fields[] = {size("patch_size")};
constexpr Field quantize_fields[] = {{.name = "dtype", .wire = Wire::dtype}};
constexpr Field sample_fields[] = {choice("method", sample_methods), or_else(real("temperature", Rule::any), 1),
                                   or_else(real("p", Rule::any), 0), or_else(word("k"), 0)};
constexpr Field lora_fields[] = {size("rank"), real("alpha", Rule::finite)};

constexpr auto scale_attr = derived_attr("scale", AttrType::floating, Rule::finite, "1/sqrt(head_dim)");
constexpr auto window_attr = int_attr("window", 0, Rule::not_negative);
constexpr auto softcap_attr = real_attr("softcap", 0, Rule::finite_not_negative);

constexpr AttrDef sdpa_attrs[] = {scale_attr, window_attr, softcap_attr};
constexpr AttrDef cross_attrs[] = {scale_attr};
constexpr AttrDef window_attrs[] = {scale_attr, int_attr("shift", 0, Rule::not_negative)};
constexpr AttrDef flash_attrs[] = {scale_attr, window_attr, softcap_attr, flag_attr("causal", false)};
constexpr AttrDef rope_attrs[] = {text_attr("rope_layout", rope_layouts), flag_attr("rope_interleaved", false),
                                  flag_attr("head_major", false)};
constexpr AttrDef sinusoid_attrs[] = {text_attr("layout", sinusoid_layouts)};
constexpr AttrDef relative_attrs[] = {flag_attr("bidirectional", true),
                                      int_attr("max_distance", 128, Rule::at_least_1)};
constexpr AttrDef ada_ln_attrs[] = {real_attr("eps", 1e-6, Rule::finite_not_negative)};
constexpr AttrDef ge_glu_attrs[] = {flag_attr("approximate", false)};
constexpr AttrDef dim_attrs[] = {int_attr("dim", -1)};
constexpr AttrDef conv_transpose_attrs[] = {pair_attr("dilation", 1, Rule::at_least_1),
                                            int_attr("groups", 1, Rule::at_least_1),
                                            pair_attr("output_padding", 0, Rule::not_negative)};
constexpr AttrDef causal_conv_attrs[] = {text_attr("pad_mode", pad_modes)};
constexpr AttrDef depthwise_attrs[] = {int_attr("padding", 0, Rule::not_negative),
                                       int_attr("dilation", 1, Rule::at_least_1)};
constexpr AttrDef interpolate_attrs[] = {flag_attr("align_corners", false)};
constexpr AttrDef unpatchify_attrs[] = {{.key = "patch_size",
                                         .type = AttrType::ints,
                                         .rule = Rule::at_least_1,
                                         .derived = "the graph's only PatchEmbed",
                                         .count = 2,
                                         .or_integer = true},
                                        derived_attr("grid_h", AttrType::integer, Rule::at_least_1, "a square grid"),
                                        derived_attr("grid_w", AttrType::integer, Rule::at_least_1, "a square grid"),
                                        text_attr("order", patch_orders)};
constexpr AttrDef schedule_attrs[] = {text_attr("kind", schedule_kinds), real_attr("max_sigma", 1, Rule::finite)};
constexpr AttrDef flow_attrs[] = {flag_attr("inverse", false)};
constexpr AttrDef sample_attrs[] = {int_attr("seed", 0)};

constexpr string_view halves = "x | gate, up | x, Wg:packed, Wu:packed, Wd:packed";
constexpr string_view norm_inputs = "x, g?, b?";

constexpr OpDef table[] = {
    {Tag::matmul, "Matmul", {}, "x, W:packed", "y", {}, infer_matmul, lower_matmul},
    {Tag::add, "Add", {}, "a, b", "y", {}, infer_broadcast, lower_binary},
    {Tag::mul, "Mul", {}, "a, b", "y", {}, infer_broadcast, lower_binary},
    {Tag::sub, "Sub", {}, "a, b", "y", {}, infer_broadcast, lower_binary},
    {Tag::div, "Div", {}, "a, b", "y", {}, infer_broadcast, lower_binary},
    {Tag::transpose,
     "Transpose",
     transpose_fields,
     "x:plain",
     "y",
     {},
     infer_permute,
     lower_permute,
     check_permutation},
    {Tag::reshape, "Reshape", reshape_fields, "x:plain", "y", {}, infer_reshape, lower_reshape, check_reshape},
    {Tag::permute, "Permute", permute_fields, "x:plain", "y", {}, infer_permute, lower_permute, check_permutation},
    {Tag::concat, "Concat", concat_fields, "x:plain...", "y", {}, infer_concat, lower_concat},
    {Tag::split, "Split", split_fields, "x:plain", "y...", {}, infer_split, lower_split},
    {Tag::chunk, "Chunk", chunk_fields, "x:plain", "y...", {}, infer_chunk, lower_chunk},
    {Tag::clamp, "Clamp", clamp_fields, "x", "y", {}, infer_same, lower_clamp},
    {Tag::nan_to_num, "NanToNum", nan_to_num_fields, "x", "y", {}, infer_same, lower_nan_to_num},
    {Tag::sdpa, "Sdpa", sdpa_fields, "Q, K, V, mask:mask?", "y", sdpa_attrs, infer_attention, lower_attention,
     check_heads},
    {Tag::sdpa_cross, "SdpaCross", cross_fields, "Q, K, V, mask:mask?", "y", cross_attrs, infer_attention,
     lower_attention},
    {Tag::sdpa_window, "SdpaWindow", window_fields, "Q, K, V, bias?", "y", window_attrs, infer_window_attention,
     lower_window_attention},
    {Tag::kv_cache, "KvCache", {}, "K_new:stored, V_new:stored", "K_full, V_full", {}, infer_kv_cache, lower_kv_cache},
    {Tag::kv_compress,
     "KvCompress",
     compress_fields,
     "x",
     "packed",
     {},
     infer_kv_compress,
     lower_kv_compress,
     check_bits},
    {Tag::kv_decompress,
     "KvDecompress",
     compress_fields,
     "packed:bytes",
     "x",
     {},
     infer_kv_decompress,
     lower_kv_compress,
     check_bits},
    {Tag::rope, "Rope", rope_fields, "x, pos:ids", "y", rope_attrs, infer_rope, lower_rope, check_rope},
    {Tag::sinusoidal_embed, "SinusoidalEmbed", sinusoid_fields, "t", "y", sinusoid_attrs, infer_sinusoid,
     lower_sinusoid},
    {Tag::relative_pos_embedding, "RelativePosEmbedding", relative_fields,
     "table, scores | table, q_pos:ids, k_pos:ids", "y", relative_attrs, infer_relative_pos, lower_relative_pos,
     check_buckets},
    {Tag::rms_norm, "RmsNorm", eps_fields, "x, g?", "y", {}, infer_last_axis_norm, lower_rms_norm},
    {Tag::layer_norm, "LayerNorm", eps_fields, norm_inputs, "y", {}, infer_last_axis_norm, lower_layer_norm},
    {Tag::batch_norm,
     "BatchNorm",
     batch_norm_fields,
     "x | x, g, b | x, g, b, mean, var",
     "y",
     {},
     infer_channel_norm,
     lower_batch_norm},
    {Tag::group_norm, "GroupNorm", group_norm_fields, norm_inputs, "y", {}, infer_channel_norm, lower_group_norm},
    {Tag::instance_norm, "InstanceNorm", eps_fields, norm_inputs, "y", {}, infer_channel_norm, lower_group_norm},
    {Tag::ada_ln, "AdaLN", {}, "x, scale, shift", "y", ada_ln_attrs, infer_ada_ln, lower_ada_ln},
    {Tag::silu, "Silu", {}, "x", "y", {}, infer_same, lower_activation},
    {Tag::gelu, "Gelu", gelu_fields, "x", "y", {}, infer_same, lower_activation},
    {Tag::ge_glu, "GeGlu", {}, halves, "y", ge_glu_attrs, infer_gated, lower_gated},
    {Tag::swi_glu, "SwiGlu", {}, halves, "y", {}, infer_gated, lower_gated},
    {Tag::glu, "Glu", {}, "x | a, b", "y", dim_attrs, infer_gated, lower_gated},
    {Tag::relu, "Relu", {}, "x", "y", {}, infer_same, lower_activation},
    {Tag::leaky_relu, "LeakyRelu", leaky_fields, "x", "y", {}, infer_same, lower_activation},
    {Tag::p_relu, "PRelu", {}, "x, a", "y", {}, infer_p_relu, lower_p_relu},
    {Tag::sigmoid, "Sigmoid", {}, "x", "y", {}, infer_same, lower_activation},
    {Tag::tanh, "Tanh", {}, "x", "y", {}, infer_same, lower_activation},
    {Tag::softmax, "Softmax", softmax_fields, "x", "y", {}, infer_softmax, lower_softmax},
    {Tag::conv1d, "Conv1d", conv1d_fields, "x, W, b?", "y", {}, infer_conv, lower_conv},
    {Tag::conv2d, "Conv2d", conv2d_fields, "x, W, b?", "y", {}, infer_conv, lower_conv},
    {Tag::conv3d, "Conv3d", conv3d_fields, "x, W, b?", "y", {}, infer_conv, lower_conv},
    {Tag::conv_transpose2d, "ConvTranspose2d", conv_transpose_fields, "x, W, b?", "y", conv_transpose_attrs,
     infer_conv_transpose, lower_conv_transpose},
    {Tag::causal_conv1d, "CausalConv1d", causal_conv_fields, "x, W, b?", "y", causal_conv_attrs, infer_causal_conv,
     lower_causal_conv},
    {Tag::depthwise_conv, "DepthwiseConv", depthwise_fields, "x, W, b?", "y", depthwise_attrs, infer_depthwise_conv,
     lower_depthwise_conv},
    {Tag::pool, "Pool", pool_fields, "x", "y", {}, infer_pool, lower_pool, check_pool},
    {Tag::interpolate, "Interpolate", interpolate_fields, "x", "y", interpolate_attrs, infer_interpolate,
     lower_interpolate},
    {Tag::pixel_shuffle, "PixelShuffle", shuffle_fields, "x:plain", "y", {}, infer_pixel_shuffle, lower_pixel_shuffle},
    {Tag::pixel_unshuffle,
     "PixelUnshuffle",
     unshuffle_fields,
     "x:plain",
     "y",
     {},
     infer_pixel_unshuffle,
     lower_pixel_unshuffle},
    {Tag::patch_embed,
     "PatchEmbed",
     patch_fields,
     "image, W:packed, b?",
     "y",
     {},
     infer_patch_embed,
     lower_patch_embed},
    {Tag::unpatchify,
     "Unpatchify",
     {},
     "x:plain, ref:stored?",
     "y",
     unpatchify_attrs,
     infer_unpatchify,
     lower_unpatchify},
    {Tag::token_embed, "TokenEmbed", {}, "ids:ids, W:packed", "y", {}, infer_embed, lower_embed},
    {Tag::pos_embed, "PosEmbed", {}, "pos_ids:ids, W", "y", {}, infer_embed, lower_embed},
    {Tag::noise_schedule,
     "NoiseSchedule",
     {},
     "t, table?",
     "sigma",
     schedule_attrs,
     infer_noise_schedule,
     lower_noise_schedule},
    {Tag::flow_step,
     "FlowStep",
     {},
     "x, v, dt | x, mean, log_scale, bias",
     "y",
     flow_attrs,
     infer_flow_step,
     lower_flow_step},
    {Tag::quantize, "Quantize", quantize_fields, "x", "y", {}, infer_quantize, lower_quantize},
    {Tag::dequantize, "Dequantize", {}, "x:stored", "y", {}, infer_same, lower_dequantize},
    {Tag::sample, "Sample", sample_fields, "logits, u?", "ids", sample_attrs, infer_sample, lower_sample, check_sample},
    {Tag::lora_apply,
     "LoraApply",
     lora_fields,
     "x, down:packed, up:packed | y, x, down:packed, up:packed",
     "y",
     {},
     infer_lora,
     lower_lora},
    {Tag::kron, "Kron", {}, "A, B", "y", {}, infer_kron, lower_kron},
    {Tag::matrix_inverse, "MatrixInverse", {}, "A", "y", {}, infer_inverse, lower_inverse},
    {Tag::fused_norm_matmul,
     "FusedNormMatmul",
     eps_fields,
     "x, g, W:packed",
     "y",
     {},
     infer_norm_matmul,
     lower_norm_matmul},
    {Tag::fused_skip_norm,
     "FusedSkipNorm",
     eps_fields,
     "x, skip, g",
     "normed, sum",
     {},
     infer_skip_norm,
     lower_skip_norm},
    {Tag::fused_swi_glu, "FusedSwiGlu", {}, "gate, up | x, Wg:packed, Wu:packed", "y", {}, infer_gated, lower_gated},
    {Tag::flash_attention, "FlashAttention", flash_fields, "Q, K, V, mask:mask?", "y", flash_attrs, infer_attention,
     lower_attention, check_heads},
    {Tag::argmax, "Argmax", {}, "x", "ids", dim_attrs, infer_argmax, lower_argmax},
};

constexpr std::pair<string_view, Role> role_names[] = {
    {"floats", Role::floats}, {"packed", Role::packed}, {"ids", Role::ids},      {"mask", Role::mask},
    {"plain", Role::plain},   {"bytes", Role::bytes},   {"stored", Role::stored}};

string_view trimmed(string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Calls `use` with each trimmed piece of `text` between separators.
template <class Use>
void split(string_view text, char separator, Use use) {
  while (true) {
    const std::size_t end = text.find(separator);
    use(trimmed(text.substr(0, end)));
    if (end == string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

Slot parse_slot(string_view text) {
  Slot slot;
  if (text.ends_with("...")) {
    slot.repeats = true;
    text.remove_suffix(3);
  }
  if (text.ends_with('?')) {
    slot.optional = true;
    text.remove_suffix(1);
  }
  const std::size_t colon = text.find(':');
  slot.name = text.substr(0, colon);
  if (colon != string_view::npos)
    for (const auto& [name, role] : role_names)
      if (name == text.substr(colon + 1)) slot.role = role;
  return slot;
}

std::vector<std::vector<Form>> parse_all_forms() {
  std::vector<std::vector<Form>> all;
  for (const OpDef& def : table) {
    std::vector<Form>& forms = all.emplace_back();
    split(def.inputs, '|', [&](string_view alternative) {
      Form& form = forms.emplace_back();
      split(alternative, ',', [&](string_view slot) { form.push_back(parse_slot(slot)); });
    });
  }
  return all;
}

bool holds_type_of(const Field& field, const ParamValue& value) {
  if (value.index() != zero_value(field).index()) return false;
  if (field.wire == Wire::words) return std::get<std::vector<std::uint32_t>>(value).size() == field.words;
  if (field.wire == Wire::choice) return std::get<std::uint8_t>(value) < field.choices.size();
  return true;
}

}  // namespace

string_view to_string(AttrType type) {
  constexpr string_view names[] = {"an integer",       "a float",   "a string",         "a list of integers",
                                   "a list of floats", "a boolean", "a list of strings"};
  return names[static_cast<std::size_t>(type)];
}

std::span<const OpDef> all_ops() { return table; }

const OpDef* find_op(std::uint16_t tag) {
  const auto found = std::lower_bound(
      std::begin(table), std::end(table), tag,
      [](const OpDef& def, std::uint16_t value) { return static_cast<std::uint16_t>(def.tag) < value; });
  return found != std::end(table) && static_cast<std::uint16_t>(found->tag) == tag ? &*found : nullptr;
}

const OpDef* find_op(string_view name) {
  for (const OpDef& def : table)
    if (def.name == name) return &def;
  return nullptr;
}

const OpDef& op_def(Tag tag) {
  if (const OpDef* def = find_op(static_cast<std::uint16_t>(tag))) return *def;
  fail(ErrorKind::invalid_argument, "UnknownOpTag", "", "{} is not the tag of a Graph IR op",
       static_cast<std::uint16_t>(tag));
}

const std::vector<Form>& input_forms(const OpDef& def) {
  static const std::vector<std::vector<Form>> forms = parse_all_forms();
  return forms[static_cast<std::size_t>(&def - table)];
}

const Form* form_for(const OpDef& def, std::size_t count) {
  for (const Form& form : input_forms(def)) {
    const auto required = static_cast<std::size_t>(
        std::count_if(form.begin(), form.end(), [](const Slot& slot) { return !slot.optional; }));
    if (count >= required && (count <= form.size() || form.back().repeats)) return &form;
  }
  return nullptr;
}

const Slot& slot_of(const Form& form, std::size_t index) { return form[std::min(index, form.size() - 1)]; }

std::size_t output_count(const Op& op) {
  if (op.tag == Tag::split) return op.get<std::vector<std::uint32_t>>("sizes").size();
  if (op.tag == Tag::chunk) return op.get<std::uint32_t>("chunks");
  const string_view outputs = op_def(op.tag).outputs;
  return static_cast<std::size_t>(std::count(outputs.begin(), outputs.end(), ',')) + 1;
}

const AttrDef* find_attr(const OpDef& def, string_view key) {
  for (const AttrDef& attr : def.attrs)
    if (attr.key == key) return &attr;
  return nullptr;
}

std::optional<AttrValue> default_attr(const AttrDef& attr, const Op& op) {
  if (attr.key == "scale") return 1.0f / std::sqrt(static_cast<float>(op.get<std::uint32_t>("head_dim")));
  if (!attr.derived.empty()) return std::nullopt;
  switch (attr.type) {
    case AttrType::integer: return static_cast<std::int64_t>(attr.fallback);
    case AttrType::floating: return static_cast<float>(attr.fallback);
    case AttrType::string: return std::string(attr.choices.front());
    case AttrType::ints: return std::vector<std::int64_t>(attr.count, static_cast<std::int64_t>(attr.fallback));
    case AttrType::boolean: return attr.fallback != 0;
    case AttrType::floats:
    case AttrType::strings: break;
  }
  return std::nullopt;
}

ParamValue zero_value(const Field& field) {
  switch (field.wire) {
    case Wire::boolean: return false;
    case Wire::u32: return std::uint32_t{0};
    case Wire::i32: return std::int32_t{0};
    case Wire::f32: return 0.0f;
    case Wire::optional_f32: return std::optional<float>();
    case Wire::choice: return std::uint8_t{0};
    case Wire::dtype: return DType::f32;
    case Wire::words: return std::vector<std::uint32_t>(field.words);
    case Wire::u32_list: return std::vector<std::uint32_t>();
    case Wire::i64_list: return std::vector<std::int64_t>();
  }
  return false;
}

ParamValue fallback_value(const Field& field) {
  switch (field.wire) {
    case Wire::u32: return static_cast<std::uint32_t>(*field.fallback);
    case Wire::f32: return static_cast<float>(*field.fallback);
    default: return zero_value(field);
  }
}

Op make_op(Tag tag, std::initializer_list<std::pair<string_view, ParamValue>> params) {
  const OpDef& def = op_def(tag);
  const std::string where = fmt::format("[{}]", def.name);
  for (const auto& [name, value] : params)
    if (std::none_of(def.fields.begin(), def.fields.end(), [&](const Field& field) { return field.name == name; }))
      fail(ErrorKind::invalid_argument, "BadParam", where, "there is no parameter \"{}\"", name);
  Op op{tag, {}};
  for (const Field& field : def.fields) {
    const auto given =
        std::find_if(params.begin(), params.end(), [&](const auto& param) { return param.first == field.name; });
    if (given != params.end()) {
      if (!holds_type_of(field, given->second))
        fail(ErrorKind::invalid_argument, "BadParam", where, "parameter \"{}\" has the wrong type or length",
             field.name);
      op.params.push_back(given->second);
    } else if (field.wire == Wire::optional_f32) {
      op.params.push_back(zero_value(field));
    } else if (field.fallback) {
      op.params.push_back(fallback_value(field));
    } else if (!field.fallback_field.empty()) {
      op.params.push_back(op.param(field.fallback_field));
    } else {
      fail(ErrorKind::invalid_argument, "BadParam", where, "parameter \"{}\" is required", field.name);
    }
  }
  return op;
}

}  // namespace weft::graph_ir
